"""Performance over commits: records, comparison, warning and page, of figures that are made up; nothing is timed."""

import re
from itertools import count
from typing import ClassVar
from xml.etree import ElementTree

import pytest

from bench.performance import __main__ as command
from bench.performance.history_page import render, sparkline
from bench.performance.interleaved import Samples, calibrate, measure
from bench.performance.records import Change, add, compare, read, write


def record(commit, cpu="A <1>", **ratios):
    cases = {
        name: {"seconds": ratio / 100, "ratio": ratio, "spread": 0.02, "rounds": 15} for name, ratio in ratios.items()
    }
    return {"commit": commit, "date": "2026-11-28T05:00:00+00:00", "cpu": cpu, "python": "3.11.7", "load": 0.1,
            "calibration": 0.01, "cases": cases}  # fmt: skip


def test_a_record_is_compared_with_the_median_of_the_last_five_of_its_processor():
    past = [record(f"c{i}", ntt=ratio) for i, ratio in enumerate((9.0, 1.0, 2.0, 3.0, 5.0, 4.0))]
    (change,) = compare([*past, record("x", cpu="B", ntt=100.0)], record("new", ntt=3.3))
    assert (change.before, change.ratio) == (3.0, 3.3)
    assert change.share == pytest.approx(0.1)


def test_a_commit_that_is_measured_again_is_not_compared_with_itself():
    old, first, again = record("a", ntt=2.0), record("b", ntt=3.0), record("b", ntt=2.0)
    records = add([old, first], again)
    assert records == [old, again]
    assert compare([old, first], again) == compare(records, again) == [Change("ntt", 2.0, 2.0)]
    assert add([old, first], record("b", cpu="B", ntt=1.0))[:2] == [old, first]


@pytest.mark.parametrize(("ratio", "is_slower"), [(2.0, False), (2.098, False), (2.1, True), (3.0, True), (1.0, False)])
def test_five_per_cent_slower_is_warned_of(ratio, is_slower):
    assert Change("ntt", ratio, 2.0).is_slower is is_slower


def test_a_new_case_has_nothing_to_be_compared_with():
    (change,) = compare([record("a", ntt=2.0)], record("b", intt=9.0))
    assert (change.before, change.share, change.is_slower) == (None, 0.0, False)


def test_records_are_kept_one_a_line(tmp_path):
    file = tmp_path / "performance.jsonl"
    records = [record("a", ntt=2.0), record("b", ntt=2.5)]
    assert read(file) == []
    write(file, records)
    assert file.read_text().count("\n") == 2
    assert read(file) == records


def test_keeping_a_record_writes_the_page_and_tells_what_is_slower(tmp_path):
    file = tmp_path / "performance.jsonl"
    assert command.keep(file, [], record("a", ntt=2.0, run=4.0)) == []
    (change,) = command.keep(file, read(file), record("b", ntt=2.0, run=5.0))
    assert change.sentence() == "run: 25.0 % slower (4 -> 5 calibration loops)"
    assert [kept["commit"] for kept in read(file)] == ["a", "b"]
    assert file.with_suffix(".html").read_text() == render(read(file))


class Measured(command.Measurement):
    """Ratios by pass instead of an interpreter that measures."""

    passes = ()
    asked: ClassVar[list] = []

    def run(self, only=()):
        for name, ratio in self.passes[len(self.asked)].items():
            if not only or name in only:
                samples = self.samples.setdefault(name, Samples([], []))
                samples.seconds.append(ratio / 100)
                samples.ratios.append(ratio)
        self.asked.append(list(only))
        self.facts = {"cpu": "A <1>", "python": "3.11.7", "load": 0.1, "calibration": 0.01}


def test_what_is_unsteady_is_measured_again_too():
    new = record("b", ntt=2.0, run=4.0)
    new["cases"]["run"]["spread"] = 0.2
    assert command.suspects([], new) == ["run"]


@pytest.mark.parametrize(("second", "status"), [(1.9, 0), (2.6, 1)])
def test_what_looks_slower_is_measured_again_before_it_is_warned_of(tmp_path, monkeypatch, capsys, second, status):
    file = tmp_path / "performance.jsonl"
    write(file, [record("a", ntt=2.0, run=4.0)])
    monkeypatch.setattr(Measured, "passes", ({"ntt": 2.2, "run": 4.0}, {"ntt": second, "run": 9.0}))
    monkeypatch.setattr(Measured, "asked", [])
    monkeypatch.setattr(command, "Measurement", Measured)
    monkeypatch.setattr(command, "make_environment", lambda wheel, folder: folder)
    monkeypatch.setattr(command, "commit_of", lambda revision: ("b", "2026-11-28T06:00:00+00:00"))
    monkeypatch.setattr("sys.argv", ["performance", "--wheel", "none.whl", "--file", str(file)])
    assert command.main() == status
    assert Measured.asked == [[], ["ntt"]]
    told = capsys.readouterr()
    assert ("warning: ntt: 20.0 % slower" in told.err) == (status == 1)
    assert re.search(r"^ntt .*%$", told.out, re.MULTILINE)
    assert read(file)[-1]["cases"]["run"]["ratio"] == 4.0


def test_the_page_has_a_table_for_each_processor_and_a_curve_for_each_case():
    records = [record("a", ntt=2.0, run=4.0), record("x", cpu="B", ntt=1.0), record("b", ntt=2.5, run=1.0)]
    page = ElementTree.fromstring(render(records).partition("\n")[2].replace('<meta charset="utf-8">', ""))
    assert [heading.text for heading in page.iter("h2")] == ["A <1>", "B"]
    rows = [[cell.text or "" for cell in row.iter("td")][:5] for row in page.iter("tr")]
    assert [cells for cells in rows if cells] == [
        ["ntt", "25", "2.5", "2.0 %", "+25.0 %"],
        ["run", "10", "1", "2.0 %", "-75.0 %"],
        ["ntt", "10", "1", "2.0 %", ""],
    ]
    assert [cell.get("class") for cell in page.iter("td") if cell.get("class")] == ["slower", "faster"]
    assert [curve.get("aria-label") for curve in page.iter("svg")] == ["2, 2.5", "4, 1", "1"]
    assert "http" not in render(records)


def test_a_page_without_records_says_so():
    assert "There are no records yet." in render([])


def test_a_curve_begins_at_zero_and_leaves_gaps_out():
    svg = ElementTree.fromstring(sparkline([1.0, None, 2.0]))
    points = [tuple(map(float, point.split(","))) for point in svg[0].get("points").split()]
    assert points == [(3.0, 14.0), (217.0, 3.0)]
    assert sparkline([None]) == ""


def test_ratios_are_those_to_the_loops_before_and_after():
    """By a clock that advances by 1, 2, 3, ... between readings."""
    ticks = count()
    total = 0

    def clock():
        nonlocal total
        total += next(ticks)
        return float(total)

    calls = []
    found = measure([("case", lambda: calls.append(1))], 2, {}, clock)
    # readings come in pairs: one call 1, loop 3, case 5, loop 7, case 9, loop 11
    assert found["case"].seconds == [5.0, 9.0]
    assert found["case"].ratios == [5.0 / 5.0, 9.0 / 9.0]
    assert len(calls) == 4  # one that does not count, one to see how many calls fill a round, two rounds
    assert measure([("case", lambda: None)], 1, found, clock)["case"].seconds[:2] == [5.0, 9.0]


def test_the_summary_has_medians_and_the_distance_of_quartiles():
    summary = Samples([3.0, 1.0, 2.0], [30.0, 10.0, 20.0]).summary()
    assert summary == {"seconds": 2.0, "ratio": 20.0, "spread": 1.0, "rounds": 3}
    assert Samples([1.0], [2.0]).summary()["spread"] == 0.0


def test_the_calibration_loop_is_the_same_work_each_time():
    assert calibrate() == calibrate()
