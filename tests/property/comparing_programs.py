"""Random programs that compare: their calibration data keep all gaps, what their clients accept need not."""

import numpy as np

import latticework as lw

WIDTH = 4
KINDS = ("sign", "where", "argmax", "nested", "loop", "product", "kinked")


class RandomComparisons:
    """One program of three results: of comparisons, of one that no accepted input takes into its gap, and of none.

    seed  of the kind, the maps, the thresholds and the gaps
    """

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.map = rng.normal(size=(WIDTH, WIDTH)) / 2
        self.shift, self.second = rng.uniform(-0.3, 0.3, size=(2, WIDTH))
        self.gap = float(rng.uniform(0.03, 0.12))
        self.range = (-12, 12) if rng.random() < 0.7 else None  # from calibration, arguments may leave it
        self.far = float(rng.uniform(6.0, 9.0)) * float(rng.choice([-1, 1]))
        self.data = self.drawn()

    def body(self, x, sign):
        """The results; sign(argument, gap) is taken of every comparison."""
        first = x @ self.map + self.shift
        beside = 3 * x - sign(x + self.far, 2.0), 2 * x
        if self.kind == "sign":
            return sign(first, self.gap) - x, *beside
        bit = 0.5 + 0.5 * sign(first, self.gap)
        if self.kind == "where":
            return lw.where(bit, x + 3, -x), *beside
        if self.kind == "argmax":
            apart = first[:, None] - first[None, :] + 2 * self.gap * np.eye(WIDTH)
            return np.prod(0.5 + 0.5 * sign(apart, self.gap), axis=-1) @ np.arange(WIDTH), *beside
        if self.kind == "nested":
            return sign(2 * bit - 1 + 0.3 * x, self.gap) + bit, *beside  # of the first alone no degree would follow
        if self.kind == "loop":
            value = x
            for _ in range(2):
                value = 0.5 * value + 0.3 * sign(value + self.shift, self.gap)
            return value, *beside
        if self.kind == "product":
            return sign(first, self.gap) * sign(x + self.second, self.gap), *beside
        return lw.abs(x + bit), *beside

    def program(self):
        """As it is compiled; a loop is one, there."""

        @lw.program
        def compared(x: lw.Secret[WIDTH]):
            if self.kind != "loop":
                return self.body(x, lambda a, gap: lw.sign(a, gap=gap, range=self.range))

            def turn(_, value):
                return 0.5 * value + 0.3 * lw.sign(value + self.shift, gap=self.gap, range=(-2, 2))

            return lw.for_loop(2, turn, x), 3 * x - lw.sign(x + self.far, gap=2.0, range=self.range), 2 * x

        return compared

    def exactly(self, x):
        """The results in NumPy."""
        return self.body(x, lambda a, _: np.sign(a))

    def arguments(self, x):
        """(argument, gap) of every comparison, in order."""
        found = []

        def sign(a, gap):
            found.append((np.array(a), gap))
            return np.sign(a)

        self.body(x, sign)
        return found

    def drawn(self):
        """Inputs none of whose comparisons is within its gap."""
        rows = self.rng.uniform(-1, 1, (6000, WIDTH))
        kept = [x for x in rows if all((np.abs(a) >= 1.05 * gap).all() for a, gap in self.arguments(x))]
        return np.array(kept[:60])

    def in_gaps(self):
        """Inputs between those of calibration at which the first comparison is at, or near, the edge of its gap."""
        found = []
        for place in range(WIDTH):
            sides = [np.sign(self.first(x, place)) for x in self.data]
            if min(sides) == max(sides):
                continue
            low, high = self.data[int(np.argmin(sides))], self.data[int(np.argmax(sides))]
            for wanted in (0.0, self.gap / 3, -self.gap / 3, 0.9 * self.gap, -0.9 * self.gap, 1.01 * self.gap):
                a, b = low, high
                for _ in range(60):
                    middle = (a + b) / 2
                    a, b = (middle, b) if self.first(middle, place) < wanted else (a, middle)
                found.append((a + b) / 2)
        return found

    def first(self, x, place):
        """An argument of the first comparison that decides."""
        first = x + self.shift if self.kind == "loop" else x @ self.map + self.shift
        return first[place] - first[(place + 1) % WIDTH] if self.kind == "argmax" else first[place]
