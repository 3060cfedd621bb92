"""`compile(integers=64)`: circuits on integers of many bits are exact, whatever the size of their results, or refused."""

import random
import warnings
from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.errors import (
    DtypeError,
    FormatError,
    LayoutError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    ShapeError,
    TraceError,
    UnsupportedError,
    UserError,
)
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan

LEAST, MOST, UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
SMALL = {"scheme": "bfv", "integers": 64, "ring_degree": 1024, "insecure": True}
EXTREME = [LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST]


@lw.circuit
def product(x: lw.scalar(), y: lw.scalar()):
    return x * y


@lw.circuit
def mixed(x: lw.scalar(), v: lw.vector(2, low=0, high=UNSIGNED), w: lw.scalar(low=-5, high=5)):
    return {"cube": x * x * x - 3 * x + 7, "dot": [v[0] * v[1] - x, v.sum()], "small": w * w}


def parties(model):
    client = model.client(threads=1)
    return client, model.server(client.keygen().public(), threads=1)


@pytest.fixture(scope="module")
def pairs():
    model = lw.compile(product, batch="fill", **SMALL)
    client = model.client(threads=1)
    client.keygen()
    return model, client, model.server(threads=1)


@pytest.fixture(scope="module")
def circuit():
    model = lw.compile(mixed, **SMALL)
    return model, *parties(model)


def answers(client, server, **inputs):
    return client.decrypt(server(client.encrypt(**inputs)))


# -- what is exact -----------------------------------------------------------------------------------


def test_products_of_extreme_numbers_need_no_keys(pairs):
    model, client, server = pairs
    assert not model.plan.keys and not model.plan.chain.special and len(model.plan.chain.plain_moduli) > 1
    x, y = (list(each) for each in zip(*((a, b) for a in EXTREME for b in EXTREME), strict=True))
    found = answers(client, server, x=x, y=y)
    assert found.reveal().tolist() == [a * b for a, b in zip(x, y, strict=True)]
    assert found.error_bound == 0 and found.is_certain.all() and found.is_proved
    assert model.simulate(x=x, y=y).tolist() == found.reveal().tolist()
    assert answers(client, server, x=LEAST, y=LEAST).reveal() == 1 << 126  # one row


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_rows_beyond_a_batch_and_both_rows_of_slots(pairs, more):
    rng = np.random.default_rng(3)
    model, client, server = pairs
    rows = model.plan.client.rows
    assert rows == model.plan.chain.ring_degree  # every slot holds a number
    x, y = (rng.integers(LEAST, MOST, rows + more, endpoint=True) for _ in range(2))
    given = server.load_encrypted(client.encrypt(x=x, y=y).to_bytes())
    found = client.decrypt(client.load_encrypted(server(given).to_bytes())).reveal()
    assert (found == x.astype(object) * y.astype(object)).all() and found.shape == (rows + more,)


def test_rows_of_a_batch_with_rotations():
    @lw.circuit
    def dot(x: lw.vector(4), y: lw.vector(4)):
        return x @ y, y[::-1].sum()

    model = lw.compile(dot, batch="fill", **SMALL)
    client, server = parties(model)
    assert model.plan.client.slot_rows == 2 and any(
        use.spec.kind == "galois" for use in model.plan.client.manifest.uses
    )
    rng = np.random.default_rng(4)
    x, y = (rng.integers(LEAST, MOST, (model.plan.client.rows + 1, 4)) for _ in range(2))
    products, sums = answers(client, server, x=x, y=y)
    assert (products.reveal() == (x.astype(object) * y).sum(axis=1)).all()
    assert (sums.reveal() == y.astype(object).sum(axis=1)).all()


def test_one_number_for_all_rows(pairs):
    _, client, server = pairs
    assert answers(client, server, x=[3, LEAST, -1], y=MOST).reveal().tolist() == [3 * MOST, LEAST * MOST, -MOST]


@pytest.mark.parametrize("x", EXTREME)
def test_circuits_with_keys(circuit, x):
    model, client, server = circuit
    assert model.plan.keys
    v, w = [UNSIGNED, MOST], -5
    found, wanted = answers(client, server, x=x, v=v, w=w), mixed(x, v, w)
    assert found["cube"].reveal() == wanted["cube"] and found["small"].reveal() == wanted["small"]
    assert found["dot"].reveal().tolist() == wanted["dot"]
    assert found["small"].reveal().dtype == np.int64  # int64 can hold it, whatever the inputs


@pytest.mark.parametrize(
    "given",
    [np.int64(-7), np.uint64(7), np.int8(-7), True, 7.0, -(2.0**53), np.array(LEAST), np.array([-7], dtype=object)[0]],
    ids=repr,
)
def test_kinds_of_integers(circuit, given):
    _, client, server = circuit
    found = answers(client, server, x=given, v=np.array([0, UNSIGNED], dtype=np.uint64), w=np.int8(5))
    assert found["dot"].reveal().tolist() == [-int(given), UNSIGNED]


def test_lists_that_numpy_would_round(circuit):
    """np.asarray([2**63, 1]) of numbers around 2^63 may be float64."""
    _, client, server = circuit
    v = [(1 << 63) + 1, 3]
    assert answers(client, server, x=0, v=v, w=0)["dot"].reveal().tolist() == [v[0] * 3, v[0] + 3]


def test_other_sizes():
    @lw.circuit
    def square(x: lw.scalar()):
        return x * x

    model = lw.compile(square, **{**SMALL, "integers": 16})
    client, server = parties(model)
    found = answers(client, server, x=-(1 << 15)).reveal()
    assert found == 1 << 30 and found.dtype == np.int64
    with pytest.raises(RangeError, match="is outside -32768 to 32767"):
        client.encrypt(x=1 << 15)


def random_circuit(seed):
    """A circuit of up to three inputs with at most two products in a row, its ranges, and numbers for it."""
    draw = random.Random(seed)
    kinds, ends = [], []
    for _ in range(draw.randint(1, 3)):
        bits = draw.choice([1, 8, 31, 32, 53, 63, 64])
        low, high = draw.choice([(0, (1 << bits) - 1), (-(1 << (bits - 1)), (1 << (bits - 1)) - 1 or 1)])
        ends.append((low, high))
        kinds.append(lw.scalar(low=low, high=high) if draw.random() < 0.8 else lw.vector(2, low=low, high=high))
    steps = [(draw.choice("+-*c"), draw.random(), draw.random(), draw.randint(-(1 << 53), 1 << 53)) for _ in range(6)]

    def run(*given):
        values = [(n, 0) for one in given for n in (one if isinstance(one, np.ndarray | list) else [one])]
        for symbol, first, second, constant in steps:
            (a, one), (b, other) = (values[int(share * len(values))] for share in (first, second))
            if symbol == "*" and max(one, other) < 2:
                values.append((a * b, max(one, other) + 1))
            elif symbol == "c":
                values.append((a * (constant >> draw_shift(constant)) + constant % 1000, one))
            else:
                values.append((a + b if symbol == "+" else a - 2 * b, max(one, other)))
        return [value for value, _ in values[-3:]]

    def two(x: kinds[0]):
        return run(x)

    function = two
    if len(kinds) > 1:

        def function(x: kinds[0], y: kinds[1], z: kinds[-1]):
            return run(x, y, z)

        ends.append(ends[-1])
        kinds.append(kinds[-1])
        kinds, ends = [kinds[0], kinds[1], kinds[-1]], [ends[0], ends[1], ends[-1]]
    shapes = [kind.shape for kind in kinds]

    def numbers():
        def one(low, high):
            return draw.choice([low, high, draw.randint(low, high), min(max(0, low), high)])

        return [
            [one(*end) for _ in range(shape[0])] if shape else one(*end)
            for shape, end in zip(shapes, ends, strict=True)
        ]

    return lw.circuit(function), numbers


def draw_shift(constant):
    return abs(constant) % 50


def check_random_circuit(seed, samples=3):
    circuit, numbers = random_circuit(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = lw.compile(circuit, effort="fast", **SMALL)
    client, server = parties(model)
    for _ in range(samples):
        given = dict(zip(model.plan.client.given_names, numbers(), strict=True))
        found, wanted = answers(client, server, **given), circuit(**given)
        revealed = found.reveal().tolist() if not isinstance(found, tuple) else [each.reveal() for each in found]
        assert revealed == list(wanted), (seed, given)


@pytest.mark.parametrize("seed", range(20))
def test_random_circuits_give_what_python_gives(seed):
    check_random_circuit(seed, samples=1)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(20, 1020, 20))
def test_a_thousand_random_circuits_give_what_python_gives(first):
    for seed in range(first, first + 20):
        check_random_circuit(seed)


# -- files -------------------------------------------------------------------------------------------


def test_files_keep_everything(circuit, tmp_path):
    model, client = circuit[0], circuit[0].client(threads=1)
    model.save(tmp_path / "m.lwplan")
    client.save(tmp_path / "m.lwclient")
    client.keygen(tmp_path / "keys")
    client.load_keys(tmp_path / "keys")
    loaded = lw.load(tmp_path / "m.lwplan", allow_insecure=True)
    assert loaded.plan.client == read_client(tmp_path / "m.lwplan") == read_client(tmp_path / "m.lwclient")
    assert [a.ends for a in loaded.plan.client.arguments] == [(LEAST, MOST), (0, UNSIGNED), (-5, 5)]
    other = lw.Client.load(tmp_path / "m.lwclient", threads=1, allow_insecure=True)
    other.load_keys(tmp_path / "keys")
    sent = other.encrypt(x=MOST, v=[UNSIGNED, 1], w=0).to_bytes()
    (tmp_path / "keys" / "secret.lwkey").rename(tmp_path / "secret.lwkey")
    keyed = lw.Server.load(tmp_path / "m.lwplan", tmp_path / "keys", threads=1)
    mapped = lw.Server.load(tmp_path / "m.lwplan", tmp_path / "keys", key_memory="1GB", threads=1)
    results = [each(each.load_encrypted(sent)).to_bytes() for each in (keyed, mapped)]
    assert results[0] == results[1]
    assert other.decrypt(other.load_encrypted(results[0]))["dot"].reveal().tolist() == [UNSIGNED - MOST, UNSIGNED + 1]


def test_plans_with_other_moduli_are_refused(circuit):
    client = circuit[0].plan.client
    chain = client.chain
    t, *others = chain.plain_moduli
    for moduli in ((others[0] + 2,), (others[0], others[0]), tuple(reversed(others)) if len(others) > 1 else (t,), (t,),
                   (chain.primes[0],), (1,), (0,), (1 << 60,)):  # fmt: skip
        altered = replace(client, chain=replace(chain, more_plain_moduli=moduli))
        with pytest.raises(FormatError):
            read_client(write_client(altered))
    without = replace(client, arguments=tuple(replace(a, ends=()) for a in client.arguments))
    with pytest.raises(FormatError, match="is of integers from"):
        read_client(write_client(without))
    plain = replace(client, chain=replace(chain, more_plain_moduli=()))
    with pytest.raises(FormatError, match="is of integers from"):
        read_client(write_client(plain))
    larger = replace(client, outputs=tuple(replace(o, magnitude=2.0**400) for o in client.outputs))
    with pytest.raises(FormatError, match="larger than what its plaintext moduli hold"):
        read_client(write_client(larger))
    with pytest.raises(FormatError, match="2 rows of slots"):
        read_client(write_client(replace(client, slot_rows=2)))


def test_two_compilations_do_not_mix(circuit, pairs):
    other = lw.compile(mixed, **{**SMALL, "plain_bits": 40})
    client, server = parties(other)
    sent = circuit[1].encrypt(x=1, v=[1, 1], w=1)
    with pytest.raises(ParameterMismatchError):
        server(sent)
    with pytest.raises((ParameterMismatchError, FormatError)):
        client.decrypt(circuit[2](sent))
    with pytest.raises(ParameterMismatchError):  # the same compilation, another secret key
        stranger = circuit[0].client(threads=1)
        stranger.keygen()
        stranger.decrypt(circuit[2](sent))


def test_ciphertexts_for_fewer_moduli_are_refused(circuit):
    _, client, server = circuit
    sent = client.encrypt(x=1, v=[1, 1], w=1)
    short = {name: array[:-1] for name, array in sent.tensors.items()}
    with pytest.raises(ShapeError, match="plaintext moduli"):
        server(replace(sent, tensors=short))
    results = server(sent)
    short = {name: array[:-1] for name, array in results.tensors.items()}
    with pytest.raises(ShapeError, match="ciphertexts, expected"):
        client.decrypt(replace(results, tensors=short))


def test_members_run_together(circuit):
    _, client, server = circuit
    given = [{"x": n, "v": [UNSIGNED, n & 7], "w": 0} for n in (LEAST, -1, MOST)]
    found = server.run_many([client.encrypt(**each) for each in given])
    for each, result in zip(given, found, strict=True):
        assert client.decrypt(result)["dot"].reveal().tolist() == mixed(**each)["dot"]


def test_a_simulated_device_gives_the_same_bytes(circuit):
    model, client = circuit[0], circuit[0].client(threads=1)
    keys = client.keygen().public()
    sent = client.encrypt(x=LEAST, v=[UNSIGNED, UNSIGNED], w=5)
    there, server = (model.server(keys, device=device, threads=1) for device in ("sim", "cpu"))
    assert client.decrypt(there(sent))["cube"].reveal() == mixed(LEAST, [0, 0], 5)["cube"]
    assert there(sent).to_bytes() == server(sent).to_bytes()


# -- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "error", "told"),
    [
        (MOST + 1, RangeError, f"is outside {LEAST} to {MOST}: give numbers in it"),
        (LEAST - 1, RangeError, "is outside"),
        (1 << 200, RangeError, "is outside"),
        (np.uint64(1 << 63), RangeError, "is outside"),
        (0.5, DtypeError, "is no integer"),
        (2.0**60, DtypeError, "is a float above 2\\^53, which holds no integer for certain"),
        (float("nan"), RangeError, "is NaN or infinite"),
        (float("inf"), RangeError, "is NaN or infinite"),
        ("7", DtypeError, "dtype <U1"),
        (1j, DtypeError, "complex"),
        (None, DtypeError, "NoneType"),
        ([[1], [2, 3]], DtypeError, "rows of different lengths"),
        (np.ma.masked_array([1], [True]), DtypeError, "masked"),
        ([], ShapeError, "has shape \\(0,\\)"),
        (np.zeros((2, 3), dtype=int), ShapeError, "has shape"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_inputs(circuit, x, error, told):
    model, client, _ = circuit
    with pytest.raises(error, match=told) as raised:
        client.encrypt(x=x, v=[0, 1], w=0)
    assert "input x" in str(raised.value) and "mixed" in str(raised.value)
    with pytest.raises(error):
        model.simulate(x=x, v=[0, 1], w=0)


def test_rows_that_do_not_fit_can_be_left_out(pairs):
    _, client, server = pairs
    check = client.check(x=[1, MOST + 1, -3], y=[2, 2, 2])
    assert check.rows == (1,) and not check.fits
    assert client.decrypt(server(client.encrypt(check.kept()))).reveal().tolist() == [2, -6]
    with pytest.raises(RangeError, match="cannot be clipped"):
        check.clipped()


def test_a_server_without_keys_says_what_is_missing(circuit):
    with pytest.raises(MissingKeyError, match="needs .* evaluation key"):
        circuit[0].server()


@pytest.mark.parametrize(
    "body",
    [
        lambda x: x < 3, lambda x: x == 3, lambda x: x % 8, lambda x: x >> 1, lambda x: abs(x), lambda x: ~x,
        lambda x: lw.table(x, [1, 2], low=0), lambda x: lw.minimum(x, 3), lambda x: lw.isin(x, [1]),
        lambda x: x.bit_count(), lambda x: x & 1,
    ],
)  # fmt: skip
def test_comparisons_bits_and_tables_are_refused(body):
    @lw.circuit
    def compared(x: lw.scalar()):
        return body(x)

    with pytest.raises(TraceError, match="integers=64 computes sums and products alone"):
        lw.compile(compared, **SMALL)


def test_digits_are_refused():
    @lw.circuit
    def digits(x: lw.bits(8)):
        return x + 1

    with pytest.raises(TraceError, match="lw.bits"):
        lw.compile(digits, **SMALL)


def test_a_bit_still_selects():
    @lw.circuit
    def chosen(bit: lw.scalar(low=0, high=1), a: lw.scalar(), b: lw.scalar()):
        return lw.select(bit, a, b)

    client, server = parties(lw.compile(chosen, **SMALL))
    assert [answers(client, server, bit=bit, a=LEAST, b=MOST).reveal() for bit in (0, 1)] == [MOST, LEAST]


@pytest.mark.parametrize(("low", "high"), [(0, 1 << 64), (LEAST - 1, 0), (0.25, 0.75)])
def test_ranges_beyond_64_bits(low, high):
    @lw.circuit
    def ranged(x: lw.scalar(low=low, high=high)):
        return x + 1

    with pytest.raises(RangeError, match="input x: low=.*takes whole numbers within"):
        lw.compile(ranged, **SMALL)


@pytest.mark.parametrize("constant", [1 << 53, (1 << 53) + 1, LEAST, UNSIGNED, UNSIGNED - 12345, -UNSIGNED])
def test_constants_of_64_bits(constant):
    """Public numbers are floats in vectors, which 2^53 + 1 would be rounded in."""

    @lw.circuit
    def factor(x: lw.scalar()):
        return x * constant

    client, server = parties(lw.compile(factor, **SMALL))
    for x in (LEAST, -1, MOST):
        assert answers(client, server, x=x).reveal() == x * constant


@pytest.mark.parametrize(
    "options", [SMALL, {**SMALL, "integers": None, "wraps": True, "plain_bits": 20}], ids=["wide", "t"]
)
def test_constants_that_come_together_beyond_53_bits(options):
    m = 1 << 53

    @lw.circuit
    def together(x: lw.scalar(low=-9, high=9)):
        return [(x + m) + 1, x + m - 3 + m, x * (m - 1) * (m - 1), x * m + x, (x + m) * 3 + 1]

    model = lw.compile(together, **options)
    for x in (-9, 0, 5):
        found, wanted = model.simulate(x=x), together(x)
        t = model.plan.chain.plain_modulus
        if options["integers"] is None:
            assert [int(each) % t for each in found] == [each % t for each in wanted]
        else:
            assert [int(each) for each in found] == wanted


@pytest.mark.parametrize("body", [lambda x: x * (1 << 65), lambda x: x + (1 << 61), lambda x: x - UNSIGNED])
def test_public_numbers_that_are_too_large(body):
    @lw.circuit
    def public(x: lw.scalar()):
        return body(x)

    with pytest.raises(RangeError, match="give it as an input, lw.scalar"):
        lw.compile(public, **SMALL)


def test_results_that_nothing_holds():
    @lw.circuit
    def power(x: lw.scalar()):
        return x**16

    with pytest.raises(RangeError, match="the result may be larger than 2\\^1000"):
        lw.compile(power, **SMALL)


def test_too_many_products_in_a_row():
    @lw.circuit
    def deep(x: lw.scalar(low=0, high=1)):
        for _ in range(40):
            x = x * x + 1 - x
        return x * 0 + x

    @lw.circuit
    def long(x: lw.scalar(low=-1, high=1), y: lw.scalar(low=-1, high=1)):
        for _ in range(60):
            x = x * y + x
            y = x * y
        return y

    for circuit in (deep, long):
        with pytest.raises((LevelError, RangeError)) as raised:
            lw.compile(circuit, scheme="bfv", integers=64)
        assert any(digit.isdigit() for digit in str(raised.value))


@pytest.mark.parametrize(
    "options",
    [
        {"integers": 65}, {"integers": 1}, {"integers": 0}, {"integers": -64}, {"integers": "64"}, {"integers": 64.0},
        {"integers": True}, {"plain_modulus": 65537}, {"wraps": True}, {"spare_levels": 1},
    ],
    ids=repr,
)  # fmt: skip
def test_options_that_contradict(options):
    with pytest.raises(UserError, match="integers="):
        lw.compile(product, **{**SMALL, **options})


def test_only_exact_circuits_take_it(circuit):
    with pytest.raises(UserError, match="integers= is for circuits under BFV"):
        lw.compile(product, integers=64)
    with pytest.raises(UserError, match="integers=.*leave like= out"):
        lw.compile(product, scheme="bfv", like=circuit[0])
    with pytest.raises(UserError, match="integers="):
        lw.compile(product, **SMALL, like=circuit[0])


def test_what_one_modulus_alone_has_is_refused(circuit, tmp_path):
    model, client, server = circuit
    with pytest.raises(UserError, match="debug"):
        model.debug(x=1, v=[1, 1], w=1, client=client)
    with pytest.raises(UserError, match="checkpoint="):
        server(client.encrypt(x=1, v=[1, 1], w=1), checkpoint=tmp_path / "c")
    with pytest.raises(LayoutError, match="integers="):
        model.lanes("cube")
    with pytest.raises(UserError, match="prepared="):
        model.prepare(tmp_path / "p")
    with pytest.raises(UnsupportedError, match="integers="):
        model.export("openfhe", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_reports_tell_the_moduli(circuit):
    model = circuit[0]
    assert "plaintext moduli" in repr(model) and "plaintext moduli" in str(model.report())
    one = model.plan.modulo(0)
    assert (
        model.costs().client.input_bytes
        == len(model.plan.chain.plain_moduli) * lw.Model(one).costs().client.input_bytes
    )
    assert read_plan(write_plan(model.plan)).client == model.plan.client


def test_quotes_know_circuits_without_keys():
    quoted = lw.quote(product, batch="fill", **SMALL)
    assert [price.key_bytes for price in quoted.prices] == [0] * len(quoted.prices)
    assert all(price.seconds for price in quoted.prices)
