"""Compiled circuits: names and shapes of the user, files, warnings, and circuits that go on with others' results."""

import linecache

import numpy as np
import pytest

import latticework as lw
from latticework.errors import (
    DtypeError,
    FormatError,
    LayoutError,
    LevelError,
    ParameterMismatchError,
    RangeError,
    ShapeError,
    TraceError,
    UserError,
)

SMALL = {"ring_degree": 2048, "insecure": True, "effort": "fast"}
EXACT = {"scheme": "bfv", "ring_degree": 4096, "insecure": True, "effort": "fast"}


@lw.circuit
def mixed(c: lw.vector(3), s: lw.scalar(low=0, high=9), m: lw.matrix(1, 2, replicate=True), unused: lw.scalar(), w=3):
    return {"a": (c[0] * s + w, [c[1] - s, c[2] * 2]), "b": m.T * s}


VALUES = {"c": [4, 5, -6], "s": 7, "m": [[1, -2]], "unused": 100}


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def model(request):
    calibrate = {"c": np.full((2, 3), 6), "s": [0, 9], "m": np.full((2, 1, 2), 2), "unused": [0, 100]}
    if request.param == "bfv":
        return lw.compile(mixed, **EXACT)
    return lw.compile(mixed, calibrate=calibrate | {"c": np.array([[-6, -6, -6], [6, 6, 6]]), "m": [[[-2, 2]], [[2, 2]]]},
                      **SMALL)  # fmt: skip


def revealed(model, values):
    client = model.client()
    server = model.server(client.keygen().public())
    return client.decrypt(server(client.encrypt(**values)))


def test_users_deal_in_their_own_names_and_shapes(model, tmp_path):
    want = mixed(**VALUES)
    model.save(tmp_path / "circuit.lwplan")
    loaded = lw.load(tmp_path / "circuit.lwplan", allow_insecure=True)
    got = revealed(loaded, VALUES)
    assert set(got) == {"a", "b"} and isinstance(got["a"], tuple) and got["b"].shape == (2, 1)
    is_exact = model.plan.chain.scheme == "bfv"  # and no range is declared of m: the bounds are infinite
    first, tolerance = (1e-9 + (0 if is_exact else value.error_bound) for value in (got["a"][0], got["b"]))
    assert abs(got["a"][0].reveal() - want["a"][0]) <= first
    np.testing.assert_allclose(got["a"][1].reveal(), np.array(want["a"][1], dtype=float), atol=1e-2)
    np.testing.assert_allclose(got["b"].reveal(), want["b"].astype(float), atol=tolerance)
    for values in (model.plaintext(**VALUES), loaded.simulate(**VALUES)):
        np.testing.assert_allclose(values["b"], want["b"].astype(float), atol=1e-3)
    stacked = model.simulate(c=[VALUES["c"]] * 3, s=7, m=VALUES["m"], unused=0)
    assert np.shape(stacked["b"]) == (3, 2, 1)
    assert model.debug(**VALUES).first_off is None


def test_debugging_names_the_lines_of_operations():
    @lw.circuit
    def steps(x: lw.vector(2), y: lw.scalar()):
        total = x[0] + y
        product = total * x[1]
        return product - y

    rows = lw.compile(steps, **SMALL).debug(x=[0.5, 0.25], y=-1).rows
    assert {row.location.text for row in rows} >= {"total = x[0] + y", "product = total * x[1]", "return product - y"}
    assert all(row.error <= row.bound for row in rows)


def test_inputs_are_checked_by_name(model):
    client = model.client()
    for change, error, message in [
        ({"c": [1, 2]}, ShapeError, r"input c has shape \(2,\), the circuit was compiled for \(3,\)"),
        ({"s": 10}, RangeError, "input s is outside 0 to 9, which the circuit was compiled for"),
        ({"s": "x"}, DtypeError, "input s has dtype"),
        ({"s": np.nan}, RangeError, "input s is NaN or infinite"),
        ({"z": 1}, TraceError, "has the inputs c, s, m, unused"),
    ]:
        with pytest.raises(error, match=message):
            client.encrypt(**(VALUES | change))
    with pytest.raises(TraceError, match="missing: m"):
        client.encrypt(c=[1, 2, 3], s=1, unused=0)


def test_reports_and_schedules_name_what_users_named(model):
    report = str(model.report()) if model.plan.chain.scheme == "ckks" else model.schedule()
    assert "c[0]" in report and "Schedule" in report
    with pytest.raises(TraceError, match="is no circuit"):
        lw.compile(program, ring_degree=2048, insecure=True).schedule()


@lw.program
def program(x: lw.Secret[2]):
    return x * x


@pytest.mark.parametrize("algorithm", ["search", "annealing", "scalar"])
def test_every_algorithm_gives_the_same_numbers(algorithm):
    @lw.circuit
    def poly(x: lw.vector(4), y: lw.vector(4, replicate=True)):
        return [x[i] * y[i] + x[(i + 1) % 4] for i in range(4)]

    got = revealed(lw.compile(poly, algorithm=algorithm, **EXACT), {"x": [1, 2, 3, 4], "y": [5, 6, 7, 8]})
    assert got.reveal().tolist() == [7, 15, 25, 33]


def test_results_that_may_wrap_around_are_warned_of():
    @lw.circuit
    def big(x: lw.scalar(low=-1000, high=1000), y: lw.scalar()):
        return x**2, x * y

    with pytest.warns(
        lw.RangeWarning, match=r"result result0 may lie between 0 and 1000000 .*plain_bits=21 would hold"
    ):
        model = lw.compile(big, **EXACT)
    with pytest.warns(lw.RangeWarning, match=r"y without low= and high= taken as -1 to 1"):
        lw.compile(big, **EXACT)
    modulus = model.plan.chain.plain_modulus
    got = revealed(model, {"x": 1000, "y": 3})[0].reveal()
    assert got == 1000**2 - modulus
    lw.compile(big, **EXACT | {"plain_bits": 21})  # no warning


def test_warnings_stand_at_the_line_that_compiles():
    @lw.circuit
    def cube(x: lw.scalar(low=-1000, high=1000)):
        return x**3

    with pytest.warns(lw.RangeWarning) as found:
        lw.compile(cube, **EXACT)
    (warning,) = found
    assert warning.filename == __file__
    assert linecache.getline(__file__, warning.lineno).strip() == "lw.compile(cube, **EXACT)"


def test_constants_are_exact_integers():
    @lw.circuit
    def shifted(x: lw.scalar()):
        return x * 100_003 - 2**40

    with pytest.warns(lw.RangeWarning):
        model = lw.compile(shifted, **EXACT)
    t = model.plan.chain.plain_modulus
    assert (int(revealed(model, {"x": 3}).reveal()) - (300_009 - 2**40)) % t == 0


@pytest.mark.parametrize("scheme", ["ckks", "bfv"])
def test_a_circuit_goes_on_with_results_of_another(scheme):
    @lw.circuit
    def block(a: lw.matrix(2, 2, replicate=True), b: lw.matrix(2, 2, replicate=True)):
        return {"product": a @ b, "trace": a[0, 0] + b[1, 1]}

    options = EXACT if scheme == "bfv" else SMALL
    first = lw.compile(block, spare_levels=4, **options)
    lanes = first.lanes("product")

    @lw.circuit
    def both(p: lw.matrix(2, 2, lanes=lanes), q: lw.matrix(2, 2, lanes=lanes), s: lw.scalar()):
        return p * s - q[::-1], p[0, 0] * q[1, 1]

    second = lw.compile(both, scheme=scheme, effort="fast", like=first)
    one = first.client()
    keys = one.keygen()
    two = second.client(keys=keys)
    servers = first.server(keys.public()), second.server(two.public_keys())
    rng = np.random.default_rng(0)
    draw = (lambda: rng.integers(-3, 4, (2, 2))) if scheme == "bfv" else (lambda: rng.uniform(-1, 1, (2, 2)))
    (a, b), (c, d) = (draw(), draw()), (draw(), draw())
    results = [servers[0](one.encrypt(a=x, b=y)) for x, y in ((a, b), (c, d))]
    inputs = servers[1].inputs(two.encrypt(s=1), p=results[0], q=results[1])
    got = two.decrypt(servers[1](inputs))
    want = a @ b - (c @ d)[::-1], (a @ b)[0, 0] * (c @ d)[1, 1]
    for x, y in zip(got, want, strict=True):
        np.testing.assert_allclose(x.reveal(), y, atol=0 if scheme == "bfv" else 1e-2)
    with pytest.raises(TraceError, match="s is no input that another circuit computes; such are p, q"):
        servers[1].inputs(None, s=results[0])
    with pytest.raises(FormatError, match="input p takes the encrypted outputs of circuit block"):
        servers[1].inputs(None, p=inputs)
    with pytest.raises(ShapeError, match="the encrypted input s is missing"):
        servers[1](servers[1].inputs(None, p=results[0], q=results[1]))


def test_composition_is_refused_where_it_does_not_fit():
    @lw.circuit
    def square(x: lw.vector(2)):
        return {"squares": x * x, "copy": [x[0] * x[1], x[0] * x[1]], "apart": (x * x)[0]}

    first = lw.compile(square, **SMALL)
    with pytest.raises(TraceError, match=r"has no result 'cubes'; its results are squares, copy, apart"):
        first.lanes("cubes")
    with pytest.raises(LayoutError, match="has equal elements"):
        first.lanes("copy")

    @lw.circuit
    def again(y: lw.vector(2, lanes=first.lanes("squares"))):
        return y[0] * y[1]

    with pytest.raises(UserError, match="input y is computed by square; compile with like="):
        lw.compile(again, **SMALL)
    with pytest.raises(LevelError, match=r"needs 1 levels more than are left; .*spare_levels= larger by 1"):
        lw.compile(again, like=first)
    other = lw.compile(square, **SMALL | {"precision_bits": 20})
    with pytest.raises(ParameterMismatchError, match="computed by square under other parameters"):
        lw.compile(again, like=other)
    with pytest.raises(UserError, match="scheme='bfv', but the model given as like= has 'ckks'"):
        lw.compile(again, scheme="bfv", like=first)
    with pytest.raises(UserError, match="spare_levels=-1"):
        lw.compile(square, spare_levels=-1, **SMALL)
    with pytest.raises(LayoutError, match="leave out group='g'"):
        lw.vector(2, lanes=first.lanes("squares"), group="g")
    with pytest.raises(ParameterMismatchError, match="the keys are of other parameters"):
        other.client(keys=first.client().keygen())


def test_lanes_that_no_vector_has_are_refused():
    @lw.circuit
    def far(x: lw.vector(2, lanes=[0, 3000])):
        return x[0] * x[1]

    with pytest.raises(LayoutError, match="lane 3000 is outside the 1024 slots of a vector"):
        lw.compile(far, **SMALL)


def test_programs_on_arrays_run_on_ckks_only():
    with pytest.raises(UserError, match=r"programs on arrays run on CKKS, not 'bfv'; write program as a circuit"):
        lw.compile(program, scheme="bfv")
