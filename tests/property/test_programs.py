"""Random programs: compiled, they compute what NumPy computes, to the precision asked for; some really encrypted."""

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import latticework as lw

BITS = 9
MAX_ELEMENTS, MAX_DEPTH, MAX_MAGNITUDE = 64, 5, 200.0
shapes = st.lists(st.integers(1, 5), max_size=3).map(tuple).filter(lambda s: np.prod(s, initial=1) <= 40)
numbers = st.sampled_from([-2.0, -0.5, 0.3, 1.0, 1.7, 3.0])


class Program:
    """A program of one or two inputs, as steps that NumPy and the tracer can both take.

    values  what every step gives on a sample, inputs first
    depths  levels that it costs at most
    """

    def __init__(self, shapes, rng):
        self.rng = rng
        self.samples = [rng.uniform(-1, 1, shape) for shape in shapes]
        self.steps = []
        self.values = list(self.samples)
        self.depths = [0] * len(shapes)

    def add(self, step, operands, cost):
        """Append a step if NumPy can take it and it stays small."""
        try:
            value = np.asarray(step(*(self.values[i] for i in operands)))
        except ValueError:
            return
        depth = max(self.depths[i] for i in operands) + cost
        small = value.size <= MAX_ELEMENTS and value.ndim <= 4 and np.max(np.abs(value)) < MAX_MAGNITUDE
        if small and value.size and depth <= MAX_DEPTH:
            self.steps.append((step, operands))
            self.values.append(value)
            self.depths.append(depth)

    def __call__(self, *inputs):
        values = list(inputs)
        for step, operands in self.steps:
            values.append(step(*(values[i] for i in operands)))
        return tuple(values[-2:])

    def compiled(self, ring_degree, **options):
        """The model of the program as users would write it."""
        kinds = [lw.Secret[s.shape] for s in self.samples]
        if len(kinds) == 1:

            def function(x: kinds[0]):
                return self(x)
        else:

            def function(x: kinds[0], y: kinds[1]):
                return self(x, y)

        # The sample itself, others like it, and the ends of the range.
        data = tuple(
            np.stack([s, self.rng.uniform(-1, 1, s.shape), np.ones(s.shape), -np.ones(s.shape)]) for s in self.samples
        )
        return lw.compile(
            lw.program(function), calibrate=data, precision_bits=BITS, ring_degree=ring_degree, insecure=True, **options
        )


def step_of(draw, program):
    """One random step: (function, operands, levels it costs at most)."""
    rng = program.rng
    at, other = (draw(st.integers(0, len(program.values) - 1)) for _ in range(2))
    value = program.values[at]
    number = draw(numbers)
    axis = draw(st.integers(0, max(value.ndim - 1, 0)))
    choices = {
        "add": (lambda a, b: a + b, [at, other], 1),
        "sub": (lambda a, b: a - b, [at, other], 1),
        "mul": (lambda a, b: a * b, [at, other], 2),
        "neg": (lambda a: -a, [at], 0),
        "square": (lw.square, [at], 1),
        "number": (lambda a: number * a - number, [at], 1),
        "minus": (lambda a: number - a, [at], 0),
    }
    if max(value.ndim, program.values[other].ndim) < 3:
        choices["matmul"] = (lambda a, b: a @ b, [at, other], 3)
    choices["stack"] = (lambda a, b: np.stack([a, b]), [at, other], 2)
    weights = rng.normal(size=value.shape)
    choices["weights"] = (lambda a: weights * a + weights, [at], 1)
    coefficients = [round(float(c), 3) for c in rng.normal(size=draw(st.integers(1, 4)))]
    choices["polynomial"] = (lambda a: lw.polynomial(a, coefficients), [at], 3)
    if value.ndim:
        keep = draw(st.booleans())
        matrix = rng.normal(size=(value.shape[-1], draw(st.integers(1, 4))))
        step = draw(st.sampled_from([1, -1, 2, -2]))
        index = (slice(None),) * axis + (slice(None, None, step),)
        places = [int(i) for i in rng.integers(0, value.shape[axis], 3)]
        taken = (slice(None),) * axis + (draw(st.integers(0, value.shape[axis] - 1)),)
        choices |= {
            "product": (lambda a: a @ matrix, [at], 1),
            "sum": (lambda a: np.sum(a, axis=axis, keepdims=keep), [at], 1),
            "mean": (lambda a: np.mean(a, axis=axis), [at], 2),
            "sum of all": (lambda a: a.sum(), [at], 1),
            "reshape": (lambda a: a.reshape(-1), [at], 1),
            "fold": (lambda a: np.reshape(a, (a.shape[-1], -1)), [at], 1),
            "transpose": (lambda a: a.T, [at], 1),
            "slice": (lambda a: a[index], [at], 1),
            "take": (lambda a: a[taken], [at], 1),
            "concatenate": (lambda a, b: np.concatenate([a, b], axis), [at, other], 3),
            "list": (lambda a: np.take(a, places, axis), [at], 1),
            "roll": (lambda a: np.roll(a, step, axis), [at], 1),
            "pad": (lambda a: np.pad(a, 1), [at], 1),
            "running sums": (lambda a: np.cumsum(a, axis), [at], 1),
            "product of elements": (lambda a: np.prod(a, axis), [at], 5),
            "window sums": (lambda a: lw.sum_pool2d(a, 2, 1), [at], 1),
        }
    wide = (draw(st.integers(1, 3)), *value.shape)
    choices["broadcast"] = (lambda a: np.broadcast_to(a, wide), [at], 1)
    trips = draw(st.integers(0, 3))
    choices["kept loop"] = (lambda a: lw.for_loop(trips, lambda i, h: h + a, a), [at], 0)
    choices["loop"] = (lambda a: lw.for_loop(trips, lambda i, h: 0.5 * h * a + a, a), [at], 2 * trips)
    return choices[draw(st.sampled_from(sorted(choices)))]


@st.composite
def programs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    program = Program(draw(st.lists(shapes, min_size=1, max_size=2)), rng)
    for _ in range(draw(st.integers(2, 6))):
        program.add(*step_of(draw, program))
    # A precision relative to the largest output asks nothing of outputs that are next to nothing.
    assume(all(np.max(np.abs(v)) > 1e-3 for v in program.values[-2:]))
    return program


def check(program, model, results, inputs):
    """Within the precision asked for, relative to the largest output of calibration, which a bound promises too."""
    for got, want, output in zip(results, program(*inputs), model.plan.client.outputs, strict=True):
        assert np.shape(got) == np.shape(want)
        assert np.max(np.abs(np.asarray(got) - want)) <= 2.0**-BITS * output.magnitude
        assert output.usual_error <= 2.0**-BITS * output.magnitude


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_simulated_programs_are_numpys(program):
    model = program.compiled(4096)
    assert model.plan.chain.main.top <= MAX_DEPTH + 3
    for noise in (None, np.random.default_rng(0)):
        check(program, model, model.simulate(*program.samples, noise=noise), program.samples)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_encrypted_programs_are_numpys(program):
    model = program.compiled(4096)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    results = client.decrypt(server(client.encrypt(*program.samples)))
    check(program, model, [r.reveal() for r in results], program.samples)
