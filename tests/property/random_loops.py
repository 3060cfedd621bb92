"""Random programs around loops whose trip count is known only at run time."""

import numpy as np

import latticework as lw

BODIES = ("shrink", "affine", "grow", "product", "square", "public", "swap", "nest", "kept", "after")


class RandomLoop:
    """One of `BODIES` with random numbers, on vectors of random size, looped at most a random number of times.

    limit  the largest trip count;  data  calibration data
    """

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng([seed, 77])
        self.kind = BODIES[seed % len(BODIES)]
        self.size = int(rng.integers(1, 9))
        self.limit = int(rng.integers(1, 4 if self.kind in ("product", "square") else 6))
        self.reach = float(rng.choice([0.5, 1.0, 30.0] if self.kind in ("product", "square") else [0.5, 4.0, 1000.0]))
        if self.kind == "square":
            self.reach = min(self.reach, 1.0)
        self.a, self.b, self.c = (float(v) for v in rng.uniform(-1, 1, 3))
        self.shrink = float(rng.choice([0.02, 0.3, -0.1]))
        self.w = rng.uniform(-1, 1, self.size)
        low = -self.reach if rng.random() < 0.7 else 0.2 * self.reach
        self.data = rng.uniform(low, self.reach, (20, self.size))

    def __repr__(self):
        return f"RandomLoop({self.kind}, size {self.size}, at most {self.limit}, {self.reach}, {self.a}, {self.b})"

    def __call__(self, x, n):
        def loop(body, init, trips=n):
            return lw.for_loop(trips, body, init, at_most=self.limit + 1)

        match self.kind:
            case "shrink":
                return loop(lambda i, v: self.shrink * v + self.b, x)
            case "affine":
                return loop(lambda i, v: self.a * v + self.b * x + self.w, self.c * x)
            case "grow":
                return loop(lambda i, v: 1.7 * v - self.b, x)
            case "product":
                return loop(lambda i, v: self.a * v * x / self.reach + self.b, x)
            case "square":
                return loop(lambda i, v: v * v - self.b, x)
            case "public":
                return loop(lambda i, v, t: (np.ones(self.size) * self.b, t + v), (x, self.w * x))
            case "swap":
                return loop(lambda i, v, t: (self.shrink * t, v), (x, self.w * x))
            case "nest":
                return loop(lambda i, v: lw.for_loop(2, lambda j, u: u + self.b * x, -self.shrink * v), x)
            case "kept":
                return loop(lambda i, v: v + x, x) * self.shrink
        return (loop(lambda i, v: self.shrink * v + self.b, x) - self.c * x) * self.w

    def compiled(self):
        """The model of the program as users would write it."""

        def function(x: lw.Secret[self.size], n: lw.Index):
            return self(x, n)

        return lw.compile(
            lw.program(function), calibrate={"x": self.data, "n": self.limit}, precision_bits=8,
            ring_degree=4096, insecure=True,
        )  # fmt: skip
