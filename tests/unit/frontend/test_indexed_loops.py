"""x[i] and rate[i] for a number known at run time, and lw.scan: NumPy, the simulator and encrypted runs agree."""

from functools import partial

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.levels.public_factors import factor_pass
from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.frontend import trace
from latticework.ir import INDEX, Block, Builder, Module, Region
from latticework.ir.dialects.vec_dialect import VecType
from latticework.ir.interpret import interpret
from latticework.ir.verify import verify
from latticework.plan.analysis.simulate import simulate

SMALL = {"ring_degree": 8192, "insecure": True, "precision_bits": 8}
RNG = np.random.default_rng(5)
TABLE = RNG.uniform(-1, 1, (3, 4))


def uniform(*shape):
    return RNG.uniform(-1, 1, shape)


def flat(returned):
    return returned if isinstance(returned, tuple) else (returned,)


AS_LOOPS = lw.Techniques(folded_recurrences=False)


def agree(program, inputs, weights=(), loops=None):
    """NumPy, the traced program, and the simulated plan; returns the compiled program."""
    expected = flat(program(*inputs, *weights))
    module = trace(program, weights)
    verify(module)
    for got, want in zip(interpret(module, inputs), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    model = lw.compile(program, weights=weights, techniques=AS_LOOPS, **SMALL)
    for got, want in zip(simulate(model.plan, inputs), expected, strict=True):
        assert got.shape == np.shape(want)
        np.testing.assert_allclose(got, want, atol=1e-3)
    if loops is not None:
        assert sum(instruction.op == "for" for _, _, instruction in model.plan.walk()) == loops
    return model


@lw.program
def kept(x: lw.Secret[4], xs: lw.Secret[3, 4], n: lw.Index, table):
    return lw.for_loop(n, lambda i, w: w + xs[2 - i] - table[i] + lw.public(table[:, 0])[i], x)


def test_parts_in_a_loop_that_stays_a_loop():
    inputs = uniform(4), uniform(3, 4)
    model = agree(kept, (*inputs, 2), (TABLE,), loops=1)
    assert {"take_at", "encode_at"} <= {instruction.op for _, _, instruction in model.plan.walk()}
    client = model.client()
    server = model.server(client.keygen().public())
    for n in (0, 3):
        result = client.decrypt(server(client.encrypt(*inputs, n)))
        assert result.is_proved
        assert np.all(np.abs(result.reveal() - kept(*inputs, n, TABLE)) <= result.error_bound)
    with pytest.raises(RangeError, match="n is 4; the program was compiled for 0 to 3"):
        client.encrypt(*inputs, 4)


@lw.program
def spending(x: lw.Secret[4], xs: lw.Secret[3, 4], n: lw.Index, table):
    return lw.for_loop(n, lambda i, w: w * table[i] + 0.5 * xs[i] * table[i, 0], x, at_most=3)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_parts_in_copies_of_a_body(n):
    model = agree(spending, (uniform(4), uniform(3, 4), n), (TABLE,), loops=0)
    assert "encode_at" not in {instruction.op for _, _, instruction in model.plan.walk()}


@lw.program
def batches(x: lw.Secret[2, 8, 4], w: lw.Secret[4], rate):
    return lw.for_loop(2, lambda i, w: w - rate[i] * (x[i].T @ (x[i] @ w)) / 8, w)


def test_mini_batches_with_a_schedule():
    agree(batches, (uniform(2, 8, 4), uniform(4)), (np.array([0.5, 0.25]),))


@lw.program
def nested(x: lw.Secret[3, 2, 4]):
    def outer(i, total):
        return lw.for_loop(2, lambda j, t: t + x[i][1 - j] + x[i, j], total)

    return lw.for_loop(3, outer, np.zeros(4))


def test_parts_of_parts_in_nested_loops():
    agree(nested, (uniform(3, 2, 4),), loops=2)


@lw.program
def large(x: lw.Secret[2, 64, 128]):
    return lw.for_loop(2, lambda i, total: total + x[1 - i], np.zeros((64, 128)))


def test_parts_of_several_vectors_each():
    agree(large, (uniform(2, 64, 128),), loops=1)


def test_zeros_of_several_vectors_are_carried():
    @lw.program
    def doubled(x: lw.Secret[64, 128]):
        return lw.for_loop(2, lambda i, total: total + x, np.zeros((64, 128))), np.ones((64, 128))

    agree(doubled, (uniform(64, 128),), loops=1)


# -- scan ----------------------------------------------------------------------------------------


@lw.program
def curves(x: lw.Secret[4], xs: lw.Secret[3, 4], ys: lw.Secret[3], table):
    def body(carry, part):
        carry = {"w": carry["w"] + part["x"] - part["t"], "n": carry["n"] + part["y"]}
        return carry, (np.sum(carry["w"]), [carry["w"], 1.0])

    carry, (sums, (values, ones)) = lw.scan(body, {"w": x, "n": 0.0}, {"x": xs, "y": ys, "t": table})
    return carry["w"], carry["n"], sums, values, ones


def test_scan_stacks_what_every_iteration_gives():
    inputs = uniform(4), uniform(3, 4), uniform(3)
    agree(curves, inputs, (TABLE,))
    *_, sums, values, ones = curves(*inputs, TABLE)
    np.testing.assert_allclose(values, inputs[0] + np.cumsum(inputs[1] - TABLE, axis=0))
    np.testing.assert_allclose(sums, values.sum(axis=1))
    np.testing.assert_array_equal(ones, [1.0, 1.0, 1.0])


@lw.program
def trained(w: lw.Secret[4], xs: lw.Secret[3, 4]):
    return lw.scan(lambda w, x: (w * x, np.mean(w * w)), w, xs)


def test_scan_of_a_body_that_spends_levels():
    agree(trained, (uniform(4), uniform(3, 4)), loops=0)


@lw.program
def averages(x: lw.Secret[6, 4]):
    def step(mean, value):
        mean = 0.75 * mean + 0.25 * value
        return mean, mean

    return lw.scan(step, np.zeros(4), x)


def test_scan_stacks_products_that_are_not_settled_yet():
    data = np.stack([uniform(6, 4) for _ in range(3)])
    model = lw.compile(
        averages, calibrate=data, bootstrap_set="T12", insecure=True, precision_bits=8, techniques=AS_LOOPS
    )
    assert model.plan.bootstraps
    for found, wanted in zip(model.simulate(data[0]), averages(data[0]), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


@lw.program
def counted(x: lw.Secret[4]):
    last, nothing = lw.scan(lambda carry, none: (carry + 1.0 if none is None else carry, None), x, length=3)
    assert nothing is None
    return last


def test_scan_without_arrays_or_results():
    agree(counted, (uniform(4),), loops=1)


# -- what is refused -----------------------------------------------------------------------------


def loop(body, n=3, **options):
    def program(x: lw.Secret[3, 4], w: lw.Secret[4], n_: lw.Index):
        return lw.for_loop(n_ if n is None else n, partial(body, x), w, **options)

    return lw.program(program)


REFUSED = {
    "beyond the axis": (loop(lambda x, i, w: w + x[i], 4), RangeError, "loop variable i reaches 3.*3 long.*0 to 2"),
    "beyond by arithmetic": (loop(lambda x, i, w: w + x[i + 1]), RangeError, "reaches 3.*3 long"),
    "below": (loop(lambda x, i, w: w + x[1 - i]), RangeError, "starts at -1"),
    "beyond by at_most": (loop(lambda x, i, w: w + x[i], None, at_most=4), RangeError, "reaches 3"),
    "along slots": (loop(lambda x, i, w: w + x[0, i]), ShapeError, r"axis 1 of an array of shape \(3, 4\).*moveaxis"),
    "scalar": (loop(lambda x, i, w: w + np.sum(x)[i]), ShapeError, "scalar, which has no axis"),
    "public, beyond": (loop(lambda x, i, w: w + lw.public([1.0, 2.0])[i]), RangeError, "reaches 2.*2 long"),
    "list": (loop(lambda x, i, w: w + [1.0, 2.0][i]), TraceError, r"lw.public\(array\)\[i\]"),
}


@pytest.mark.parametrize("program, kind, message", REFUSED.values(), ids=REFUSED)
def test_subscripts_that_cannot_be(program, kind, message):
    with pytest.raises(kind, match=message) as caught:
        trace(program)
    assert caught.value.at.file == __file__ and "lambda x, i, w" in caught.value.at.text


def test_data_that_lead_beyond_the_axis():
    program = loop(lambda x, i, w: w + x[i + 1], None)
    with pytest.raises(RangeError, match="an index known at run time is 3, on an axis that is 3 long") as caught:
        lw.compile(program, **SMALL)
    assert "x[i + 1]" in caught.value.at.text


def scanning(body, init, xs=None, **options):
    def program(x: lw.Secret[3, 4], n: lw.Index):
        return lw.scan(body, init(x), xs and xs(x, n), **{k: v(n) for k, v in options.items()})[0]

    return lw.program(program)


SCANS = {
    "lengths": (scanning(lambda c, x: (c, x[0]), np.sum, lambda x, n: [x, np.ones(2)]), ShapeError,
                r"xs\[0\] is 3 long, xs\[1\] is 2 long"),
    "length": (scanning(lambda c, x: (c, x), np.sum, lambda x, n: x, length=lambda n: 2), ShapeError, "length is 2"),
    "no length": (scanning(lambda c, x: (c, x), np.sum), TraceError, "neither xs nor length="),
    "none at all": (scanning(lambda c, x: (c, x), np.sum, length=lambda n: 0), RangeError, "0 iterations"),
    "float": (scanning(lambda c, x: (c, x), np.sum, length=lambda n: 2.0), DtypeError, "length is a float"),
    "run-time": (scanning(lambda c, x: (c, x), np.sum, length=lambda n: n), TraceError, "index n.*lw.for_loop"),
    "no pair": (scanning(lambda c, x: c, np.sum, lambda x, n: x), TraceError, r"return \(carry, y\)"),
    "scalars": (scanning(lambda c, x: (c, x), np.sum, lambda x, n: 1.0), ShapeError, "xs is a scalar"),
    "another shape": (scanning(lambda c, x: ([x], x), lambda x: [x], lambda x, n: x), ShapeError,
                      r"scan: the carried array carry\[0\] starts with shape \(3, 4\)"),
    "another structure": (scanning(lambda c, x: (c[0], x), lambda x: [x], lambda x, n: x), TraceError,
                          "scan: body returns carry as one array.*list of 1"),
}  # fmt: skip


@pytest.mark.parametrize("program, kind, message", SCANS.values(), ids=SCANS)
def test_scans_that_cannot_be(program, kind, message):
    with pytest.raises(kind, match=message) as caught:
        trace(program)
    assert caught.value.at.file == __file__


def test_results_of_scan_keep_their_structure():
    def body(carry, x):
        return carry + x, [x] if carry == 0 else x

    with pytest.raises(TraceError, match="scan: body returns y as one array.*list of 1"):
        lw.scan(body, 0.0, np.ones(2))


@lw.program
def refreshed(w: lw.Secret[4], xs: lw.Secret[4, 4], n: lw.Index, rate):
    return lw.for_loop(n, lambda i, w: w - rate[i] * xs[i] * w * w, w)


@pytest.mark.slow
def test_parts_in_a_loop_with_bootstraps():
    rates = np.array([0.5, 0.25, 0.2, 0.1])
    data = {"w": uniform(8, 4), "xs": uniform(8, 4, 4), "n": 4}
    model = lw.compile(
        refreshed, weights=(rates,), calibrate=data, bootstrap_set="T12", precision_bits=8, insecure=True
    )
    assert {"for", "take_at", "encode_at"} <= {instruction.op for _, _, instruction in model.plan.walk()}
    client = model.client()
    w, xs = data["w"][0], data["xs"][0]
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(w, xs, 3)))
    assert np.all(np.abs(result.reveal() - refreshed(w, xs, 3, rates)) <= result.error_bound)


def test_factors_are_placed_in_bodies_that_count():
    module = Module()
    kind = VecType(1, 8, "real", True)
    x, xs = module.body.add_arg(kind), module.body.add_arg(VecType(3, 8, "real", True))
    body = Block()
    i, w = body.add_arg(INDEX), body.add_arg(kind)
    inside = Builder(body)
    part = inside.build("vec.take_at", [xs, i], count=1)
    half = inside.build("vec.splat", value=0.5, slots=8)
    inside.create("loop.yield", [inside.build("vec.mul", [inside.build("vec.mul", [w, part]), half])])
    outside = Builder(module.body)
    made = outside.create("loop.for", [x, xs][:1], {"static_trip": 3, "at_most": None}, [Region(body)])
    outside.create("loop.yield", [made.result])
    module.input_names, module.outputs = ["x", "xs"], ["y"]
    inputs = {"x": uniform(8), "xs": uniform(3, 8)}
    found = factor_pass(in_loops=True).run(module, None)
    verify(found)
    np.testing.assert_allclose(interpret(found, inputs)[0], 0.125 * inputs["x"] * inputs["xs"].prod(axis=0))


@lw.program
def gains_within(x: lw.Secret[4], xs: lw.Secret[3, 4], m: lw.Index, table):
    """What the inner loop carries and is public begins anew in every turn, and is multiplied by what the outer does."""

    def outer(i, v, gain):
        inner = lw.for_loop(m, lambda j, u, g: (u * x * g * gain + 0.1 * u, 0.7 * g), (v, 0.9))
        return inner[0], 0.8 * gain + 0.1 * table[0, 0]

    return lw.for_loop(3, outer, (xs[0], 1.0))[0]


def test_inner_loops_that_bootstrap_read_the_number_of_the_outer():
    """The number of the outer loop has no level, as a vector that the inner loop reads has."""
    data = {"x": uniform(6, 4), "xs": uniform(6, 3, 4), "m": 3}
    model = lw.compile(
        gains_within, weights=(TABLE,), calibrate=data, bootstrap_set="T12", precision_bits=8, insecure=True
    )  # fmt: skip
    assert model.plan.bootstraps
    for m in range(4):
        inputs = data["x"][0], data["xs"][0], m
        (found,) = simulate(model.plan, inputs)
        assert np.max(np.abs(found - gains_within(*inputs, TABLE))) <= model.plan.client.outputs[0].error_bound < 1e-3
