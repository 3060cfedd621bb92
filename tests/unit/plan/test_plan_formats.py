"""How plan files say what they hold: exact both ways, bounded, and files of older formats are read as ever."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from plan_contents import new_file, old_file, opened, share_repeats, shared_file, weights, written
from test_plan_files import DATA, PLAN, X

from latticework import _core
from latticework.errors import FormatError
from latticework.plan.analysis.simulate import simulate
from latticework.plan.files.code_columns import from_columns, to_columns
from latticework.plan.files.code_file import code_data, encode_code
from latticework.plan.files.serialise import plan_id, read_client, read_plan, write_plan
from latticework.plan.files.shared_data import MAX_DEPTH, expand_repeats
from latticework.plan.parameters.fingerprint import core_parameters


def test_files_of_format_1_hold_code_as_the_core_reads_it():
    assert opened(old_file(DATA)).header["format"] == 1
    assert bytes(opened(old_file(DATA)).section(1)) == encode_code(PLAN)


@pytest.mark.parametrize("older", [old_file, shared_file])
def test_files_of_older_formats_are_the_same_plans(older):
    old = older(DATA)
    assert read_client(old) == PLAN.client
    again = read_plan(old)
    assert write_plan(again) == DATA and plan_id(again) == plan_id(PLAN)
    for a, b in zip(simulate(again, X), simulate(PLAN, X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_plan_has_the_name_that_it_has_in_format_1():
    """Checkpoints and runs are bound to it: the hash of the sections of format 1, whatever a file looks like."""
    reader = opened(old_file(DATA))
    interface = _core.blake3(bytes(reader.section(0)))
    parts = [_core.blake3(bytes(reader.section(i))) for i in (1, 2, *range(4, reader.num_sections))]
    assert weights(DATA) == b"".join(bytes(reader.section(i)) for i in range(4, reader.num_sections))
    assert plan_id(PLAN) == bytes(_core.blake3(b"".join(map(bytes, [interface, *parts]))))


def test_what_a_file_says_is_written_back():
    assert new_file(DATA, written(DATA)) == DATA


@pytest.mark.parametrize("older", [None, shared_file, old_file])
def test_weights_are_read_wherever_they_lie(older):
    """Few beside the program, more in a section of their own, from which none may be missing and none left."""
    for rows in (1, 600):
        more = np.arange(float(rows * 16)).reshape(rows, -1)
        data = write_plan(replace(PLAN, sources={**PLAN.sources, "more": more}))
        assert opened(data).num_sections == (1 if rows == 1 else 2)
        said = data if older is None else older(data)
        np.testing.assert_array_equal(read_plan(said).sources["more"], more)
    reader = opened(said)
    sections = [(reader.section_kind(i), bytes(reader.section(i))) for i in range(reader.num_sections)]
    kind, arrays = sections.pop()
    for wrong in (arrays[:-8], arrays + bytes(8)):
        with pytest.raises(FormatError, match="source"):
            read_plan(_core.write_container(None, 1, reader.parameters, reader.header, [*sections, (kind, wrong)]))


def random_data(rng, depth=4):
    kind = rng.randrange(9) if depth else rng.randrange(6)
    if kind == 6:
        return {f"k{i}": random_data(rng, depth - 1) for i in range(rng.randrange(4))}
    if kind > 6:
        return [random_data(rng, depth - 1) for _ in range(rng.randrange(5))]
    return rng.choice([None, True, 1, 1.0, 0.0, -0.0, "word", "", -7, 1 << 40, 2.5e300])


@pytest.mark.parametrize("seed", range(20))
def test_sharing_keeps_every_bit_and_is_no_longer(seed):
    rng = random.Random(seed)
    data = [random_data(rng) for _ in range(30)]
    written = _core.cbor_encode(share_repeats(data))
    assert _core.cbor_encode(expand_repeats(_core.cbor_decode(written), "data")) == _core.cbor_encode(data)
    assert len(written) <= len(_core.cbor_encode(data)) + 8


def test_what_repeats_is_written_once():
    part = [[1, 2.5, "part"], {"of": "something"}]
    once, often = (len(_core.cbor_encode(share_repeats([[part, i] for i in range(times)]))) for times in (2, 200))
    assert (often - once) / 198 < 6


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ([], "a table"),
        ([[], b"\0"], "item 0 of 0"),
        ([[b"\0"], 1], "item 0 of 0"),
        ([[[1]], [b"\1"]], "item 1 of 1"),
        ([[[0], *([bytes([i])] * 2 for i in range(60))], b"\x3c"], "items"),
        ([[[0], *([bytes([i])] for i in range(MAX_DEPTH))], b"\x40"], "in each other"),
    ],
)
def test_tables_that_are_wrong_or_too_much_are_refused(data, word):
    with pytest.raises(FormatError, match=word):
        expand_repeats(data, "constants")


def test_columns_are_the_same_code():
    """Whatever numbers registers have, and wherever they are read."""
    content = code_data(PLAN)
    assert from_columns(to_columns(content)) == content
    rng = random.Random(3)
    for block in content["blocks"]:
        for row in block["code"]:
            row[2] = [rng.randrange(1 << 20) for _ in row[2]]
            row[3] = [rng.randrange(1 << 20) for _ in row[3]]
    assert from_columns(to_columns(content)) == content


def columns_of_plan():
    return to_columns(code_data(PLAN))


@pytest.mark.parametrize("name", columns_of_plan())
@pytest.mark.parametrize("wrong", [None, [], {}, "x", [None], [[]], [[1, math.inf]], [[0, -1]], [1.5], [[[]]]], ids=str)
def test_columns_that_do_not_fit_are_refused(name, wrong):
    """By columns, or by the core that reads what comes of them."""
    columns = columns_of_plan()
    if columns[name] == wrong:
        return
    columns[name] = wrong
    with pytest.raises(FormatError):
        _core.Plan(core_parameters(PLAN.chain), _core.cbor_encode(from_columns(columns)))


@pytest.mark.parametrize("name", ["shapes", "operands", "immediates", "locations", "jumps"])
def test_columns_of_another_length_are_refused(name):
    for change in (lambda column: column[:-1], lambda column: [*column, *(column[-1:] or [[1 << 20, 0]])]):
        columns = columns_of_plan()
        if change(columns[name]) == columns[name]:
            continue
        columns[name] = change(columns[name])
        if name == "jumps":
            columns[name] = [[place + 1000, register] for place, register in columns[name]]
        with pytest.raises(FormatError):
            _core.Plan(core_parameters(PLAN.chain), _core.cbor_encode(from_columns(columns)))
