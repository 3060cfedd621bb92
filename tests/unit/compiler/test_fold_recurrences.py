"""Loops that are linear in what is encrypted become matrices: the same numbers, where it is quicker, and no others."""

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.passes import affine_values, fold_recurrences
from latticework.compiler.recurrences import fold_module
from latticework.frontend.programs.array_program import trace
from latticework.ir import interpret, run_passes, verify
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

RNG = np.random.default_rng(3)
MATRIX = np.array([[0.5, 0.2, 0.0], [-0.1, 0.4, 0.3], [0.0, 0.0, 0.9]])
RATES = np.linspace(0.1, 0.9, 6)
AS_LOOPS = lw.Techniques(folded_recurrences=False)


@lw.program
def smooth(xs: lw.Secret[6]):
    def step(s, x):
        s = 0.7 * s + 0.3 * x
        return s, s

    return lw.scan(step, 0.0, xs)


@lw.program
def columns(xs: lw.Secret[6, 2, 2], first: lw.Secret[2, 2]):
    def step(s, x):
        return s * 0.5 - x + 1.5, {"both": s + x, "one": x}

    last, seen = lw.scan(step, first, xs)
    return last, seen["both"], seen["one"]


@lw.program
def rated(xs: lw.Secret[6, 3], first: lw.Secret[3], rates):
    def step(s, part):
        s = (1 - part["r"]) * s + part["r"] * (MATRIX @ part["x"]) + MATRIX[0]
        return s, s.sum()

    return lw.scan(step, first, {"x": xs, "r": rates})


@lw.program
def system(s: lw.Secret[3], u: lw.Secret[3]):
    return lw.for_loop(5, lambda i, s, t: (MATRIX @ s + 0.5 * u, t + s[::-1]), (s, u))


@lw.program
def nested(s: lw.Secret[3], u: lw.Secret[4, 3]):
    def outer(i, s):
        return lw.for_loop(3, lambda j, t: 0.5 * t + 0.1 * u[j + 1], s) + u[3 - i]

    return lw.for_loop(4, outer, s)


@lw.program
def swapped(xs: lw.Secret[4], ys: lw.Secret[4]):
    return lw.for_loop(5, lambda i, a, b: (b, 0.5 * a), (xs, ys))


@lw.program
def constant(xs: lw.Secret[6]):
    last, seen = lw.scan(lambda s, x: (2.0 * s, s), 1.0, xs)
    return last + xs, seen


LINEAR = {
    smooth: ((6,),), columns: ((6, 2, 2), (2, 2)), rated: ((6, 3), (3,)), system: ((3,), (3,)),
    nested: ((3,), (4, 3)), swapped: ((4,), (4,)), constant: ((6,),),
}  # fmt: skip
WEIGHTS = {rated: (RATES,)}


@pytest.mark.parametrize("program", LINEAR, ids=lambda program: program.name)
def test_the_same_numbers(program):
    inputs, weights = [RNG.normal(size=shape) for shape in LINEAR[program]], WEIGHTS.get(program, ())
    module = trace(program, weights)
    folded = run_passes(module, (fold_recurrences.PASS,))
    verify(folded)
    assert not [op for op in folded.walk() if op.name == "loop.for"]
    expected = [np.asarray(leaf) for leaf in interpret(module, inputs)]
    for found, wanted in zip(interpret(folded, inputs), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("program", [smooth, columns, system], ids=lambda program: program.name)
def test_encrypted_and_no_slower(program):
    data = [RNG.uniform(-1, 1, (8, *shape)) for shape in LINEAR[program]]
    options = {"calibrate": tuple(data) if len(data) > 1 else data[0], "precision_bits": 10}
    model = lw.compile(program, **options)
    client = model.client()
    sent = [each[0] for each in data]
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(*sent)))
    for one, wanted in zip(flat(found), interpret(trace(program), sent), strict=True):
        assert np.abs(one.reveal() - wanted).max() <= np.max(one.error_bound)
    as_loops = lw.compile(program, techniques=AS_LOOPS, **options)
    costs = CostModel.load()
    assert estimate(model.plan, costs).warm_seconds <= estimate(as_loops.plan, costs).warm_seconds


def flat(found):
    if isinstance(found, dict):
        return [leaf for part in found.values() for leaf in flat(part)]
    return [leaf for part in found for leaf in flat(part)] if isinstance(found, tuple) else [found]


@lw.program
def squared(s: lw.Secret[3]):
    return lw.for_loop(4, lambda i, s: s * s, s)


@lw.program
def curved(s: lw.Secret[3]):
    return lw.for_loop(2, lambda i, s: lw.tanh(s), s)


@lw.program
def secret_rate(s: lw.Secret[3], rate: lw.Secret[3]):
    return lw.for_loop(4, lambda i, s: rate * s, s)


@lw.program
def secret_rates(xs: lw.Secret[4], rates: lw.Secret[4]):
    return lw.scan(lambda s, part: (part[0] * s, None), 1.0, (rates, xs))[0] + xs


@lw.program
def counted(s: lw.Secret[3], n: lw.Index):
    return lw.for_loop(n, lambda i, s: 0.5 * s, s, at_most=4)


@lw.program
def numbered(s: lw.Secret[3], n: lw.Index, rates):
    return lw.for_loop(4, lambda i, s: lw.public(rates)[n] * s, s)


@pytest.mark.parametrize("program", [squared, curved, secret_rate, secret_rates, counted, numbered])
def test_what_is_not_linear_stays(program):
    module = trace(program, (RATES,) if program is numbered else ())
    assert run_passes(module, (fold_recurrences.PASS,)) is module


def test_the_linear_part_of_a_loop_that_is_not():
    @lw.program
    def both(s: lw.Secret[3], c: lw.Secret[3]):
        return lw.for_loop(3, lambda i, s: c * lw.for_loop(4, lambda j, t: 0.5 * t + s, s), s)

    module = trace(both)
    folded = run_passes(module, (fold_recurrences.PASS,))
    verify(folded)
    assert sum(op.name == "loop.for" for op in folded.walk()) == 1
    inputs = RNG.normal(size=3), RNG.normal(size=3)
    np.testing.assert_allclose(interpret(folded, inputs), interpret(module, inputs), rtol=1e-13)


def test_rounding_that_would_show_is_left_to_the_loop():
    """What grows and is taken away again: the numbers of the loop stay small, those of its matrices do not."""

    @lw.program
    def cancelling(x: lw.Secret[4]):
        return lw.for_loop(40, lambda i, a, b: (3.0 * a - 2.0 * b, a), (x, x))

    @lw.program
    def growing(xs: lw.Secret[365]):
        return lw.scan(lambda s, x: (1.1 * s + x, s), 0.0, xs)

    samples = [{"x": RNG.normal(size=4)} for _ in range(3)]
    module = trace(cancelling)
    assert run_passes(module, (fold_recurrences.PASS,)) is not module and fold_module(module, samples) is None
    assert fold_module(trace(growing), [{"xs": RNG.normal(size=365)}]) is not None


def test_what_is_too_large_stays(monkeypatch):
    monkeypatch.setattr(affine_values, "MOST", 1)
    for program in LINEAR:
        if program is not constant:
            module = trace(program, WEIGHTS.get(program, ()))
            assert run_passes(module, (fold_recurrences.PASS,)) is module


@pytest.mark.slow
def test_a_year_of_smoothing_is_one_map():
    @lw.program
    def year(xs: lw.Secret[365]):
        def step(s, x):
            s = 0.9 * s + 0.1 * x
            return s, s

        return lw.scan(step, 0.0, xs)

    data = RNG.uniform(-1, 1, (8, 365))
    model = lw.compile(year, calibrate=data, precision_bits=10)
    assert model.plan.chain.main.top <= 2 and not model.plan.bootstraps
    for found, wanted in zip(model.simulate(data[0]), year(data[0]), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2.0**-10)


def test_beside_a_loop_whose_number_is_known_at_run_time():
    """A program has a recurrence to fold and a loop of another kind: it compiles, and both give their results."""

    @lw.program
    def both(x: lw.Secret[4, 3], n: lw.Index):
        level = lw.for_loop(4, lambda i, level: 0.5 * level + x[i], x[0])
        return lw.for_loop(n, lambda i, y: y + x[0], level, at_most=3)

    rows = np.random.default_rng(0).uniform(-1, 1, (8, 4, 3))
    model = lw.compile(both, calibrate={"x": rows, "n": 3}, ring_degree=2048, insecure=True)
    client = model.client()
    server = model.server(client.keygen().public())
    sent = client.encrypt_part(x=rows[0])
    for turns in (0, 2):
        found = client.decrypt(server(sent, n=turns))
        assert np.abs(found.reveal() - both(rows[0], turns)).max() <= found.error_bound
