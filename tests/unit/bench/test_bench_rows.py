"""Rows of benchmarks: what ratio and target mean, the printed object, the table."""

import io
import json
import mmap

import pytest
from rich.console import Console

from latticework.commands.benchmarks import ROOT, suites
from latticework.errors import UserError

bench_suites = suites()  # puts the source tree on the path
from bench import stored  # noqa: E402
from bench.rows import Row, report, rounded, show, summary, table  # noqa: E402
from bench.usage import Usage, usage  # noqa: E402
from bench.usage import rows as usage_rows  # noqa: E402

KEYS = ["case", "metric", "unit", "ours", "reference", "source", "ratio", "target", "better", "meets", "checked"]


@pytest.mark.parametrize(
    ("better", "ours", "reference", "target", "ratio", "meets"),
    [
        ("lower", 2.0, 8.0, 2.0, 4.0, True),
        ("lower", 2.0, 8.0, 1.9, 4.0, False),
        ("higher", 6.0, 2.0, 5.0, 3.0, True),
        ("higher", 6.0, 2.0, 7.0, 3.0, False),
        ("lower", 2.0, None, None, None, None),
        ("lower", None, 8.0, 2.0, None, False),
    ],
)
def test_ratio_and_target(better, ours, reference, target, ratio, meets):
    row = Row("c", "time", "s", ours, reference, target=target, better=better, checked=True)
    assert (row.ratio, row.meets) == (ratio, meets)


def test_a_target_is_met_only_by_a_checked_figure():
    assert Row("c", "time", "s", 1.0, target=2.0, checked=False).meets is False
    assert Row("c", "time", "s", None, required=True, note="skipped: no peer").meets is False


def test_a_row_has_the_keys_that_are_promised():
    content = Row("c", "time", "s", 1.23456789, 2.0, "someone", checked=True).content()
    assert list(content) == KEYS
    assert content["ours"] == 1.235
    assert list(Row("c", "time", "s", None, note="why", details={"n": 1}).content()) == [*KEYS, "note", "details"]
    with pytest.raises(ValueError, match="fewer"):
        Row("c", "time", "s", 1.0, better="fewer")


def test_numbers_that_json_cannot_say():
    assert [rounded(x) for x in (None, float("inf"), float("nan"), 0.0, 123456.0)] == [None, None, None, 0.0, 123500.0]


def test_usage_of_first_and_later_runs():
    """Medians of the later runs, of which none is to get memory; a touched stretch shows in the process's figures."""
    runs = [Usage(9.0, 5.0, 4.0, 900), Usage(2.0, 1.0, 0.5, 0), Usage(4.0, 3.0, 0.1, 8), Usage(3.0, 2.0, 0.2, 1)]
    found = {row.metric: row for row in usage_rows("c", runs, [1 << 30, 0, 5, 0], (18.0, 1.1))}
    ours = {metric: row.ours for metric, row in found.items()}
    assert ours["first run, processor time"] == 9.0 and ours["later runs, processor time"] == 2.2
    assert (ours["first run, system time"], ours["later runs, system time"]) == (4.0, 0.2)
    assert (ours["first run, page faults"], ours["later runs, page faults"]) == (900, 1)
    assert found["first run, processor time"].ratio == 2.0 and found["later runs, memory got"].meets
    assert not {row.metric: row for row in usage_rows("c", runs, [0, 7, 5, 0])}["later runs, memory got"].meets
    before = usage()
    with mmap.mmap(-1, 64 * mmap.PAGESIZE) as memory:
        for page in range(64):
            memory[page * mmap.PAGESIZE] = 1
    spent = usage() - before
    assert spent.faults >= 1 and spent.seconds > 0


def test_printed_object(capsys):
    content = report("demo", [Row("c", "time", "s", 1.0)], {"threads": 1})
    assert list(content) == ["suite", "commit", "date", "machine", "conditions", "rows", "summary"]
    assert set(content["machine"]) == {"cpu", "cores", "memory_gb", "gpu"}
    show(content, as_json=True)
    assert json.loads(capsys.readouterr().out) == content


def test_table_shows_every_row():
    rows = [
        Row("fast", "time", "ms", 1.5, 6.0, "peer 1.0", target=2.0, checked=True),
        Row("slow", "rate", "GB/s", 1.0, 2.0, "peer 1.0", target=2.0, better="higher", checked=True),
        Row("gone", "time", "ms", None, note="skipped: no Python 3.10", required=True),
    ]
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(table(report("demo", rows, {})))
    fast, slow, gone = (
        next(line for line in console.export_text(clear=False).splitlines() if f"│ {row.case} " in line) for row in rows
    )
    assert all(cell in fast for cell in ("1.5 ms", "6 ms", "4.00x", "<= 2 ms", "yes", "peer 1.0"))
    assert all(cell in slow for cell in ("1 GB/s", "0.50x", ">= 2 GB/s", "NO"))
    assert "NO" in gone and "skipped: no Python 3.10" in gone


def test_summary_counts_targets_and_names_the_row_farthest_from_its():
    rows = [
        Row("a", "time", "ms", 1.0, 8.0, target=2.0, checked=True),
        Row("b", "time", "ms", 4.0, 8.0, target=2.0, checked=True),
        Row("c", "rate", "GB/s", 3.0, 2.0, target=4.0, better="higher", checked=True),
        Row("d", "time", "ms", None, note="skipped", required=True),
        Row("e", "time", "ms", 1.0, 0.1),
    ]
    found = summary(rows)
    assert (found["targets"], found["met"], found["not met"]) == (4, 1, ["b: time", "c: rate", "d: time"])
    assert found["worst"] == {"row": "b: time", "ratio": 2.0, "share of target": 0.5}
    assert summary(rows[-1:]) == {"targets": 0, "met": 0, "not met": []}


def test_summary_is_shown_below_the_table(capsys):
    show(report("demo", [Row("b", "time", "ms", 4.0, 8.0, target=2.0, checked=True)], {}), as_json=False)
    shown = capsys.readouterr().out
    assert "targets met: 0 of 1" in shown and "not met: b: time" in shown
    assert "farthest from its target: b: time: 2.00x, 0.50 of its target" in shown


def test_suites_load_and_installed_packages_are_told_where_they_are(tmp_path):
    assert (ROOT / "bench" / "rows.py").is_file()
    for name in bench_suites.SUITES:
        assert bench_suites.suite(name) is not None
    with pytest.raises(UserError, match="source distribution"):
        suites(tmp_path)


def test_stored_results_are_shown_again(tmp_path):
    rows = [
        Row("rotate", "time", "ms", 2.0, 8.0, "peer 1.0, same run", 4.0, checked=True),
        Row("add", "size", "MB", 1.5),
    ]
    file = tmp_path / "one.json"
    file.write_text(json.dumps(report("peers", rows, {})))
    text = stored.as_markdown(stored.load(file))
    assert "| rotate | time | 2 ms | 8 ms | 4.00x | <= 4 ms | yes | peer 1.0, same run |" in text
    assert "| add | size | 1.5 MB |  |  |  |  |  |" in text and "Targets met: 1 of 1." in text


@pytest.mark.parametrize("text", ["", "[]", '{"suite": "peers"}', "{"])
def test_what_is_no_result_is_refused(tmp_path, text):
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(UserError, match="bench show: .*bad.json"):
        stored.load(file)
