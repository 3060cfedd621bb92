"""Hand-written plans: what they compute, what they free, what they refuse, and when."""

import copy
import gc
import itertools
import math
import os
import signal
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from plan_assembler import INDEX, OPCODES, Assembler, Last, cipher, digits, plain
from rlwe_cases import (
    SCALE,
    galois,
    grouped_parameters,
    make_case,
    plain_parameters,
    random_slots,
    shared_case,
    spec,
    to_bytes,
)

from latticework import _core
from latticework.errors import (
    FormatError,
    LevelError,
    MissingKeyError,
    ParameterMismatchError,
    RangeError,
    ScaleError,
    ShapeError,
)

TOP = 4
SLOTS = 64


@pytest.fixture
def case():
    return shared_case("plain")


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def executor(case, assembler: Assembler, constants=None, **options) -> _core.Executor:
    return _core.Executor(case.context, assembler.plan(case.parameters), case.keys, constants, **options)


def run(case, assembler: Assembler, inputs: list, constants=None, **options) -> list[np.ndarray]:
    outputs = executor(case, assembler, constants).run(inputs, **options)
    return [case.decryptor.decrypt(y) for y in outputs]


# What plans compute


def test_every_cipher_opcode_in_one_line(case, rng):
    """Rescaled square minus a rotation, plus constants: against NumPy."""
    q = case.group_product(TOP)
    square_scale = SCALE * SCALE / q
    a = Assembler([spec("relin", 0, TOP), spec("galois", galois(1, case.n), TOP)], constants=2)
    b = a.block(cipher(TOP))
    (x,) = b.args
    relin, turn = b.op("key", [], ["key", 0], 0), b.op("key", [], ["key", 1], 1)
    squared = b.op("square", [x], cipher(TOP, scale=SCALE**2, degree=2))
    squared = b.op("relinearize", [squared, relin], cipher(TOP, scale=SCALE**2))
    squared = b.op("mod_down", [squared], cipher(TOP - 1, scale=square_scale))
    product = b.op("mul", [x, x], cipher(TOP, scale=SCALE**2, degree=2))
    hoisted = b.op("hoist", [product], digits(TOP, scale=SCALE**2, degree=2))
    product = b.op("key_product", [hoisted, relin], cipher(TOP, scale=SCALE**2, basis=1))
    product = b.op("mod_down", [product], cipher(TOP - 1, scale=square_scale))
    total = b.op("add", [squared, product], cipher(TOP - 1, scale=square_scale))
    turned = b.op("rotate", [x, turn], cipher(TOP))
    weight = b.op("encode", [], plain(TOP, scale=float(q)), 0)
    turned = b.op("mul_plain", [turned, weight], cipher(TOP, scale=SCALE * q))
    turned = b.op("mod_down", [turned], cipher(TOP - 1))
    turned = b.op("relabel", [turned], cipher(TOP - 1, scale=square_scale))
    total = b.op("sub", [total, turned], cipher(TOP - 1, scale=square_scale))
    offset = b.op("encode", [], plain(TOP - 1, scale=square_scale), 1)
    total = b.op("add_plain", [total, offset], cipher(TOP - 1, scale=square_scale))
    again = b.op("trivial", [offset], cipher(TOP - 1, scale=square_scale))
    total = b.op("sub", [total, again], cipher(TOP - 1, scale=square_scale))
    total = b.op("sub_plain", [total, offset], cipher(TOP - 1, scale=square_scale))
    total = b.op("neg", [total], cipher(TOP - 1, scale=square_scale))
    total = b.op("mul_int", [total], cipher(TOP - 1, scale=square_scale), 3)
    total = b.op("add_int", [total], cipher(TOP - 1, scale=square_scale), round(square_scale / 2))
    total = b.op("drop_level", [total], cipher(1, scale=square_scale))
    b.yield_(total)

    values, constants = random_slots(rng, SLOTS), [random_slots(rng, SLOTS), random_slots(rng, SLOTS)]
    (result,) = run(case, a, [case.encrypt(values)], constants.__getitem__)
    label = SCALE / square_scale
    expected = -3 * (2 * values**2 - np.roll(values, -1) * constants[0] * label - constants[1]) + 0.5
    np.testing.assert_allclose(result, expected, atol=1e-6)


def loop_of_rotations(case, max_trip: int = 10) -> Assembler:
    """total = x + rot(x, 1) + rot(x, 2) + ... with as many rotations as the second input says."""
    a = Assembler([spec("galois", galois(1, case.n), TOP)])
    b = a.block(cipher(TOP), INDEX)
    x, trip = b.args
    key = b.op("key", [], ["key", 0], 0)
    body = a.block(INDEX, cipher(TOP), cipher(TOP))
    _, total, turned = body.args
    turned = body.op("rotate", [Last(turned), key], cipher(TOP))
    body.yield_(body.op("add", [Last(total), turned], cipher(TOP)), Last(turned))
    total, _ = b.emit("for", [trip, x, Last(x)], [cipher(TOP), cipher(TOP)], (body.number, max_trip))
    b.yield_(total)
    return a


@pytest.mark.parametrize("trip", [0, 1, 5])
def test_loop_with_a_run_time_trip_count(case, rng, trip):
    values = random_slots(rng, SLOTS)
    (result,) = run(case, loop_of_rotations(case), [case.encrypt(values), trip])
    np.testing.assert_allclose(result, sum(np.roll(values, -k) for k in range(trip + 1)), atol=1e-6)


def test_nested_loops_branches_and_index_arithmetic(case, rng):
    """for i < n: for j < min(i, 2): x = j < 1 ? x + y : x - 3 y, the y read from outside."""
    a = Assembler()
    b = a.block(cipher(2), cipher(2), INDEX)
    x, y, trip = b.args
    two = b.op("iconst", [], INDEX, 2)
    outer, inner = a.block(INDEX, cipher(2)), a.block(INDEX, cipher(2))
    then, otherwise = a.block(cipher(2)), a.block(cipher(2))
    then.yield_(then.op("add", [Last(then.args[0]), y], cipher(2)))
    three = otherwise.op("mul_int", [y], cipher(2), 3)
    otherwise.yield_(otherwise.op("sub", [otherwise.args[0], three], cipher(2)))
    one = inner.op("iconst", [], INDEX, 1)
    less = inner.op("ilt", [inner.args[0], one], INDEX)
    inner.yield_(inner.emit("if", [less, Last(inner.args[1])], [cipher(2)], (then.number, otherwise.number))[0])
    count = outer.op("imin", [outer.args[0], two], INDEX)
    outer.yield_(outer.emit("for", [count, Last(outer.args[1])], [cipher(2)], (inner.number, 2))[0])
    double = b.op("imul", [trip, two], INDEX)
    bound = b.op("isub", [double, trip], INDEX)
    zero = b.op("isub", [trip, trip], INDEX)
    b.yield_(b.emit("for", [b.op("iadd", [bound, zero], INDEX), x], [cipher(2)], (outer.number, 100))[0])

    x_values, y_values = random_slots(rng, SLOTS), random_slots(rng, SLOTS)
    expected = x_values
    for i in range(4):
        for j in range(min(i, 2)):
            expected = expected + y_values if j < 1 else expected - 3 * y_values
    inputs = [case.encrypt(x_values, 2), case.encrypt(y_values, 2), 4]
    np.testing.assert_allclose(run(case, a, inputs)[0], expected, atol=1e-6)


@pytest.mark.parametrize("number", [0, 1, 6, 7, 8, -1, -7, -8])
def test_an_index_is_divided_rounding_down(case, rng, number):
    """x added so often to itself, counted from 3."""
    a = Assembler()
    b, body = a.block(cipher(1), INDEX), a.block(INDEX, cipher(1))
    x, given = b.args
    body.yield_(body.op("add", [Last(body.args[1]), x], cipher(1)))
    three = b.op("iconst", [], INDEX, 3)
    trips = b.op("iadd", [b.op("idiv", [given], INDEX, 7), three], INDEX)
    b.yield_(b.emit("for", [trips, x], [cipher(1)], (body.number, 9))[0])
    values = random_slots(rng, SLOTS)
    (result,) = run(case, a, [case.encrypt(values, 1), number])
    np.testing.assert_allclose(result, values * (4 + number // 7), atol=1e-6)


@pytest.mark.parametrize("condition", [0, 1, -5])
def test_both_branches_may_use_up_the_same_value(case, rng, condition):
    a = Assembler()
    b = a.block(cipher(1), INDEX)
    x, chosen = b.args
    then, otherwise = a.block(), a.block()
    then.yield_(Last(x))
    otherwise.yield_(otherwise.op("neg", [Last(x)], cipher(1)))
    b.yield_(b.emit("if", [chosen], [cipher(1)], (then.number, otherwise.number))[0])
    values = random_slots(rng, SLOTS)
    (result,) = run(case, a, [case.encrypt(values, 1), condition])
    np.testing.assert_allclose(result, values if condition else -values, atol=1e-7)


def test_two_prime_levels(rng):
    case = shared_case("grouped")
    q = case.group_product(2)
    a = Assembler(constants=1)
    b = a.block(cipher(2))
    weight = b.op("encode", [], plain(2, scale=float(q)), 0)
    product = b.op("mul_plain", [b.args[0], weight], cipher(2, scale=SCALE * q))
    b.yield_(b.op("mod_down", [product], cipher(1)))
    values, weights = random_slots(rng, SLOTS), random_slots(rng, SLOTS)
    (result,) = run(case, a, [case.encrypt(values, 2)], lambda _: weights)
    np.testing.assert_allclose(result, values * weights, atol=1e-7)


def test_runs_are_deterministic(case, rng):
    x, program = case.encrypt(random_slots(rng, SLOTS)), executor(case, loop_of_rotations(case))
    assert to_bytes(*program.run([x, 3])) == to_bytes(*program.run([x, 3]))


# Constants


def two_constants_alternating(times: int) -> Assembler:
    a = Assembler(constants=2)
    b = a.block(cipher(0))
    total = b.args[0]
    for i in range(times):
        total = b.op("add_plain", [total, b.op("encode", [], plain(0), i % 2)], cipher(0))
    b.yield_(total)
    return a


@pytest.mark.parametrize(
    ("kept", "calls_of_first_run", "calls_of_both"), [(0, 6, 12), (0.9, 2, 2), (1, 2, 2), (4, 2, 2)]
)
def test_constants_are_encoded_lazily_within_the_budget(case, kept, calls_of_first_run, calls_of_both):
    calls = []

    def constants(i: int) -> np.ndarray:
        calls.append(i)
        return np.full(1, i + 1.0)  # one value stands for all slots

    one = case.encoder.encode([1.0], (0, 0), SCALE).num_bytes
    budget = int(kept * one)
    program = executor(case, two_constants_alternating(6), constants, constant_budget_bytes=budget)
    assert calls == []
    for expected in (calls_of_first_run, calls_of_both):
        (result,) = program.run([case.encrypt(np.zeros(SLOTS), 0)])
        np.testing.assert_allclose(case.decryptor.decrypt(result), np.full(SLOTS, 9), atol=1e-7)
        assert len(calls) == expected
        held = program.cached_constant_bytes
        assert held <= budget and (held > 2 * one) == (kept > 2)  # rounded ones are small beside what is lifted of them


def test_bad_constants_name_themselves(case):
    x = case.encrypt(np.zeros(SLOTS), 0)
    with pytest.raises(ShapeError, match=r"block 0, instruction 0 \(encode\): constant 0 has 48 values"):
        run(case, two_constants_alternating(1), [x], lambda _: np.zeros(48))
    with pytest.raises(RangeError, match=r"\(encode\): encode: a value is not finite"):
        run(case, two_constants_alternating(1), [x], lambda _: np.full(SLOTS, np.nan))
    with pytest.raises(ValueError, match="no source"):
        run(case, two_constants_alternating(1), [x])
    with pytest.raises(ZeroDivisionError):
        run(case, two_constants_alternating(1), [x], lambda i: 1 / i)


def test_a_source_that_holds_its_executor_is_collected(case):
    class Holder:
        def constant(self, i: int) -> np.ndarray:
            return np.zeros(SLOTS)

    holder = Holder()
    holder.executor = executor(case, two_constants_alternating(1), holder.constant)
    watcher = weakref.ref(holder)
    del holder
    gc.collect()
    assert watcher() is None


# Before any work


def test_missing_keys_are_named_with_their_steps(case):
    asked = [galois(1, case.n), galois(7, case.n), galois(-20, case.n)]
    a = Assembler([spec("galois", element, TOP) for element in asked])
    b = a.block(cipher(TOP))
    b.yield_(b.args[0])
    with pytest.raises(MissingKeyError) as error:
        executor(case, a)
    assert "rotation by 7 steps" in str(error.value) and "rotation by -20 steps" in str(error.value)
    assert "rotation by 1 steps" not in str(error.value)
    low = _core.KeyGenerator(case.context).evaluation_keys(case.secret_key, [spec("galois", asked[0], TOP - 1)])
    with pytest.raises(MissingKeyError, match=r"rotation by 1 steps\) at level 4"):
        _core.Executor(
            case.context, Assembler([spec("galois", asked[0], TOP)], 0, *_identity()).plan(case.parameters), low
        )


def _identity() -> tuple[list, list, list]:
    a = Assembler()
    b = a.block(cipher(TOP))
    b.yield_(b.args[0])
    return a.types, a.registers, a.blocks


def test_plan_and_keys_of_other_parameters_are_refused(case):
    other = shared_case("grouped")
    a = Assembler([], 0, *_identity())
    with pytest.raises(ParameterMismatchError, match="the key set"):
        _core.Executor(case.context, a.plan(case.parameters), other.keys)
    a = Assembler()
    b = a.block(cipher(1))
    b.yield_(b.args[0])
    with pytest.raises(ParameterMismatchError, match="the plan"):
        _core.Executor(case.context, a.plan(grouped_parameters()), case.keys)


def test_inputs_are_checked_before_any_work(case):
    program = executor(case, loop_of_rotations(case, max_trip=3))
    x, events = case.encrypt(np.ones(SLOTS)), []
    other = make_case(case.parameters)
    rows = [
        ([x], ShapeError, "1 inputs given, the plan takes 2"),
        ([x, x], ShapeError, "input 1 must be an integer"),
        ([1, 1], ShapeError, "input 0 must be a ciphertext"),
        ([x, 4], RangeError, "trip count of 4, not between 0 and 3"),
        ([x, -1], RangeError, "-1"),
        ([case.encrypt(np.ones(SLOTS), 1), 1], LevelError, "input 0 is at level 1 of track 0"),
        ([case.encrypt(np.ones(SLOTS), scale=SCALE * 1.001), 1], ScaleError, "scale"),
        ([case.encrypt(np.ones(8)), 1], ShapeError, "8 slots"),
        ([case.evaluator.relabel(case.evaluator.square(x), (0, TOP), SCALE, SLOTS), 1], ShapeError, "degree 2"),
        ([other.encrypt(np.ones(SLOTS)), 1], ParameterMismatchError, "key set"),
        ([shared_case("grouped").encrypt(np.ones(SLOTS)), 1], ParameterMismatchError, "parameters"),
    ]
    for inputs, error, message in rows:
        with pytest.raises(error, match=message):
            program.run(inputs, on_event=lambda *event: events.append(event))
    with pytest.raises(ValueError, match="register 1 holds no ciphertext"):
        program.run([x, 1], watch=[1])
    with pytest.raises(ValueError, match="register 99"):
        program.run([x, 1], watch=[99])
    assert events == []


def test_computed_trip_count_is_checked_at_its_loop(case):
    a = Assembler()
    b = a.block(cipher(0), INDEX)
    body = a.block(INDEX, cipher(0))
    body.yield_(body.args[1])
    count = b.op("iadd", [b.args[1], b.args[1]], INDEX)
    b.yield_(b.emit("for", [count, b.args[0]], [cipher(0)], (body.number, 5))[0])
    x = case.encrypt(np.ones(SLOTS), 0)
    run(case, a, [x, 2])
    with pytest.raises(RangeError, match="trip count 6 is not between 0 and 5"):
        run(case, a, [x, 3])


# What is seen of a run


def test_events_tell_the_story_in_order(case):
    events = []
    executor(case, loop_of_rotations(case)).run(
        [case.encrypt(np.ones(SLOTS)), 2], on_event=lambda *event: events.append(event)
    )
    assert [event[:4] for event in events] == [
        ("key", 0, 0, -1),
        ("rotate", 1, 0, TOP),
        ("add", 1, 1, TOP),
        ("rotate", 1, 0, TOP),
        ("add", 1, 1, TOP),
        ("for", 0, 1, TOP),
    ]
    assert all(start <= end for *_, start, end in events)
    inner = events[1:-1]
    assert all(a[5] <= b[4] for a, b in itertools.pairwise(inner))
    assert events[-1][4] <= inner[0][4] and inner[-1][5] <= events[-1][5]


def test_watched_registers_show_every_value(case, rng):
    values, seen = random_slots(rng, SLOTS), []
    a = loop_of_rotations(case)
    total = a.blocks[1]["args"][1]
    executor(case, a).run([case.encrypt(values), 3], watch=[total], on_watch=lambda *pair: seen.append(pair))
    assert [register for register, _ in seen] == [total] * 3
    for k, (_, ciphertext) in enumerate(seen):
        expected = sum(np.roll(values, -i) for i in range(k + 1))
        np.testing.assert_allclose(case.decryptor.decrypt(ciphertext), expected, atol=1e-6)


# Memory


def chain_of_negations(length: int, mark: bool) -> Assembler:
    a = Assembler()
    b = a.block(cipher(TOP))
    x = b.args[0]
    for _ in range(length):
        x = b.op("neg", [Last(x) if mark else x], cipher(TOP))
    b.yield_(x)
    return a


@pytest.mark.parametrize("mark", [True, False])
def test_registers_are_freed_after_their_last_use(mark):
    case = make_case(plain_parameters())
    x = case.encrypt(np.ones(SLOTS))
    program = executor(case, chain_of_negations(50, mark))
    before = case.context.live_bytes
    case.context.reset_peak()
    outputs = program.run([x])
    assert case.context.peak_bytes - before <= 2 * x.num_bytes
    assert case.context.live_bytes - before == x.num_bytes
    del outputs
    assert case.context.live_bytes == before


def test_loops_hold_no_more_than_their_values():
    case = make_case(plain_parameters())
    x = case.encrypt(np.ones(SLOTS))
    program = executor(case, loop_of_rotations(case, max_trip=50))
    peaks = []
    for trip in (2, 50):
        case.context.reset_peak()
        program.run([x, trip])
        peaks.append(case.context.peak_bytes)
    assert peaks[0] == peaks[1]


def test_values_outlive_the_contexts_they_came_from():
    """Keys and inputs of a client whose objects are gone, in a server's context."""
    client = make_case(plain_parameters())
    server = _core.Context(plain_parameters(), threads=1)
    a = Assembler([spec("galois", galois(1, client.n), TOP)])
    b = a.block(cipher(TOP))
    turned = b.op("rotate", [b.args[0], b.op("key", [], ["key", 0], 0)], cipher(TOP))
    b.yield_(b.args[0], turned)
    program = _core.Executor(server, a.plan(plain_parameters()), client.keys)
    inputs, decryptor, values = [client.encrypt(np.arange(64.0))], client.decryptor, np.arange(64.0)
    del client
    same, turned = program.run(inputs)
    del inputs, program, server
    gc.collect()
    np.testing.assert_allclose(decryptor.decrypt(same), values, atol=1e-6)
    np.testing.assert_allclose(decryptor.decrypt(turned), np.roll(values, -1), atol=1e-6)


def test_a_failing_observer_ends_the_run_and_frees_everything():
    case = make_case(plain_parameters())
    x, program = case.encrypt(np.ones(SLOTS)), executor(case, loop_of_rotations(case))
    before = case.context.live_bytes
    events = []

    def stop(*event):
        events.append(event)
        if len(events) == 4:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        program.run([x, 10], on_event=stop)
    assert len(events) == 4
    gc.collect()
    assert case.context.live_bytes == before


def test_a_signal_ends_a_long_run(case):
    """As Ctrl-C does: the handler's exception comes out of run()."""

    def handler(*_):
        raise InterruptedError("stop")

    program = executor(case, loop_of_rotations(case, max_trip=2**31))
    x = case.encrypt(np.ones(SLOTS))
    before = case.context.live_bytes
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        start = time.monotonic()
        with pytest.raises(InterruptedError):
            program.run([x, 2**31])
        assert time.monotonic() - start < 5
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    gc.collect()
    assert case.context.live_bytes == before


def test_a_rotation_over_p_keeps_c0_as_it_is(case, rng):
    """Two rotations over QP, the second with c1 alone divided by P in between, and with both: the same but for rounding."""
    key = spec("galois", galois(1, case.n), TOP)
    a = Assembler([key])
    b = a.block(cipher(TOP))
    turn = b.op("key", [], ["key", 0], 0)
    once = b.op("key_product", [b.op("hoist", [b.args[0]], digits(TOP)), turn], cipher(TOP, basis=1))
    short = b.op("rotate_over_p", [once, turn], cipher(TOP, basis=1))
    both = b.op("mod_down", [once], cipher(TOP))
    long = b.op("key_product", [b.op("hoist", [both], digits(TOP)), turn], cipher(TOP, basis=1))
    b.yield_(*(b.op("mod_down", [x], cipher(TOP)) for x in (short, long)))

    values = random_slots(rng, SLOTS)
    results = run(case, a, [case.encrypt(values)], None)
    for result in results:
        np.testing.assert_allclose(result, np.roll(values, -2), atol=1e-5)
    assert 0 < np.abs(results[0] - results[1]).max() < 1e-6


# The decoder


def good_document() -> dict:
    """A plan with every kind of register, a loop and a branch; n = 1024 and the plain parameters."""
    a = Assembler([spec("galois", 5, TOP), spec("relin", 0, 2)], constants=1)
    b = a.block(cipher(TOP), INDEX)
    x, trip = b.args
    key = b.op("key", [], ["key", 0], 0)
    hoisted = b.op("hoist", [x], digits(TOP))
    turned = b.op("key_product", [hoisted, key], cipher(TOP, basis=1))
    weight = b.op("encode", [], plain(TOP, scale=2.0**40, basis=1), 0)
    turned = b.op("mul_plain", [Last(turned), weight], cipher(TOP, scale=2.0**80, basis=1))
    low = b.op("mod_down", [turned], cipher(TOP - 1, scale=2.0**80 / plain_parameters().q[4]))
    body = a.block(INDEX, cipher(TOP))
    body.yield_(body.op("add", [body.args[1], x], cipher(TOP)))
    y = b.emit("for", [trip, x], [cipher(TOP)], (body.number, 8))[0]
    then, otherwise = a.block(cipher(TOP)), a.block(cipher(TOP))
    then.yield_(then.args[0])
    otherwise.yield_(otherwise.op("neg", [otherwise.args[0]], cipher(TOP)))
    z = b.emit("if", [trip, Last(y)], [cipher(TOP)], (then.number, otherwise.number))[0]
    b.yield_(low, z)
    return a.document()


def decode(document) -> _core.Plan:
    return _core.Plan(plain_parameters(), _core.cbor_encode(document))


def test_a_good_plan_says_what_it_needs():
    plan = decode(good_document())
    assert plan.keys == good_document()["keys"]
    assert (plan.num_inputs, plan.num_outputs, plan.num_constants) == (2, 2, 1)


def place(document: dict, path: tuple, value) -> dict:
    """A copy with one item replaced."""
    changed = copy.deepcopy(document)
    target = changed
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return changed


def code(block: int, instruction: int, part: int, *rest) -> tuple:
    return ("blocks", block, "code", instruction, part, *rest)


HOIST, PRODUCT, ENCODE, MUL_PLAIN, MOD_DOWN, FOR, IF, YIELD = 1, 2, 3, 4, 5, 6, 7, 8
IN, OUT, IMM = 2, 3, 4

REJECTED = {
    "missing part": (("keys",), None, "keys"),
    "unknown type": (("types", 0, 0), "tensor", "unknown type"),
    "type size": (("types", 0), ["cipher", 64], "expected 8 items"),
    "slots": (("types", 0, 1), 48, "slots"),
    "too many slots": (("types", 0, 1), 1024, "slots"),
    "no such track": (("types", 0, 2), 1, "no level 4 of track 1"),
    "no such level": (("types", 0, 3), 5, "no level 5"),
    "negative scale": (("types", 0, 4), -1.0, "scale"),
    "infinite scale": (("types", 0, 4), math.inf, "scale"),
    "integer scale": (("types", 0, 4), 2**40, "expected"),
    "degree 0": (("types", 0, 5), 0, "degree"),
    "degree 3": (("types", 0, 5), 3, "degree"),
    "basis": (("types", 0, 6), 2, "basis|types"),
    "type of no key": (("types", 2, 1), 2, "there is no key 2"),
    "register of no type": (("registers", 0), 99, "there is no type 99"),
    "key kind": (("keys", 0, "kind"), "bootstrap", "relin"),
    "even galois element": (("keys", 0, "galois_element"), 4, "galois element 4"),
    "large galois element": (("keys", 0, "galois_element"), 2049, "galois element"),
    "relin with element": (("keys", 1, "galois_element"), 5, "galois element 5"),
    "key level": (("keys", 0, "level"), 9, "no level 9"),
    "instruction size": (("blocks", 0, "code", HOIST), [1, 2, 3], "expected 5 items"),
    "unknown opcode": (code(0, HOIST, 0), 99, "no opcode 99"),
    "negative register": (code(0, HOIST, IN, 0), -2, "expected"),
    "no such register": (code(0, HOIST, IN, 0), 2 * 999, r"block 0, instruction 1 \(hoist\): there is no register 999"),
    "no such result": (code(0, HOIST, OUT, 0), 999, "there is no register 999"),
    "too few operands": (code(0, HOIST, IN), [], "expected 1 of operand, got 0"),
    "too many results": (code(0, HOIST, OUT), [3, 4], "expected 1 of result, got 2"),
    "missing immediate": (code(0, ENCODE, IMM), [], "expected 1 immediates, got 0"),
    "kind of operand": (code(0, HOIST, IN, 0), 2 * 1, "operand 0 is of the wrong kind: index"),
    "read before written": (code(0, HOIST, IN, 0), 2 * 9, "register 9 is read before it is written"),
    "read after last use": (code(0, HOIST, IN, 0), 2 * 0 + 1, "register 0 is read after its last use"),
    "written twice": (code(0, PRODUCT, OUT, 0), 0, "written in two places|stated as"),
    "last use of an outer register in a loop": (code(1, 0, IN, 1), 1, "inside a loop, but belongs outside"),
    "inner register read outside": (code(0, YIELD, IN, 1), 2 * 10, "register 10 is read outside its block"),
    "constant": (code(0, ENCODE, IMM, 0), 1, "there is no constant 1"),
    "key number": (code(0, 0, IMM, 0), 1, "stated as"),
    "no such key": (code(0, 0, IMM, 0), -1, "there is no key -1"),
    "wrong key kind": (("types", 2, 1), 1, "stated as"),
    "degree of product": (("types", 3, 5), 2, "stated as|degree"),
    "other basis": (("types", 4, 6), 0, "stated as"),
    "other slots": (("types", 3, 1), 32, "stated as"),
    "scale of product": (("types", 6, 4), 2.0**79, "stated as"),
    "scale of mod_down": (("types", 7, 4), 2.0**40 * 1.01, "stated as"),
    "mod_down upwards": (("types", 7, 3), 4, "stated as"),
    "input over QP": (("blocks", 0, "args"), [4, 1], "input is neither"),
    "loop to no block": (code(0, FOR, IMM, 0), 9, "no inner block 9"),
    "loop to the body": (code(0, FOR, IMM, 0), 0, "no inner block 0"),
    "block used twice": (code(0, IF, IMM, 0), 1, "not identical|used twice|values"),
    "both branches the same": (code(0, IF, IMM, 1), 2, "used twice"),
    "negative trip": (code(0, FOR, IMM, 1), -1, "max_trip -1"),
    "endless trip": (code(0, FOR, IMM, 1), 2**40, "max_trip"),
    "trip is no index": (code(0, FOR, IN, 0), 0, "first operand must be an index"),
    "loop without values": (code(0, FOR, IN), [], "first operand must be an index"),
    "loop types": (code(0, FOR, IN, 1), 2 * 7, "read before|not identical|stated"),
    "too few carried": (code(0, FOR, IN), [2], "values"),
    "yield types": (code(1, 1, IN, 0), 2 * 8, "yielded and carried value 0"),
    "yield of too much": (code(1, 1, IN), [2 * 10, 2 * 10], "values"),
    "condition is no index": (code(0, IF, IN, 0), 0, "first operand must be an index"),
    "branch without its argument": (("blocks", 2, "args"), [], "operand and argument"),
    "output over QP": (code(0, YIELD, IN, 0), 2 * 6, "output is not a cipher over Q"),
    "output is an index": (code(0, YIELD, IN, 0), 2 * 1, "output is not a cipher over Q"),
    "block without yield": (("blocks", 1, "code"), [], "a block must end in yield"),
    "code after yield": (
        ("blocks", 1, "code", 0),
        [OPCODES["yield"], 0, [], [], []],
        "yield is not the last instruction",
    ),
    "no block": (("blocks",), [], "no block"),
    "constants": (("constants",), -1, "expected"),
    "extra key": (("more",), 1, "more|keys"),
}


@pytest.mark.parametrize(("path", "value", "message"), REJECTED.values(), ids=REJECTED)
def test_a_bad_plan_is_a_format_error(path, value, message):
    with pytest.raises(FormatError, match=message):
        decode(place(good_document(), path, value))


def test_an_unused_block_is_refused():
    document = good_document()
    document["blocks"].append({"args": [], "code": [[OPCODES["yield"], 0, [], [], []]]})
    with pytest.raises(FormatError, match="nothing refers to this block"):
        decode(document)


def test_deep_nesting_is_refused():
    a = Assembler()
    block = a.block(INDEX)
    for _ in range(100):
        inner = a.block(INDEX)
        block.emit("for", [block.args[0]], [], (inner.number, 1))
        block.yield_()
        block = inner
    block.yield_()
    with pytest.raises(FormatError, match="nested"):
        a.plan(plain_parameters())


def single(name: str, in_types: list[list], out_type: list, *imm: int, keys=()) -> Assembler:
    """A plan whose body is one instruction on inputs and, where its operand cannot be one, on their relabelled form."""
    a = Assembler(list(keys))
    b = a.block(*in_types)
    operands = list(b.args)
    if keys:
        operands.append(b.op("key", [], ["key", 0], 0))
    b.op(name, operands, out_type, *imm)
    b.yield_(b.args[0])
    return a


BAD_TYPES = {
    "add of levels": single("add", [cipher(2), cipher(1)], cipher(1)),
    "add of scales": single("add", [cipher(2), cipher(2, scale=SCALE * 1.0001)], cipher(2)),
    "add of slots": single("add", [cipher(2), cipher(2, slots=8)], cipher(2, slots=8)),
    "add of degrees": single("add", [cipher(2), cipher(2, degree=2)], cipher(2)),
    "mul of degree 2": single("mul", [cipher(2), cipher(2, degree=2)], cipher(2, scale=SCALE**2, degree=2)),
    "mul of levels": single("mul", [cipher(2), cipher(1)], cipher(1, scale=SCALE**2, degree=2)),
    "mul without its scale": single("mul", [cipher(2), cipher(2)], cipher(2, degree=2)),
    "square to degree 1": single("square", [cipher(2)], cipher(2, scale=SCALE**2)),
    "drop to above": single("drop_level", [cipher(1)], cipher(2)),
    "drop with scale": single("drop_level", [cipher(2)], cipher(1, scale=SCALE * 2)),
    "mod_down to above": single("mod_down", [cipher(1)], cipher(2)),
    "relabel of limbs": single("relabel", [cipher(2)], cipher(1)),
    "rotate above its key": single("rotate", [cipher(2)], cipher(2), keys=[spec("galois", 5, 1)]),
    "rotate by relin key": single("rotate", [cipher(2)], cipher(2), keys=[spec("relin", 0, 4)]),
    "rotate of degree 2": single("rotate", [cipher(2, degree=2)], cipher(2), keys=[spec("galois", 5, 4)]),
    "relinearize of degree 1": single("relinearize", [cipher(2)], cipher(2), keys=[spec("relin", 0, 4)]),
    "relinearize by galois key": single("relinearize", [cipher(2, degree=2)], cipher(2), keys=[spec("galois", 5, 4)]),
}


@pytest.mark.parametrize("assembler", BAD_TYPES.values(), ids=BAD_TYPES)
def test_types_that_do_not_follow_are_refused(assembler):
    with pytest.raises(FormatError, match="block 0, instruction"):
        assembler.plan(plain_parameters())


@pytest.mark.parametrize("seed", range(4))
def test_mutated_plans_never_do_worse_than_a_format_error(seed):
    """Any change of bytes is refused, or still a plan that can be asked about."""
    rng = np.random.default_rng(seed)
    good = _core.cbor_encode(good_document())
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            plan = _core.Plan(plain_parameters(), bytes(data))
        except FormatError:
            continue
        assert plan.num_outputs == 2


# What is decrypted


@pytest.mark.parametrize("level", range(1, TOP + 1))
def test_values_too_large_for_level_0_decrypt_where_they_lie(case, rng, level):
    """Watched values may be larger than q0 / scale = 2^8: their own modulus holds them."""
    values = random_slots(rng, SLOTS) * 2**20
    a = Assembler()
    b = a.block(cipher(level))
    doubled = b.op("add", [b.args[0], b.args[0]], cipher(level))
    b.yield_(b.op("neg", [doubled], cipher(level)))
    (result,) = run(case, a, [case.encrypt(values, level)])
    np.testing.assert_allclose(result, -2 * values, rtol=1e-9, atol=1e-6)


def test_a_forked_child_computes_while_threads_of_its_parent_allocate(case, rng):
    """The child must not wait for a lock that a thread which it does not have holds."""
    a = Assembler()
    b, body = a.block(cipher(0), INDEX), a.block(INDEX, cipher(0))
    body.yield_(body.op("neg", [body.args[1]], cipher(0)))
    b.yield_(*b.emit("for", [b.args[1], b.args[0]], [cipher(0)], (body.number, 1000)))
    run_loop, x = executor(case, a), case.encrypt(random_slots(rng, SLOTS), 0)
    ready, stop = threading.Event(), threading.Event()

    def busy():
        ready.set()
        while not stop.is_set():
            run_loop.run([x, 1000])  # a thousand allocations, Python's lock not held

    threads = [threading.Thread(target=busy, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert ready.wait(60)
    try:
        for _ in range(60):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(10)  # ends it, and with it the parent's wait, should it hang
                case.evaluator.add(x, x)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
