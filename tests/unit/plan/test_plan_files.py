"""Plan and client files: exact round trips, and a FormatError for everything that was altered."""

import random
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plan_contents import CODE, CONSTANTS, DEBUG, META, contents, new_file, old_file, opened, written
from vec_cases import SLOTS, Vectors, plan_of, small_chain

from latticework import _core
from latticework.errors import FormatError, SecurityError, UserError
from latticework.plan.analysis.simulate import simulate
from latticework.plan.files.serialise import SOURCE, read_client, read_plan, write_client, write_plan
from latticework.plan.schema.schema import FORMAT, Approximation, SourceLocation, TensorValue
from latticework.report import explain_file
from latticework.values.packing.pack import PackDim, PackMap

MATRIX = np.random.default_rng(1).normal(size=(SLOTS, SLOTS)) / 4


def small_plan():
    v = Vectors(2, trips=True)
    y = v.op("mul", v.matrix(v.x[0], MATRIX), v.op("rotate", v.x[1], steps=-2))
    (y,) = v.loop(lambda i, h: [v.op("add", h, v.constant(MATRIX[0]))], [y], v.n)
    plan = plan_of(v.done(y, v.op("sub", v.x[1], v.op("mul", v.constant(MATRIX[2]), v.x[0]))), small_chain(2))
    return replace(
        plan,
        locations=(*plan.locations, SourceLocation("program.py", 3, "y = W @ x")),
        tensors=(TensorValue(0, "y", 0, PackMap((SLOTS,), SLOTS, (PackDim(0, SLOTS),)), 0.5),),
        watch={0: 0},
        approximations=(Approximation("relu", 0, -1.0, 1.0, 15, 0.1, False),),
        layouts=(("y", "(16,)", "[0:16]"),),
    )


PLAN = small_plan()
DATA = write_plan(PLAN)
X = [np.linspace(-1, 1, SLOTS), np.linspace(1, 0, SLOTS), 3]


def forged(section, edit):
    """The plan file with a section's content changed and all checksums made right: in the form of format 1, which any
    content has."""
    said = contents(DATA)
    said[section] = edit(said[section])
    return old_file(DATA, said)


def forged_as_written(section, edit):
    """The same of what the file holds, where code is columns."""
    said = written(DATA)
    said[section] = edit(said[section])
    return new_file(DATA, said)


def put(path, value):
    """An edit that sets the item at a path of keys and numbers."""

    def edit(content):
        place = content
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        return content

    return edit


def test_round_trip():
    again = read_plan(DATA)
    for field in ("client", "kinds", "registers", "blocks", "keys", "constants", "locations", "tensors", "watch"):
        assert getattr(again, field) == getattr(PLAN, field), field
    assert again.approximations == PLAN.approximations and again.layouts == PLAN.layouts
    assert again.sources.keys() == PLAN.sources.keys()
    for name, array in PLAN.sources.items():
        np.testing.assert_array_equal(again.sources[name], array)
    for a, b in zip(simulate(again, X), simulate(PLAN, X), strict=True):
        np.testing.assert_array_equal(a, b)
    assert write_plan(again) == DATA


def test_equal_programs_give_equal_bytes():
    assert write_plan(small_plan()) == DATA


def test_files_and_bytes_are_the_same(tmp_path):
    assert write_plan(PLAN, tmp_path / "plan") is None
    assert (tmp_path / "plan").read_bytes() == DATA
    assert read_plan(tmp_path / "plan").client == PLAN.client
    write_client(PLAN.client, tmp_path / "client")
    assert read_client(tmp_path / "client") == PLAN.client
    assert (tmp_path / "client").read_bytes() == write_client(PLAN.client)


def test_a_client_file_holds_no_weights_and_is_no_plan():
    data = write_client(PLAN.client)
    weights = [array.tobytes()[:64] for array in PLAN.sources.values()]
    assert all(w in written(DATA)[4] for w in weights) and not any(w in data for w in weights)
    assert opened(data, kind=2).num_sections == 1 and len(_core.cbor_decode(opened(data, kind=2).section(0))) < 20
    assert read_client(data) == read_client(DATA) == PLAN.client
    with pytest.raises(FormatError):
        read_plan(data)


def test_the_security_that_files_promise_is_measured_by_the_table():
    plan = small_plan()
    client = replace(plan.client, chain=replace(plan.chain, insecure=not plan.chain.insecure))
    assert not client.chain.insecure, "a chain that is too large for its ring"
    for read, data in ((read_client, write_client(client)), (read_plan, write_plan(replace(plan, client=client)))):
        with pytest.raises(SecurityError, match="not marked INSECURE: they were altered"):
            read(data)


def test_every_truncation_is_a_format_error():
    rng = random.Random(0)
    for size in [0, 1, 7, 8, 127, 128, 129, len(DATA) - 1, *(rng.randrange(len(DATA)) for _ in range(150))]:
        with pytest.raises(FormatError):
            read_plan(DATA[:size])
    with pytest.raises(FormatError):
        read_plan(DATA + b"\0")


def test_every_flipped_bit_is_a_format_error_or_harmless():
    rng = random.Random(1)
    for _ in range(300):
        at, bit = rng.randrange(len(DATA)), rng.randrange(8)
        altered = bytearray(DATA)
        altered[at] ^= 1 << bit
        try:
            again = read_plan(bytes(altered))
        except FormatError:
            continue
        # Padding between sections is not covered; what is read is then as it was.
        assert write_plan(again) == DATA


GATHER = 0  # of the constants section's gathers; fields: domain, out_pack, out_access, source, source_access, in_...
HUGE = [1 << 31, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]
FORGERIES = {
    "no gather loops": (CONSTANTS, ["gathers", GATHER, 0], []),
    "empty loop": (CONSTANTS, ["gathers", GATHER, 0, 0], 0),
    "negative loop": (CONSTANTS, ["gathers", GATHER, 0, 0], -16),
    **{f"loop of {n}": (CONSTANTS, ["gathers", GATHER, 0, 0], n) for n in HUGE},
    "long domain": (CONSTANTS, ["gathers", GATHER, 0], [1] * 100_000),
    "loops of 2^20 x 2^20": (CONSTANTS, ["gathers", GATHER, 0], [1 << 20, 1 << 20]),
    "pack of 2^40 slots": (CONSTANTS, ["gathers", GATHER, 1], [[1 << 40], 1 << 40, [[0, 1 << 40, 1]]]),
    "pack larger than the ring": (CONSTANTS, ["gathers", GATHER, 1], [[16], 1024, [[-1, 64, 1], [0, 16, 1]]]),
    "pack of a huge shape": (CONSTANTS, ["gathers", GATHER, 1, 0, 0], 1 << 40),
    "pack of negative extents": (CONSTANTS, ["gathers", GATHER, 1, 2], [[0, -4, 1], [0, -4, 1]]),
    "pack of uneven copies": (CONSTANTS, ["gathers", GATHER, 1, 2], [[0, 4, 1], [0, 4, 1]]),
    "pack axis": (CONSTANTS, ["gathers", GATHER, 1, 2, 0, 0], 3),
    "pack stride": (CONSTANTS, ["gathers", GATHER, 1, 2, 0, 2], 1 << 62),
    "access view": (CONSTANTS, ["gathers", GATHER, 2, 0, 0], 17),
    "negative views": (CONSTANTS, ["gathers", GATHER, 2], [[-4, -4], [[0, 0], [0, 0]], [0, 0]]),
    "access row": (CONSTANTS, ["gathers", GATHER, 2, 1, 0], [1] * 9),
    "access rows": (CONSTANTS, ["gathers", GATHER, 2, 1], []),
    **{f"access offset {n}": (CONSTANTS, ["gathers", GATHER, 2, 2, 0], n) for n in HUGE},
    **{f"access weight {n}": (CONSTANTS, ["gathers", GATHER, 2, 1, 0, 0], n) for n in HUGE},
    "source missing": (CONSTANTS, ["gathers", GATHER, 3], "nowhere"),
    "source without access": (CONSTANTS, ["gathers", GATHER, 4], None),
    "access without source": (CONSTANTS, ["gathers", GATHER, 3], None),
    "gather number": (CONSTANTS, ["constants", 0, 0], 99),
    "gather number below 0": (CONSTANTS, ["constants", 0, 0], -1),
    **{f"rotation {n}": (CONSTANTS, ["constants", 0, 2], n) for n in HUGE},
    **{f"steps {n}": (CONSTANTS, ["constants", 0, 1], n) for n in HUGE},
    "factor": (CONSTANTS, ["constants", 0, 3], "1"),
    "factor nan": (CONSTANTS, ["constants", 0, 3], [float("nan"), 0.0]),
    "no list of constants": (CONSTANTS, ["constants"], {}),
    "no constants": (CONSTANTS, ["constants"], []),
    "source shape": (CONSTANTS, ["sources", 0, 1], [3]),
    "source shape below 0": (CONSTANTS, ["sources", 0, 1], [-16, -16]),
    "too few sources": (CONSTANTS, ["sources"], []),
    "no gathers": (CONSTANTS, ["gathers"], None),
    "ring degree": (META, [1, 0], 1000),
    **{f"ring degree {n}": (META, [1, 0], n) for n in HUGE},
    "prime": (META, [1, 1, 0], 12345),
    "prime 0": (META, [1, 1, 0], 0),
    "no primes": (META, [1, 1], []),
    "digits": (META, [1, 3], [[0, 1, 2, 2]]),
    "track": (META, [1, 4], []),
    "track scale": (META, [1, 4, 0, 1, 0], float("inf")),
    "security": (META, [1, 5], 1),
    "insecure": (META, [1, 6], 1),
    "input level": (META, [2, 0, 3], 1),
    "input level far up": (META, [2, 0, 3], 1 << 40),
    "input level below 0": (META, [2, 0, 3], -1),
    "input scale": (META, [2, 0, 4], 1.5),
    "input scale 0": (META, [2, 0, 4], 0.0),
    "input range": (META, [2, 0, 5], 100.0),
    "input shape": (META, [2, 0, 1], [4, 4]),
    "input pack": (META, [2, 0, 2, 2, 0, 0], 7),
    "same names": (META, [2, 0, 0], "x1"),
    "too few inputs": (META, [2], []),
    "index limit": (META, [2, 2, 1], -1),
    "output level": (META, [3, 0, 3], 1),
    "output pack": (META, [3, 0, 2], [[16], 32, [[-1, 2, 1], [0, 16, 1]]]),
    "no outputs": (META, [3], []),
    "key level": (META, [4, 0, 0, 0, 3], 77),
    "key kind": (META, [4, 0, 0, 0, 0], "master"),
    "manifest columns": (META, [4, 1], []),
    "no manifest": (META, [4], None),
    "name": (META, [0], 5),
    "meta is a map": (META, [0], {}),
    "location": (DEBUG, ["tensors", 0, 2], 99),
    "tensor pack": (DEBUG, ["tensors", 0, 3, 0, 0], 1 << 40),
    "watch register": (DEBUG, ["watch", 0, 0], 1 << 20),
    "watch position": (DEBUG, ["watch", 0, 1], -1),
    "watch": (DEBUG, ["watch"], None),
    "locations": (DEBUG, ["locations"], []),
    "code types": (CODE, ["types"], []),
    "code constants": (CODE, ["constants"], 1 << 40),
    "code keys": (CODE, ["keys"], []),
    "code registers": (CODE, ["registers", 0], 1 << 40),
    "code location": (CODE, ["blocks", 0, "code", 0, 1], 1 << 20),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_content_is_a_format_error(name):
    section, path, value = FORGERIES[name]
    data = forged(section, put(path, value))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read_plan(data)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_explain_and_the_page_on_upgrading_tell_the_versions(tmp_path):
    write_plan(PLAN, tmp_path / "a.lwplan")
    assert f"  format      version 1.0, plan format {FORMAT}\n" in explain_file(tmp_path / "a.lwplan")
    page = (Path(__file__).parents[3] / "docs" / "upgrading.md").read_text()
    assert f"  format      version 1.0, plan format {FORMAT}\n" in page
    newer = tmp_path / "b.lwplan"
    newer.write_bytes(b"LATTICE\n\x04" + (tmp_path / "a.lwplan").read_bytes()[9:])
    with pytest.raises(FormatError) as refused:
        explain_file(newer)
    assert refused.value.message.partition("the file has ")[2] in " ".join(page.split())


def test_another_format_is_refused_by_number():
    reader = _core.ContainerReader(DATA, kinds=[1])
    sections = [(reader.section_kind(i), reader.section(i)) for i in range(reader.num_sections)]
    with pytest.raises(
        FormatError, match=r"plan format 9: this version of latticework reads plan formats 1, 2 and 3; use the version"
    ):
        read_plan(_core.write_container(None, 1, reader.parameters, {**reader.header, "format": 9}, sections))


def test_sections_cannot_change_places_or_go():
    reader = _core.ContainerReader(DATA, kinds=[1])
    sections = [(reader.section_kind(i), reader.section(i)) for i in range(reader.num_sections)]
    arrays = (SOURCE, bytes(8))
    for wrong in ([], [*sections, arrays], [*sections, sections[0]], [arrays, *sections], [(META + 1, sections[0][1])]):
        with pytest.raises(FormatError):
            read_plan(_core.write_container(None, 1, reader.parameters, reader.header, wrong))
    with pytest.raises(FormatError, match="parameters"):
        read_plan(_core.write_container(None, 1, bytes(32), reader.header, sections))


NASTY = [-1, 0, 1, 2, 3, 17, -(1 << 63), *HUGE, 0.0, -1.0, 1e308, float("nan"), float("inf"), None, True, "", "x", b"",
         [], [[]], [0], [1, 2], {}, {"a": 1}]  # fmt: skip


def places(content, path=()):
    """Paths of every item of nested lists and maps."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


@pytest.mark.parametrize("section", [META, CODE, CONSTANTS, DEBUG], ids=["meta", "code", "constants", "debug"])
def test_nothing_that_is_read_can_crash_what_runs_it(section):
    rng = random.Random(section)
    content = contents(DATA)[section]
    forms = [(list(places(content)), forged), (list(places(written(DATA)[section])), forged_as_written)]
    for number in range(300):
        paths, form = forms[number % 2]
        edit = put(rng.choice(paths), rng.choice(NASTY))
        try:
            plan = read_plan(form(section, edit))
        except FormatError:
            continue
        try:
            simulate(plan, X)
        except UserError:
            continue


def test_sources_that_are_not_finite_are_refused():
    sources = {name: np.where(np.arange(a.size).reshape(a.shape) == 3, np.nan, a) for name, a in PLAN.sources.items()}
    with pytest.raises(FormatError, match="finite"):
        read_plan(write_plan(replace(PLAN, sources=sources)))
