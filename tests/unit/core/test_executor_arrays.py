"""Hand-written plans on arrays of ciphertexts: what they compute, hold and show, and what the decoder refuses."""

import gc
import signal

import numpy as np
import pytest
from plan_assembler import Assembler, Last, cipher, plain
from rlwe_cases import SCALE, galois, make_case, plain_parameters, random_slots, shared_case, spec, to_bytes

from latticework import _core
from latticework.errors import FormatError, ShapeError

TOP, SLOTS = 4, 64


@pytest.fixture
def case():
    return shared_case("plain")


@pytest.fixture
def rng():
    return np.random.default_rng(29)


def array(count, level=TOP, **fields):
    """The type of an array of ciphertexts."""
    return [*cipher(level, **fields), count]


def executor(case, assembler, constants=None, **options):
    return _core.Executor(case.context, assembler.plan(case.parameters), case.keys, constants, **options)


def decrypted(case, value):
    """(count, slots)."""
    return np.stack([case.decryptor.decrypt(c) for c in (value if isinstance(value, list) else [value])])


def encrypted(case, values):
    return [case.encrypt(v) for v in values]


def test_instructions_act_on_whole_arrays(case, rng):
    """Sums in pairs of (3 x - y) rotated, where y is one ciphertext, then the last and the first of them."""
    a = Assembler([spec("galois", galois(1, case.n), TOP)])
    b = a.block(array(4), cipher(TOP))
    x, y = b.args
    turn = b.op("key", [], ["key", 0], 0)
    z = b.op("sub", [b.op("mul_int", [x], array(4), 3), y], array(4))
    z = b.op("rotate", [Last(z), turn], array(4))
    pairs = b.op("sum", [z], array(2), 2)
    swapped = b.op("take", [pairs], array(2), 1, 0)
    b.yield_(swapped, b.op("concat", [swapped, y], array(3)))
    xs, ys = rng.uniform(-1, 1, (4, SLOTS)), rng.uniform(-1, 1, (1, SLOTS))
    outputs = executor(case, a).run([encrypted(case, xs), case.encrypt(ys[0])])
    want = np.roll(3 * xs - ys, -1, axis=1).reshape(2, 2, SLOTS).sum(axis=1)[::-1]
    np.testing.assert_allclose(decrypted(case, outputs[0]), want, atol=1e-6)
    np.testing.assert_allclose(decrypted(case, outputs[1]), np.concatenate([want, ys]), atol=1e-6)


@pytest.mark.parametrize("first", [1, 2])
def test_one_constant_as_one_vector_and_as_several(case, rng, first):
    """The numbers of a constant fill as many vectors as each of its uses says."""
    a = Assembler(constants=1)
    b = a.block(cipher(TOP), array(2))
    x, y = b.args
    uses = {}
    for count in (first, 3 - first):
        kind = plain(TOP) if count == 1 else [*plain(TOP), 2]
        result = cipher(TOP, scale=SCALE**2) if count == 1 else array(2, scale=SCALE**2)
        uses[count] = b.op("mul_plain", [x if count == 1 else y, b.op("encode", [], kind, 0)], result)
    b.yield_(uses[1], uses[2])
    w, one = rng.uniform(-1, 1, SLOTS), np.ones(SLOTS)
    outputs = executor(case, a, lambda _: w.astype(complex)).run([case.encrypt(one), encrypted(case, [one, one])])
    np.testing.assert_allclose(decrypted(case, outputs[0])[0], w, atol=1e-6)
    halves = np.tile(w.reshape(2, 1, SLOTS // 2), (1, 2, 1)).reshape(2, SLOTS)
    np.testing.assert_allclose(decrypted(case, outputs[1]), halves, atol=1e-6)


def test_a_dot_is_the_sum_of_products_to_the_last_bit(case, rng):
    wide = array(3, scale=SCALE**2, degree=2)
    whole, single = cipher(TOP, scale=SCALE**2, degree=2), cipher(TOP, scale=SCALE**2)
    a = Assembler(constants=1)
    b = a.block(array(3), array(3))
    x, y = b.args
    weights = b.op("encode", [], [*plain(TOP), 3], 0)
    b.yield_(
        b.op("sum", [b.op("mul", [x, y], wide)], whole, 1),
        b.op("dot", [x, y], whole, 1),
        b.op("sum", [b.op("mul_plain", [x, weights], array(3, scale=SCALE**2))], single, 1),
        b.op("dot", [x, weights], single, 1),
    )
    w = np.stack([random_slots(rng, SLOTS) for _ in range(3)])
    inputs = [encrypted(case, rng.uniform(-1, 1, (3, SLOTS))) for _ in range(2)]
    outputs = executor(case, a, lambda _: w.reshape(-1)).run(inputs)
    assert to_bytes(outputs[0]) == to_bytes(outputs[1]) and to_bytes(outputs[2]) == to_bytes(outputs[3])
    want = (decrypted(case, inputs[0]) * w).sum(axis=0, keepdims=True)
    np.testing.assert_allclose(decrypted(case, outputs[3]), want, atol=1e-6)


def test_watched_arrays_are_lists(case, rng):
    a = Assembler()
    b = a.block(array(2))
    b.yield_(b.op("neg", [b.args[0]], array(2)))
    seen, values = [], rng.uniform(-1, 1, (2, SLOTS))
    executor(case, a).run([encrypted(case, values)], watch=list(b.args), on_watch=lambda *pair: seen.append(pair))
    ((register, value),) = seen
    assert register == b.args[0]
    np.testing.assert_allclose(decrypted(case, value), values, atol=1e-6)


def test_other_numbers_of_ciphertexts_are_refused(case):
    a = Assembler()
    b = a.block(array(2))
    b.yield_(b.args[0])
    one = case.encrypt(np.ones(SLOTS))
    for given, told in ((one, "1 ciphertexts; the plan takes 2"), ([one] * 3, "3 ciphertexts; the plan takes 2")):
        with pytest.raises(ShapeError, match=told):
            executor(case, a).run([given])
    with pytest.raises(ShapeError, match="input 0 is at level|slots"):
        executor(case, a).run([[one, case.encrypt(np.ones(8))]])


# Memory


def test_what_is_not_taken_is_freed():
    """Of an array whose last use is a take, only what is taken stays."""
    case = make_case(plain_parameters())
    a = Assembler()
    b = a.block(array(6))
    made = b.op("neg", [b.args[0]], array(6))
    b.yield_(b.op("take", [Last(made)], cipher(TOP), 2))
    inputs = encrypted(case, np.ones((6, SLOTS)))
    before = case.context.live_bytes
    outputs = executor(case, a).run([inputs])
    assert case.context.live_bytes - before == inputs[0].num_bytes
    assert len(outputs) == 1


@pytest.mark.parametrize("op", ["mod_down", "rotate"])
def test_the_vectors_of_an_operand_are_given_up_one_by_one(op):
    """The peak is that of one array, one vector more and the scratch, not of two arrays."""
    case = make_case(plain_parameters())
    a = Assembler([spec("galois", galois(1, case.n), TOP)])
    b = a.block(array(16))
    low = array(16, TOP - 1, scale=SCALE**2 / case.group_product(TOP))
    made = b.op("mul_int", [b.args[0]], array(16, scale=SCALE**2), 1)
    if op == "rotate":
        turned = b.op("rotate", [Last(made), b.op("key", [], ["key", 0], 0)], array(16, scale=SCALE**2))
    else:
        turned = b.op("mod_down", [Last(made)], low)
    b.yield_(turned)
    inputs = encrypted(case, np.ones((16, SLOTS)))
    program = executor(case, a)
    before = case.context.live_bytes
    case.context.reset_peak()
    program.run([inputs])
    assert case.context.peak_bytes - before < 24 * inputs[0].num_bytes


def test_a_signal_ends_a_long_instruction(case):
    """Between the ciphertexts of an array too."""

    def handler(*_):
        raise InterruptedError("stop")

    a = Assembler([spec("galois", galois(1, case.n), TOP)])
    b = a.block(cipher(TOP))
    many = b.op("take", [b.args[0]], array(1 << 16), *[0] * (1 << 16))
    b.yield_(b.op("rotate", [many, b.op("key", [], ["key", 0], 0)], array(1 << 16)))
    program, x = executor(case, a), case.encrypt(np.ones(SLOTS))
    before = case.context.live_bytes
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(InterruptedError):
            program.run([x])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    gc.collect()
    assert case.context.live_bytes == before


# Block maps


def map_plan(case, num_sums):
    """Sums of products of two inputs, themselves, turned by 1 and by -3."""
    a = Assembler([spec("galois", galois(s, case.n), TOP) for s in (1, -3)], constants=1)
    b = a.block(array(2))
    keys = [b.op("key", [], ["key", i], i) for i in range(2)]
    sums = b.op("map_sums", [b.args[0], *keys], array(num_sums, scale=SCALE**2, basis=1), 0)
    q = case.group_product(TOP)
    b.yield_(b.op("mod_down", [sums], array(num_sums, TOP - 1, scale=SCALE**2 / q)))
    return a


ROWS = np.array([[0, 0, 0], [1, 2, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 2, 2]])


def map_runs(case, rng, **options):
    weights = rng.uniform(-1, 1, (len(ROWS), SLOTS))
    asked = []

    def constants(number, product):
        asked.append(product)
        return weights[product]

    program = executor(case, map_plan(case, 3), constants, products=lambda _: ROWS, **options)
    values = rng.uniform(-1, 1, (2, SLOTS))
    inputs = encrypted(case, values)
    babies = [values, np.roll(values, -1, axis=1), np.roll(values, 3, axis=1)]
    want = np.zeros((3, SLOTS))
    for (in_, baby, group), w in zip(ROWS, weights, strict=True):
        want[group] += w * babies[baby][in_]
    return program, inputs, want, asked


def test_block_maps_sum_turned_inputs(case, rng):
    program, inputs, want, asked = map_runs(case, rng)
    (outputs,) = program.run([inputs])
    np.testing.assert_allclose(decrypted(case, outputs), want, atol=1e-6)
    program.run([inputs])
    assert sorted(asked) == list(range(len(ROWS)))  # each once: then they are cached


@pytest.mark.parametrize("plaintexts", [0, 1, 2, 4])
def test_a_budget_changes_what_is_held_and_not_the_result(case, plaintexts):
    one = case.encoder.encode([1.0], (0, TOP), SCALE, "QP").num_bytes
    program, inputs, _, asked = map_runs(case, np.random.default_rng(3), constant_budget_bytes=plaintexts * one)
    free, _, _, _ = map_runs(case, np.random.default_rng(3))
    assert to_bytes(*program.run([inputs])[0]) == to_bytes(*free.run([inputs])[0])
    program.run([inputs])
    rounded = 8 * 2 * SLOTS  # at most
    assert len(asked) <= 2 * (len(ROWS) + (plaintexts == 0)) - min(len(ROWS), plaintexts * one // rounded)
    assert program.cached_constant_bytes <= plaintexts * one


@pytest.mark.parametrize("plaintexts", [0, 1, 2, 4, 64])
def test_sums_that_transform_coefficients_give_the_same_bytes(case, plaintexts):
    one = case.encoder.encode([1.0], (0, TOP), SCALE, "QP").num_bytes
    free, inputs, _, _ = map_runs(case, np.random.default_rng(3))
    wanted = to_bytes(*free.run([inputs])[0])
    late, _, _, _ = map_runs(case, np.random.default_rng(3), constant_budget_bytes=plaintexts * one, lifts_late=True)
    for _ in range(2):
        assert to_bytes(*late.run([inputs])[0]) == wanted
        assert late.cached_constant_bytes <= plaintexts * one


def test_block_maps_without_turns_stay_over_q(case, rng):
    a = Assembler(constants=1)
    b = a.block(array(2))
    b.yield_(b.op("map_sums", [b.args[0]], array(2, scale=SCALE**2), 0))
    rows = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1]])
    weights, values = rng.uniform(-1, 1, (3, SLOTS)), rng.uniform(-1, 1, (2, SLOTS))
    one = case.encoder.encode([1.0], (0, TOP), SCALE).num_bytes
    for budget in (0, 4 * one):
        program = executor(
            case, a, lambda _, product: weights[product], products=lambda _: rows, constant_budget_bytes=budget
        )
        (outputs,) = program.run([encrypted(case, values)])
        want = np.stack([weights[0] * values[0] + weights[1] * values[1], weights[2] * values[1]])
        np.testing.assert_allclose(decrypted(case, outputs), want, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[2, 0, 0]], "product of input 2, baby 0 and sum 0"),
        ([[0, 3, 0]], "product of input 0, baby 3 and sum 0"),
        ([[0, 0, 3]], "product of input 0, baby 0 and sum 3"),
        ([[0, 0, 0], [0, 1, 2]], "no product for sum 1"),
        (np.zeros((0, 3)), "no product for sum 0"),
    ],
)
def test_products_that_the_plan_lacks_are_refused(case, rows, told):
    program = executor(case, map_plan(case, 3), lambda *_: np.ones(SLOTS), products=lambda _: np.array(rows))
    with pytest.raises(FormatError, match=told):
        program.run([encrypted(case, np.ones((2, SLOTS)))])


def test_a_block_map_needs_a_source_of_products(case):
    with pytest.raises(ValueError, match="the plan has block maps, but no source"):
        executor(case, map_plan(case, 3), lambda *_: np.ones(SLOTS)).run([encrypted(case, np.ones((2, SLOTS)))])


# What the decoder refuses

X = 0  # the register of the argument: an array of four

REJECTED = {
    "empty array": (lambda b: b.op("neg", [X], array(0)), "must not be empty"),
    "count that is none": (lambda b: b.op("neg", [X], [*array(4)[:-1], -1]), "expected"),
    "huge array": (lambda b: b.op("neg", [X], array(1 << 20)), "65536|expected"),
    "other count": (lambda b: b.op("neg", [X], array(3)), "stated as cipher\\(3 x 64 slots"),
    "counts that do not meet": (
        lambda b: b.op("add", [X, b.op("take", [X], array(3), 0, 1, 2)], array(4)), "arrays of different sizes"),
    "products that do not meet": (
        lambda b: b.op("mul", [X, b.op("take", [X], array(3), 0, 1, 2)], array(4)), "arrays of different sizes"),
    "take of nothing": (lambda b: b.op("take", [X], array(4)), "stated as"),
    "take outside": (lambda b: b.op("take", [X], array(1), 4), "no ciphertext 4 of 4"),
    "take before": (lambda b: b.op("take", [X], array(1), -1), "no ciphertext -1 of 4"),
    "take of another number": (lambda b: b.op("take", [X], array(2), 1), "stated as"),
    "concat of nothing": (lambda b: b.op("concat", [], array(1)), "needs arrays"),
    "concat of other levels": (
        lambda b: b.op("concat", [X, b.op("drop_level", [X], array(4, 1))], array(8)), "different types"),
    "concat of another number": (lambda b: b.op("concat", [X, X], array(4)), "stated as"),
    "concat of a constant": (lambda b: b.op("concat", [X, b.op("encode", [], plain(TOP), 0)], array(5)), "different"),
    "uneven groups": (lambda b: b.op("sum", [X], array(3), 3), "4 ciphertexts do not make 3 groups"),
    "no groups": (lambda b: b.op("sum", [X], array(1), 0), "do not make 0 groups"),
    "dot of one": (lambda b: b.op("dot", [X], array(1, scale=SCALE**2, degree=2), 1), "needs a cipher, and"),
    "dot of a sum": (lambda b: b.op("dot", [X, X], array(3, scale=SCALE**2, degree=2), 3), "do not make 3 groups"),
    "dot of another scale": (lambda b: b.op("dot", [X, X], array(1, degree=2), 1), "stated as"),
    "map of no constant": (lambda b: b.op("map_sums", [X], array(2), 7), "no constant 7"),
    "map over QP": (lambda b: b.op("map_sums", [X], array(2, basis=1), 0), "stated as"),
    "map of a constant": (lambda b: b.op("map_sums", [b.op("encode", [], plain(TOP), 0)], array(2), 0), "needs an array"),
    "map by a cipher": (lambda b: b.op("map_sums", [X, X], array(2, basis=1), 0), "operand 1 is not a key"),
    "map by a relinearisation": (
        lambda b: b.op("map_sums", [X, b.op("key", [], ["key", 0], 0)], array(2, basis=1), 0), "needs a galois key"),
}  # fmt: skip


@pytest.mark.parametrize("name", REJECTED)
def test_bad_arrays_are_refused(name):
    write, told = REJECTED[name]
    a = Assembler([spec("relin", 0, TOP)], constants=1)
    b = a.block(array(4))
    write(b)
    b.yield_(X)
    with pytest.raises(FormatError, match=told):
        a.plan(plain_parameters())
