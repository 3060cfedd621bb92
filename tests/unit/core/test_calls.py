"""Blocks that are called: what they compute, hold and report, and which calls are refused. Plans written by hand."""

import gc
from itertools import pairwise

import numpy as np
import pytest
from plan_assembler import INDEX, OPCODES, Assembler, Last, cipher
from rlwe_cases import SCALE, galois, make_case, plain_parameters, random_slots, shared_case, spec
from row_windows import reads_of

from latticework import _core
from latticework.errors import FormatError, RangeError

TOP, SLOTS = 4, 64


@pytest.fixture
def case():
    return shared_case("plain")


@pytest.fixture
def rng():
    return np.random.default_rng(21)


def executor(case, assembler, keys=None):
    return _core.Executor(case.context, assembler.plan(case.parameters), keys or case.keys)


def turned_sum(a, level=TOP):
    """A block of its own: x + rot(x, 1), under key 0."""
    block = a.block(cipher(level))
    (x,) = block.args
    key = block.op("key", [], ["key", 0], 0)
    turned = block.op("rotate", [x, Last(key)], cipher(level))
    block.yield_(block.op("add", [Last(x), Last(turned)], cipher(level)))
    return block.number


def assembler(case):
    return Assembler([spec("galois", galois(1, case.n), TOP)])


def sums(x, times):
    for _ in range(times):
        x = x + np.roll(x, -1)
    return x


def test_a_block_is_called_from_the_body_a_branch_and_a_loop(case, rng):
    """Twice in a row, in a branch of a loop with a run-time trip count, and where its operand is read again."""
    a = assembler(case)
    b = a.block(cipher(TOP), INDEX)
    body, then, otherwise = a.block(INDEX, cipher(TOP)), a.block(cipher(TOP)), a.block(cipher(TOP))
    called = turned_sum(a)
    x, trip = b.args
    then.yield_(then.emit("call", [Last(then.args[0])], [cipher(TOP)], (called,))[0])
    otherwise.yield_(otherwise.op("neg", [Last(otherwise.args[0])], cipher(TOP)))
    taken = body.emit("if", [body.args[0], Last(body.args[1])], [cipher(TOP)], (then.number, otherwise.number))[0]
    body.yield_(body.emit("call", [Last(taken)], [cipher(TOP)], (called,))[0])
    once = b.emit("call", [x], [cipher(TOP)], (called,))[0]
    twice = b.emit("call", [once], [cipher(TOP)], (called,))[0]
    both = b.op("sub", [Last(twice), Last(once)], cipher(TOP))
    both = b.op("add", [Last(both), Last(x)], cipher(TOP))
    b.yield_(b.emit("for", [trip, Last(both)], [cipher(TOP)], (body.number, 4))[0])
    values = random_slots(rng, SLOTS)
    program, given = executor(case, a), case.encrypt(values)
    for trips in (0, 1, 3):
        expected = sums(values, 2) - sums(values, 1) + values
        for turn in range(trips):
            expected = sums(sums(expected, 1) if turn else -expected, 1)
        np.testing.assert_allclose(case.decryptor.decrypt(program.run([given, trips])[0]), expected, atol=1e-5)


def test_called_blocks_call_others_and_take_and_yield_anything(case, rng):
    """A key, an index and nothing at all pass the border; x is rotated as often as the index says."""
    a = assembler(case)
    b = a.block(cipher(TOP), INDEX)
    outer = a.block(["key", 0], cipher(TOP), INDEX)
    inner, count, turn = a.block(cipher(TOP), ["key", 0]), a.block(), a.block(INDEX, cipher(TOP))
    key, x, trips = outer.args
    turn.yield_(turn.emit("call", [Last(turn.args[1]), key], [cipher(TOP)], (inner.number,))[0])
    outer.yield_(outer.emit("for", [trips, Last(x)], [cipher(TOP)], (turn.number, 9))[0], Last(key))
    inner.yield_(inner.op("rotate", [Last(inner.args[0]), inner.args[1]], cipher(TOP)))
    count.yield_(count.op("iconst", [], INDEX, 1))
    one = b.emit("call", [], [INDEX], (count.number,))[0]
    trips = b.op("iadd", [b.args[1], one], INDEX)
    held = b.op("key", [], ["key", 0], 0)
    x, _ = b.emit("call", [Last(held), b.args[0], trips], [cipher(TOP), ["key", 0]], (outer.number,))
    b.yield_(x)
    values = random_slots(rng, SLOTS)
    found = executor(case, a).run([case.encrypt(values), 2])[0]
    np.testing.assert_allclose(case.decryptor.decrypt(found), np.roll(values, -3), atol=1e-6)


def calls_in_a_row(case, times):
    a = assembler(case)
    b = a.block(cipher(TOP))
    called = turned_sum(a)
    (x,) = b.args
    for _ in range(times):
        x = b.emit("call", [Last(x)], [cipher(TOP)], (called,))[0]
    b.yield_(Last(x))
    return a


def test_registers_of_a_called_block_are_freed_when_it_ends():
    case = make_case(plain_parameters())
    x = case.encrypt(np.ones(SLOTS))
    program, before, peaks = executor(case, calls_in_a_row(case, 1)), case.context.live_bytes, []
    for times in (1, 2, 6):
        program = executor(case, calls_in_a_row(case, times))
        case.context.reset_peak()
        outputs = program.run([x])
        peaks.append(case.context.peak_bytes - before)
        assert case.context.live_bytes - before == x.num_bytes
        del outputs
    gc.collect()
    assert peaks[1] == peaks[2] <= peaks[0] + x.num_bytes
    assert case.context.live_bytes == before


def test_calls_pin_a_key_no_longer_than_one_of_them_runs(case, tmp_path):
    """With the least room, rows of the key that both calls take are read in each; with room for it, in the first."""
    path = tmp_path / "keys.lwkeys"
    _core.save_evaluation_keys(path, case.keys)
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    least, *_ = executor(case, calls_in_a_row(case, 2), keys).key_need
    loads = []
    for budget in (least, 1 << 40):
        keys = _core.MappedKeys(path, case.context, budget)
        executor(case, calls_in_a_row(case, 2), keys).run([case.encrypt(np.ones(SLOTS))])
        assert keys.traffic["peak_bytes"] <= budget
        loads.append(keys.traffic["loads"])
    assert loads[0] > 1.5 * loads[1] and loads[1] * keys.traffic["row_bytes"] == case.keys.num_bytes // len(case.keys)


@pytest.mark.parametrize("rows", [6, 20, 45, 100])
def test_each_call_reads_its_keys_as_foretold(case, tmp_path, rows):
    """A called block reads three keys, twice: what stays for the second time is what its uses to come say."""
    path = tmp_path / "keys.lwkeys"
    _core.save_evaluation_keys(path, case.keys)
    elements = [galois(1, case.n), galois(-3, case.n), 2 * case.n - 1]
    a = Assembler([spec("galois", element, TOP) for element in elements])
    b, called = a.block(cipher(TOP)), a.block(cipher(TOP))
    x = called.op("neg", [Last(called.args[0])], cipher(TOP))
    for number in range(3):
        key = called.op("key", [], ["key", number], number)
        x = called.op("rotate", [Last(x), Last(key)], cipher(TOP))
    called.yield_(Last(x))
    (y,) = b.args
    for _ in range(2):
        (y,) = b.emit("call", [Last(y)], [cipher(TOP)], (called.number,))
    b.yield_(Last(y))
    keys = _core.MappedKeys(path, case.context, 1 << 40)
    room = executor(case, a, keys).key_need[0] + (rows - 3) * keys.traffic["row_bytes"]  # three digits
    keys = _core.MappedKeys(path, case.context, room)
    values = np.arange(SLOTS) / SLOTS
    (found,) = executor(case, a, keys).run([case.encrypt(values)])
    np.testing.assert_allclose(case.decryptor.decrypt(found), np.roll(values, 4), atol=1e-6)
    assert keys.traffic["peak_bytes"] <= room
    assert keys.traffic["loads"] == reads_of([([number], 3, 7) for number in (0, 1, 2) * 2], rows)


def test_events_come_from_inside_and_then_from_the_call(case):
    events = []
    executor(case, calls_in_a_row(case, 2)).run([case.encrypt(np.ones(SLOTS))], lambda *e: events.append(e))
    inside = [("key", 1, 0, -1), ("rotate", 1, 1, TOP), ("add", 1, 2, TOP)]
    assert [e[:4] for e in events] == [*inside, ("call", 0, 0, TOP), *inside, ("call", 0, 1, TOP)]
    assert events[3][4] <= events[0][4] and events[2][5] <= events[3][5]


def test_watched_registers_of_a_called_block_show_every_value(case):
    a, seen = calls_in_a_row(case, 3), []
    register = a.blocks[1]["args"][0]
    executor(case, a).run(
        [case.encrypt(np.ones(SLOTS))], watch=[register], on_watch=lambda _, c: seen.append(case.decryptor.decrypt(c))
    )
    for number, values in enumerate(seen):
        np.testing.assert_allclose(values, 2.0**number, atol=1e-6)
    assert len(seen) == 3


def test_a_run_that_is_stopped_inside_a_call_frees_everything():
    case = make_case(plain_parameters())
    x, program = case.encrypt(np.ones(SLOTS)), executor(case, calls_in_a_row(case, 3))
    before, seen = case.context.live_bytes, []

    def stop(op, block, *_):
        seen.append((op, block))
        if seen.count(("rotate", 1)) == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        program.run([x], stop)
    gc.collect()
    assert seen[-1] == ("rotate", 1) and seen.count(("call", 0)) == 1
    assert case.context.live_bytes == before
    np.testing.assert_allclose(case.decryptor.decrypt(program.run([x])[0]), 8.0, atol=1e-6)


def test_errors_in_a_called_block_name_the_instruction(case):
    a = Assembler()
    b = a.block(cipher(TOP), INDEX)
    called = a.block(INDEX, cipher(TOP))
    body = a.block(INDEX, cipher(TOP))
    body.yield_(Last(body.args[1]))
    called.yield_(called.emit("for", [called.args[0], Last(called.args[1])], [cipher(TOP)], (body.number, 2))[0])
    b.yield_(b.emit("call", [b.args[1], b.args[0]], [cipher(TOP)], (called.number,))[0])
    program, x = executor(case, a), case.encrypt(np.ones(SLOTS))
    with pytest.raises(RangeError, match="trip count 3 is not between 0 and 2"):
        program.run([x, 3])
    np.testing.assert_allclose(case.decryptor.decrypt(program.run([x, 2])[0]), 1.0, atol=1e-6)


# What is refused


def called_twice():
    """A body that calls block 1 twice and block 2 once, of which block 1 calls block 2 as well."""
    a = Assembler()
    b, outer, inner = a.block(cipher(TOP)), a.block(cipher(TOP)), a.block(cipher(TOP))
    x = b.emit("call", [b.args[0]], [cipher(TOP)], (outer.number,))[0]
    x = b.emit("call", [Last(x)], [cipher(TOP)], (outer.number,))[0]
    b.yield_(b.emit("call", [Last(x)], [cipher(TOP)], (inner.number,))[0])
    outer.yield_(outer.emit("call", [outer.args[0]], [cipher(TOP)], (inner.number,))[0])
    inner.yield_(inner.op("neg", [inner.args[0]], cipher(TOP)))
    return a.document()


def decode(document):
    return _core.Plan(plain_parameters(), _core.cbor_encode(document))


def changed(block, instruction, part, value):
    document = called_twice()
    document["blocks"][block]["code"][instruction][part] = value
    return document


IN, OUT, IMM = 2, 3, 4
BAD_CALLS = {
    "out of range": (changed(0, 0, IMM, [9]), r"block 0, instruction 0 \(call\): there is no inner block 9"),
    "negative": (changed(0, 0, IMM, [-1]), "no inner block -1"),
    "of the body": (changed(1, 0, IMM, [0]), "no inner block 0"),
    "of itself": (changed(1, 0, IMM, [1]), r"block 1, instruction 0 \(call\): a call in block 1 leads back to block 1"),
    "back": (
        changed(2, 0, slice(0, 5), [OPCODES["call"], 0, [2 * 2], [7], [1]]),
        "a call in block 2 leads back to block 1; blocks that are called have higher numbers",
    ),
    "without a number": (changed(0, 0, IMM, []), "expected 1 immediates, got 0"),
    "without operands": (changed(0, 0, IN, []), "operand and argument: 0 and 1 values"),
    "without results": (changed(1, 0, OUT, []), "read before it is written|yielded value and result: 1 and 0 values"),
    "reads from outside": (changed(2, 0, IN, [0]), "register 0 is read outside its block"),
    "a last use outside": (changed(2, 0, IN, [1]), "register 0 is read outside its block"),
}


@pytest.mark.parametrize(("document", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_a_format_error(document, message):
    assert decode(called_twice()).num_outputs == 1
    with pytest.raises(FormatError, match=message):
        decode(document)


@pytest.mark.parametrize(
    ("argument", "made", "message"),
    [
        (cipher(TOP - 1), cipher(TOP), "operand and argument 0: .*level 4.* and .*level 3.* are not identical"),
        (cipher(TOP, scale=SCALE * 1.5), cipher(TOP), "operand and argument 0"),
        (cipher(TOP), cipher(TOP - 1), "yielded value and result 0: .* are not identical"),
        (INDEX, cipher(TOP), "operand and argument 0"),
    ],
)
def test_types_at_the_border_are_identical(argument, made, message):
    a = Assembler()
    b, called = a.block(cipher(TOP)), a.block(argument)
    called.yield_(called.args[0])
    b.yield_(b.emit("call", [b.args[0]], [made], (called.number,))[0])
    with pytest.raises(FormatError, match=message):
        a.plan(plain_parameters())


def test_a_block_is_called_or_part_of_another_but_not_both():
    for first in ("for", "call"):
        a = Assembler()
        b, shared = a.block(cipher(TOP), INDEX), a.block(INDEX, cipher(TOP))
        shared.yield_(shared.args[1])
        x, n = b.args
        uses = {"for": lambda b=b, n=n, x=x: b.emit("for", [n, x], [cipher(TOP)], (1, 3)),
                "call": lambda b=b, n=n, x=x: b.emit("call", [n, x], [cipher(TOP)], (1,))}  # fmt: skip
        uses[first]()
        uses["call" if first == "for" else "for"]()
        b.yield_(x)
        with pytest.raises(FormatError, match="block 1 is used twice"):
            a.plan(plain_parameters())


def nested_calls(depth, width):
    """Each block calls the next one so many times."""
    a = Assembler()
    blocks = [a.block(cipher(TOP)) for _ in range(depth + 1)]
    for block, inner in pairwise(blocks):
        (x,) = block.args
        for _ in range(width):
            (x,) = block.emit("call", [Last(x)], [cipher(TOP)], (inner.number,))
        block.yield_(Last(x))
    blocks[-1].yield_(Last(blocks[-1].args[0]))
    return a


def test_calls_cannot_blow_up_a_small_plan(case):
    assert nested_calls(12, 3).plan(plain_parameters()).num_outputs == 1
    with pytest.raises(FormatError, match="with the blocks that it calls, block 1 has more than 16777216 instructions"):
        nested_calls(24, 2).plan(plain_parameters())
    with pytest.raises(FormatError, match="more than 64 nested blocks"):
        nested_calls(70, 1).plan(plain_parameters())
    values = np.linspace(-1, 1, SLOTS)
    found = executor(case, nested_calls(5, 3)).run([case.encrypt(values)])[0]
    np.testing.assert_allclose(case.decryptor.decrypt(found), values, atol=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_mutated_calls_never_do_worse_than_a_format_error(seed):
    rng, good = np.random.default_rng(seed), _core.cbor_encode(called_twice())
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.integers(256)
        try:
            assert _core.Plan(plain_parameters(), bytes(data)).num_outputs <= 1
        except FormatError:
            continue
