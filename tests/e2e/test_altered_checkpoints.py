"""Checkpoints whose header says something else, with all hashes right again: refused, or of no effect on the result."""

import random
from collections import Counter
from math import inf

import numpy as np
import pytest
from altered_headers import ODD, header_of, rebuilt, replaced

import latticework as lw
from latticework import _core
from latticework.errors import FormatError, ParameterMismatchError, UserError
from latticework.plan.files.serialise import plan_key
from latticework.runtime.server import checkpoint
from latticework.runtime.server.run_state import loop_registers, place_registers

TURNS = 5


@lw.program
def steps(x: lw.Secret[6, 4], y: lw.Secret[4], n: lw.Index):
    """Two loops; arrays and single values outlive them, and an input goes on as it came."""
    turned = x[0] * y
    a, b = lw.for_loop(n, lambda i, a, b: (b + turned, a - x[i]), (y, x[1]))
    c = lw.for_loop(n, lambda i, c: c + a, b * y)
    return c + turned, b


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    data = {"x": rng.uniform(-1, 1, (5, 6, 4)), "y": rng.uniform(-1, 1, (5, 4)), "n": 6}
    return lw.compile(steps, calibrate=data, precision_bits=8, ring_degree=1024, insecure=True)


@pytest.fixture(scope="module")
def session(model):
    rng = np.random.default_rng(1)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    return server, client.encrypt(rng.uniform(-1, 1, (6, 4)), rng.uniform(-1, 1, 4), TURNS)


@pytest.fixture(scope="module")
def written(session, tmp_path_factory):
    """The checkpoints of a run, by (place, turns), and its result."""
    server, inputs = session
    path, found = tmp_path_factory.mktemp("written") / "run.ckpt", {}

    def keep(event):
        if path.exists():
            data = path.read_bytes()
            extras = header_of(data)["extras"]
            found[extras["place"], extras["turns"]] = data

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "SHARE", inf)  # at all places
        whole = server(inputs, checkpoint=lw.Checkpoint(path, keep=True), on_event=keep)
    return found, whole.to_bytes()


@pytest.fixture(scope="module")
def altered(model, session):
    """A function that alters fields of a checkpoint as who has the plan can: with a right seal."""
    key, context = plan_key(model.plan, "checkpoint"), session[0]._engines.all[0].context

    def change(data, is_sealed=True, **fields):
        header = header_of(data)
        extras = header["extras"] | fields
        if is_sealed and "seal" not in fields:
            others = {name: value for name, value in extras.items() if name != "seal"}
            values = _core.load_ciphertexts(data, context)[0]
            hashed = [_core.blake3(_core.save_ciphertexts(None, [value], ["value"], {})) for value in values]
            extras["seal"] = bytes(_core.blake3_keyed(key, _core.cbor_encode(others) + b"".join(hashed)))
        return rebuilt(data, header | {"extras": extras})

    return change


def outcome(session, path, data):
    """The error of going on from such a file, or the bytes of the result."""
    server, inputs = session
    path.write_bytes(data)
    try:
        return server(inputs, checkpoint=lw.Checkpoint(path, keep=True)).to_bytes()
    except UserError as error:
        assert path.read_bytes() == data, "what is refused stays"
        return type(error)


def middle(written):
    """A checkpoint of the first loop with registers beside what it carries."""
    return written[0][min(loops(written))[0], 3]


def loops(written):
    """Places and turns of checkpoints in loops."""
    return {place: data for place, data in written[0].items() if place[1]}


def between(written):
    """A checkpoint between two instructions, after the first loop."""
    places = [place for place, turns in written[0] if not turns]
    return written[0][min(place for place in places if place > min(loops(written))[0]), 0]


def test_states_that_are_unaltered_go_on(session, written, altered, tmp_path):
    found, whole = written
    assert sorted({turns for _, turns in found})[:4] == [0, 1, 2, 3] and len({loop for loop, _ in loops(written)}) == 2
    for data in (middle(written), found[max(loops(written))[0], 2], between(written)):
        assert rebuilt(data, header_of(data)) == data == altered(data)
        assert outcome(session, tmp_path / "run.ckpt", data) == whole


def test_the_plan_says_which_registers_the_core_keeps(model, written):
    for place, turns in written[0]:
        extras = header_of(written[0][place, turns])["extras"]
        expected = (loop_registers if turns else place_registers)(model.plan, place)
        assert extras["registers"] == [[register, kind.count] for register, kind in expected.items()]
        assert len(expected) > 2 * bool(turns)
    of_loops, end = {place for place, _ in loops(written)}, len(model.plan.blocks[0].code)
    for place in range(-1, end + 1):
        assert (loop_registers(model.plan, place) is not None) == (place in of_loops)
    assert all(place_registers(model.plan, place) is None for place in (-1, 0, end))


FIELDS = ("checkpoint", "program", "plan", "key_set", "inputs", "integers", "place", "turns", "of", "registers", "seal")


@pytest.mark.parametrize("where", [middle, between], ids=["in-a-loop", "between"])
@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_another_type_or_range_is_refused(session, written, altered, tmp_path, field, where):
    data = where(written)
    right = header_of(data)["extras"][field]
    values = [value for value in ODD if type(value) is not type(right) or value != right]
    if field == "turns" and where is middle:
        values = [value for value in values if type(value) is not int or not 1 <= value <= TURNS]  # see below
    refused = Counter()
    for value in values:
        found = outcome(session, tmp_path / "run.ckpt", altered(data, **{field: value}))
        if field == "program" and isinstance(value, str):
            assert found == written[1]  # a name, which decides nothing
        else:
            assert found in (FormatError, ParameterMismatchError), (field, value, found)
            refused[found] += 1
    extras = {name: value for name, value in header_of(data)["extras"].items() if name != field}
    assert outcome(session, tmp_path / "run.ckpt", rebuilt(data, header_of(data) | {"extras": extras})) is FormatError
    assert refused.total() >= 15


def test_registers_are_exactly_those_of_the_place(session, written, altered, tmp_path):
    found, _ = written
    data, path = middle(written), tmp_path / "run.ckpt"
    registers = header_of(data)["extras"]["registers"]
    number, count = registers[0]
    wrong = [
        registers[:-1], registers[1:], registers[::-1], [*registers, registers[0]], [*registers, [2**40, 1]],
        [[2**40, count], *registers[1:]], [[number, 10**9], *registers[1:]], [[number, 0], *registers[1:]],
        [[number, -1], *registers[1:]], [[number, float(count)], *registers[1:]], [[number], *registers[1:]],
        [[number + 1, count], *registers[1:]], [[str(number), count], *registers[1:]], {str(number): count for number, count in registers},
        [number for number, _ in registers], [[True, count], *registers[1:]],
    ]  # fmt: skip
    for value in wrong:
        assert outcome(session, path, altered(data, registers=value)) is FormatError, value
    other = header_of(found[max(loops(written))[0], 2])["extras"]
    assert outcome(session, path, altered(data, registers=other["registers"])) is FormatError
    assert outcome(session, path, altered(data, place=other["place"])) is FormatError
    assert outcome(session, path, altered(data, more=1)) is FormatError


@pytest.mark.parametrize("turns", [-1, TURNS + 1, 2**40])
def test_turns_that_no_checkpoint_is_after_are_refused(session, written, altered, tmp_path, turns):
    server, inputs = session
    (tmp_path / "run.ckpt").write_bytes(altered(middle(written), turns=turns))
    with pytest.raises(
        FormatError, match=rf"it is after turn {turns} of {TURNS}; there is none before the first.*altered"
    ):
        server(inputs, checkpoint=tmp_path / "run.ckpt")


@pytest.mark.parametrize("of", [3, 4, 6])
def test_the_trips_are_those_of_this_run(session, written, altered, tmp_path, of):
    server, inputs = session
    (tmp_path / "run.ckpt").write_bytes(altered(middle(written), of=of))
    events = []
    with pytest.raises(FormatError, match=rf"of a loop of {of} turns, this run takes {TURNS}"):
        server(inputs, checkpoint=tmp_path / "run.ckpt", on_event=events.append)
    assert not events  # before any work


@pytest.mark.parametrize("turns", [0, 1])
def test_a_place_that_is_no_loop_or_is_one_is_not_that_of_the_other_kind(session, written, altered, tmp_path, turns):
    """Neither turns of an instruction between loops, nor a turn 0 with what is held after one, whoever has the plan."""
    data = (middle if turns == 0 else between)(written)
    for of in (0, TURNS):
        assert outcome(session, tmp_path / "run.ckpt", altered(data, turns=turns, of=of)) is FormatError


def test_another_place_is_refused_or_of_no_effect(session, written, altered, model, tmp_path):
    """Registers are written once, so where the same ones are held they hold the same: then the place decides nothing."""
    place = header_of(between(written))["extras"]["place"]
    for other in (other for other in range(len(model.plan.blocks[0].code)) if other != place):
        for is_sealed in (False, True):
            mutant = altered(between(written), is_sealed=is_sealed, place=other)
            is_alike = place_registers(model.plan, other) == place_registers(model.plan, place)
            expected = written[1] if is_sealed and is_alike else FormatError
            assert outcome(session, tmp_path / "run.ckpt", mutant) == expected


@pytest.mark.parametrize("turns", [1, 2, 4])
def test_another_turn_takes_the_plan_to_write(session, written, altered, tmp_path, turns):
    """Values are of the same kinds after every turn, so the seal alone tells; who has the plan is believed."""
    server, inputs = session
    (tmp_path / "run.ckpt").write_bytes(altered(middle(written), is_sealed=False, turns=turns))
    with pytest.raises(FormatError, match="its seal is not that of its content; it was altered"):
        server(inputs, checkpoint=tmp_path / "run.ckpt")
    found = outcome(session, tmp_path / "run.ckpt", altered(middle(written), turns=turns))
    assert isinstance(found, bytes) and found != written[1]


def test_ciphertexts_of_another_turn_are_refused(session, written, tmp_path):
    """A header with the sections of another file."""
    data = middle(written)
    other = written[0][header_of(data)["extras"]["place"], 4]
    for first, second in ((data, other), (other, data)):
        assert outcome(session, tmp_path / "run.ckpt", rebuilt(first, header_of(second))) is FormatError


@pytest.mark.parametrize("count", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_what_is_said_of_ciphertexts_has_to_be_that_of_their_registers(session, written, tmp_path, count):
    """Every leaf of what describes them, replaced at random."""
    data, whole = middle(written)[:], written[1]
    rng, counted = random.Random(0), Counter()
    header = header_of(data)
    parts = [name for name in header if name != "extras"]
    assert parts
    for _ in range(count):
        name = rng.choice(parts)
        changed = header | {name: replaced(header[name], rng)}
        try:
            mutant = rebuilt(data, changed)
        except UserError:  # no header of a container
            continue
        if mutant == data:
            continue
        found = outcome(session, tmp_path / "run.ckpt", mutant)
        assert found == whole or found in (FormatError, ParameterMismatchError), changed
        counted[found if isinstance(found, type) else "same"] += 1
    assert counted[FormatError] > count / 2, counted
