"""Reports: well-formed pages, escaped text, widths, and the same numbers as the estimate."""

import base64
import json
import re
import struct
import zlib
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tiny_plans import GAPPED, LOCATIONS, PACK, counted_plan, insecure, loop_plan

import latticework as lw
from latticework import _core
from latticework.errors import FormatError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel, default_table
from latticework.plan.files.serialise import write_client, write_plan
from latticework.plan.schema.conditions import Condition
from latticework.plan.schema.constraints import Constraint, Element
from latticework.plan.schema.placement_record import INPUT, ConversionRecord, LayoutRecord, ProgramLayout, TensorLayout
from latticework.plan.schema.schema import SourceLocation
from latticework.report import Report, build_client_report, build_report, explain_file
from latticework.report.data import Contents
from latticework.report.quantities import count, duration, power_of_two, rate, relative_bits, share, size
from latticework.report.raster import COLOURS, colour, levels, pictures, png
from latticework.report.slot_grid import column_count, slot_grid
from latticework.report.timeline import timeline
from latticework.runtime.exchange.clipped import ClippedRows
from latticework.runtime.ledger.records import LedgerFile
from latticework.values.packing.pack import REPEAT, PackDim, PackMap

NASTY = '<script>alert("1")</script>&\'\x1b[31m\n'
VOID = {"meta", "br", "wbr"}


class Balanced(HTMLParser):
    """Fails on tags that do not nest; collects tags, attributes and text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)


def nasty_plan():
    locations = tuple(SourceLocation(NASTY, 3, NASTY * 20) for _ in LOCATIONS)
    plan = loop_plan(name=NASTY * 10, tensors=(NASTY, NASTY * 10), locations=locations)
    client = plan.client
    inputs = tuple(replace(i, name=NASTY * 5) for i in client.inputs)
    outputs = tuple(replace(o, name=NASTY * 5) for o in client.outputs)
    approximations = tuple(replace(a, function=NASTY * 8) for a in plan.approximations)
    moved = ConversionRecord(NASTY, (NASTY, NASTY * 9), (NASTY,), 0.5)
    steps = tuple(
        TensorLayout(NASTY, operation, 0, PACK, NASTY, 1.0, 1, (moved,), NASTY, behind)
        for operation, behind in ((INPUT, 0.0), (NASTY, -1.0), ("mul", 1e-3))
    )
    placing = LayoutRecord(3, 1e9, steps, (ProgramLayout(1.0, 2, 3, True),))
    client = replace(client, inputs=inputs, outputs=outputs)
    return replace(plan, client=client, approximations=approximations, placing=placing)


PLANS = {
    "loop": loop_plan,
    "counted": lambda: counted_plan(7),
    "unbounded": lambda: counted_plan(None),
    "insecure": lambda: insecure(loop_plan()),
    "nasty": nasty_plan,
}


@pytest.fixture(params=PLANS, scope="module")
def report(request):
    return build_report(PLANS[request.param]())


def test_page_is_well_formed_and_self_contained(report):
    page = Balanced(report.html())
    assert page.tags[:3] == ["html", "head", "meta"]
    assert "svg" in page.tags
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert not {"src", "href", "onclick", "onload"} & {name for name, _ in page.attributes}
    assert "http" not in report.html()
    assert Balanced(report._repr_html_()).tags[0] == "style"


def test_identifiers_are_unique(report):
    page = Balanced(report.html())
    names = [value for name, value in page.attributes if name == "id"]
    assert len(names) == len(set(names))
    for used in re.findall(r"url\(#([^)]*)\)", report.html()):
        assert used in names


def test_text_fits_100_columns(report):
    lines = report.text().splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() and line.isprintable() for line in lines)
    assert str(report) == report.text()


def test_client_report_has_no_code(report):
    spec = loop_plan().client
    client = build_client_report(spec)
    assert client.execution is None
    assert "Predicted" not in client.text()
    assert "Predicted" not in " ".join(Balanced(client.html()).texts)
    assert [k.uses for k in client.keys] == [1, 1]


def test_user_text_is_escaped():
    page = build_report(nasty_plan()).html()
    assert "<script" not in page.lower()
    assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;" in page
    assert "\x1b" not in page + build_report(nasty_plan()).text()


def test_insecure_is_said_first_and_everywhere():
    report = build_report(insecure(loop_plan()))
    assert "INSECURE" in " ".join(report.text().splitlines()[:5])
    page = Balanced(report.html())
    assert ("class", "alarm") in page.attributes
    assert any(text.startswith("INSECURE: compiled with insecure=True") for text in page.texts)
    secure = build_report(loop_plan())
    assert "INSECURE" not in secure.text() + secure.html()


def test_numbers_are_the_estimates():
    plan, model = loop_plan(), CostModel.load()
    cost, report = estimate(plan, model), build_report(plan, model)
    assert report.execution.estimate == cost
    assert sum(line.seconds for line in report.execution.lines) == pytest.approx(cost.warm_seconds)
    assert sum(m.seconds for m in report.execution.timeline) == pytest.approx(cost.warm_seconds)
    for line in report.execution.lines:
        assert sum(line.by_family.values()) == pytest.approx(line.seconds)
    assert [(k.kind, k.steps, k.uses) for k in report.keys] == [("relinearisation", None, 1), ("rotation", 1, 3)]
    for text in (report.text(), " ".join(Balanced(report.html()).texts)):
        assert duration(cost.warm_seconds) in text and duration(cost.first_seconds) in text
        assert size(cost.memory.total) in text
        assert default_table().machine["cpu"] in text
        assert default_table().date in text
        assert "h = lw.for_loop(3, body, x)" in text


def test_levels_scales_and_digits():
    rows = build_report(loop_plan()).levels
    assert [r.level for r in rows] == [2, 1, 0]
    assert [r.limbs for r in rows] == [(2,), (1,), (0,)]
    assert [r.digits for r in rows] == [(1,), (0,), (0,)]
    assert rows[0].log2_modulus == pytest.approx(100.0, abs=1e-3)


def test_notes_say_what_was_assumed():
    assert any("n is taken as 7" in note for note in build_report(counted_plan(7)).notes)
    assert any("n is taken as 3" in note for note in build_report(counted_plan(7), trips={"n": 3}).notes)
    assert any("no limit" in note for note in build_report(counted_plan(None)).notes)


def test_timeline_marks_loops_and_lines():
    drawing = timeline(build_report(loop_plan()).execution.timeline)
    assert drawing.count(">3 trips</text>") == 1
    assert drawing.count("band0") + drawing.count("band1") == 2
    widths = re.findall(r'class="f-\w+" x="([\d.]+)%" y="[\d.]+" width="([\d.]+)%"', drawing)
    assert widths[0][0] == "0.000"
    assert sum(float(w) for _, w in widths) == pytest.approx(100.0, abs=0.1)
    assert timeline(()) == ""


def test_grid_shows_each_slot_once():
    drawing = slot_grid(GAPPED, "hatch")
    cells = re.findall(r"slot (\d+): (no element|element \[[\d, ]*\])", drawing)
    assert [int(slot) for slot, _ in cells] == list(range(64))
    held = GAPPED.element_of_slot()
    assert [text == "no element" for _, text in cells] == (held < 0).tolist()
    assert cells[5][1] == "element [1, 1]"
    assert column_count(GAPPED) == 16
    assert column_count(PACK) == 16


ROLLED = PackMap((64, 6), 4096, (PackDim(REPEAT, 64), PackDim(0, 64)), (PackDim(1, 8),), ((2, 0), (2, 1)))
LARGE = PackMap((96,), 1 << 15, (PackDim(0, 128), PackDim(REPEAT, 256)))


@pytest.mark.parametrize("pack", [ROLLED, LARGE, GAPPED], ids=str)
def test_pictures_have_a_pixel_for_each_slot_of_the_first_vectors(pack):
    html = pictures(pack)
    Balanced(html)
    drawn = re.findall(r"aspect-ratio:(\d+)/(\d+);background-image:url\(data:image/png;base64,([^)]*)\)", html)
    assert len(drawn) == min(pack.count, 4)
    assert ("first 4 of 8 vectors" in html) == (pack.count == 8)
    held, seen = pack.element_of_slot().reshape(pack.count, -1), []
    for (columns, rows, data), elements in zip(drawn, held, strict=False):
        assert int(columns) * int(rows) == pack.slots
        pixels = read_png(base64.b64decode(data)).reshape(-1)
        assert ((pixels == 0) == (elements < 0)).all()
        order = np.argsort(elements, kind="stable")
        assert (np.diff(pixels[order].astype(int)) >= 0).all()
        seen.append(pixels)
    assert (min(p[p > 0].min() for p in seen), max(p.max() for p in seen)) == (1, COLOURS)


def read_png(data):
    """Pixels of an indexed picture without filters, every chunk checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, place = {}, 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[place + 8 + length : place + 12 + length])[0]
        chunks[kind], place = body, place + 12 + length
    columns, rows, bits, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (bits, kind) == (8, 3) and len(chunks[b"PLTE"]) == 3 * (COLOURS + 1)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(rows, columns + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def test_pictures_survive_being_written():
    pixels = np.random.default_rng(0).integers(0, COLOURS + 1, (5, 9)).astype(np.uint8)
    assert (read_png(png(pixels)) == pixels).all()
    assert levels(np.array([-1, 3, 8])).tolist() == [0, 1, COLOURS]
    assert levels(np.array([0])).tolist() == [1]
    assert levels(np.array([-1, -1])).tolist() == [0, 0]


def test_a_grid_of_too_many_slots_shows_the_first_and_whole_vectors():
    drawing = slot_grid(ROLLED, "hatch")
    cells = re.findall(r"slot (\d+): (?:no element|element \[(\d+), (\d+)\])", drawing)
    assert 0 < len(cells) <= 512 and "first 4 of 8 vectors" in drawing
    held = ROLLED.element_of_slot()
    for slot, row, column in cells:
        assert held[int(slot)] == (6 * int(row) + int(column) if row else -1)


def test_the_choice_of_layouts_is_told_step_by_step():
    @lw.program
    def products(a: lw.Secret[8, 8], b: lw.Secret[8, 8]):
        return (a @ b) * 0.5 + a

    plan = lw.compile(products, precision_bits=4, ring_degree=1024, insecure=True).plan
    report = build_report(plan)
    choice, placing = report.execution.choice, plan.placing
    assert [n for step in choice.steps for n in step.names] == [s.name for s in placing.steps]
    text, page = report.text(), "".join(Balanced(report.html()).texts)
    unbroken = re.sub(r"\s+", "", text)
    for shown in (unbroken, re.sub(r"\s+", "", page)):
        assert f"{placing.explored:,}placementscompared,sendingat1Gbit/s" in shown
        for step in placing.steps:
            assert str(step.pack) in shown and step.other in shown and step.box in shown
            for conversion in step.conversions:
                assert "→".join(conversion.way) in shown and ",".join(conversion.recipes) in shown
    assert max(map(len, text.splitlines())) <= 100


def test_grid_colours_rise_in_lightness():
    def lightness(text):
        red, green, blue = (int(text[i : i + 2], 16) for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    ramp = [lightness(colour(x)) for x in np.linspace(0, 1, 50)]
    assert ramp == sorted(ramp)
    assert colour(-1.0) == colour(0.0)
    assert colour(2.0) == colour(1.0)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (size(0), "0 B"),
        (size(999), "999 B"),
        (size(1000), "1.00 kB"),
        (size(999_999), "1.00 MB"),
        (size(123_456_789), "123 MB"),
        (duration(0), "0 s"),
        (duration(1.5e-6), "1.50 µs"),
        (duration(0.99999), "1.00 s"),
        (duration(0.0123), "12.3 ms"),
        (duration(600), "10.0 min"),
        (duration(90_000), "25.0 h"),
        (share(1, 3), "33 %"),
        (share(1, 0), "0.0 %"),
        (rate(1e9), "1 Gbit/s"),
        (rate(2.5e8), "250 Mbit/s"),
        (rate(56_000), "56 kbit/s"),
        (rate(300), "300 bit/s"),
        (power_of_two(2.0**40), "2^40"),
        (power_of_two(1.5), "2^0.58"),
        (power_of_two(2.0**10.1), "2^10.1"),
        (count(1234567), "1,234,567"),
    ],
)
def test_quantities(shown, expected):
    assert shown == expected


def test_relative_bits():
    assert relative_bits(2.0**-10, 4.0) == 12
    assert relative_bits(0.0, 1.0) is None


def test_explain_plan_and_client_files(tmp_path):
    @lw.program
    def shifted(x: lw.Secret[8], w):
        return x @ w

    plan = lw.compile(shifted, weights=(np.eye(8, k=1),), precision_bits=4, ring_degree=1024, insecure=True).plan
    write_plan(plan, tmp_path / "a.plan")
    write_client(plan.client, tmp_path / "a.client")
    told = explain_file(tmp_path / "a.plan")
    assert "plan (for the server" in told
    assert "INSECURE" in told
    assert "rotation " in told
    assert "return x @ w" in told
    assert bytes(_core.ContainerReader(str(tmp_path / "a.plan"), kinds=[1]).parameters).hex()[:16] in told
    client = explain_file(str(tmp_path / "a.client"))
    assert "client file" in client
    assert "Predicted time" not in client
    assert max(map(len, (told + client).splitlines())) <= 100


@pytest.mark.parametrize("kind", list(_core.FileKind)[2:])
def test_explain_other_files(tmp_path, kind):
    path = tmp_path / "file"
    header = {"key_set": bytes(16), "keys": [["galois", 5, 0, 2]] * 40, "note": NASTY}
    _core.write_container(str(path), int(kind), bytes(range(32)), header, [(1, bytes(5000))] * 30)
    told = explain_file(path)
    assert bytes(range(8)).hex() in told and bytes(8).hex() in told
    is_bare = kind in (_core.FileKind.SECRET_KEY, _core.FileKind.PUBLIC_KEY)  # nothing more to be said
    assert ("Sections (30)" in told and "5.00 kB" in told and "6 more" in told) != is_bare
    assert ("SECRET" in told) == (kind == _core.FileKind.SECRET_KEY)
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= 100


def test_explain_names_files_of_text_and_what_reads_them(tmp_path):
    ledger, record = tmp_path / "refusals.lwledger", tmp_path / "0f.json"
    LedgerFile(ledger, bytes(16)).create()
    ClippedRows.of(3, [1]).save(record)
    for file, words in ((ledger, "ledger of the refusals.*decrypt"), (record, "record of clipped rows.*--record")):
        for source in (file, file.read_bytes()):
            with pytest.raises(FormatError, match=words):
                explain_file(source)


def test_client_reports_tell_what_clients_refuse_and_what_bounds_rest_on():
    spec = loop_plan().client
    constraint = Constraint("x", "sigmoid", "p.py:3", -1.0, 2.0, (Element((0,)),))
    conditions = (Condition("sign", "p.py:4", 0.1),)
    outputs = tuple(replace(output, conditions=conditions) for output in spec.outputs)
    report = build_client_report(replace(spec, constraints=(constraint,), outputs=outputs))
    for told in (report.text(), "".join(Balanced(report.html()).texts)):
        said = " ".join(told.split())
        assert "Clients refuse rows in which what sigmoid in p.py:3 takes of x leaves -1 to 2" in said
        assert "holds only for inputs whose comparisons keep their gap and range: sign at p.py:4 (gap=0.1)" in said


def test_explain_refuses_what_is_damaged(tmp_path):
    path = tmp_path / "file"
    _core.write_container(str(path), int(_core.FileKind.CIPHERTEXTS), bytes(32), {}, [(1, bytes(5000))])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError):
        explain_file(path)


def test_report_is_plain_data():
    assert isinstance(build_report(loop_plan()), Report)
    assert build_report(loop_plan()) == build_report(loop_plan())


def test_a_report_is_saved_in_the_form_that_its_ending_says(tmp_path):
    report = build_report(nasty_plan())
    forms = {"a.html": report.html(), "b.TXT": report.text(), "c.json": report.json()}
    for name, text in forms.items():
        report.save(tmp_path / name)
        assert (tmp_path / name).read_text() == text
    for name in ("report.pdf", "report", "report.htm"):
        ending = Path(name).suffix
        with pytest.raises(FormatError, match=f"{name} ends in '?{ending or 'nothing'}.*name it .html .a page., .txt"):
            report.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_the_json_report_has_the_numbers_of_the_report():
    report = build_report(counted_plan(3))
    read = json.loads(report.json())
    assert {f.name for f in fields(Contents)} - set(read) == {"level_use", "special_bits", "digits", "execution"}
    assert read["name"] == report.name and read["time"]["first_run"] == report.execution.estimate.first_seconds
    assert read["inputs"][0]["layout"] == report.inputs[0].layout
    assert [k["stored_bytes"] for k in read["keys"]] == [k.stored_bytes for k in report.keys]
    unbounded = replace(report, outputs=(replace(report.outputs[0], worst_case=float("inf")),))
    assert json.loads(unbounded.json())["outputs"][0]["worst_case"] is None
    assert build_client_report(counted_plan(3).client).json().isascii()
