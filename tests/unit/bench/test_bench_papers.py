"""docs/papers.md: what stored results say, every loss with a reason."""

from dataclasses import replace

import pytest

from bench.papers import __main__ as command
from bench.papers import coyote, halo, keymemrt, rotom, xehe
from bench.papers.evaluation import Cell, Line, Paper, Section, Verdict, check
from bench.papers.page import write
from bench.papers.results import Result

PAPERS = [module.paper() for module in (coyote, rotom, halo, keymemrt, xehe)]


def test_the_page_is_what_stored_results_say():
    assert check(PAPERS) == []
    assert command.PAGE.read_text() == write(PAPERS)


@pytest.mark.parametrize(
    ("cell", "verdict"),
    [
        (Cell(8.0, 4.0), Verdict.WON),
        (Cell(8.0, 8.0), Verdict.EQUAL),
        (Cell(8.0, 8.03), Verdict.EQUAL),  # rounding
        (Cell(8.0, 8.1), Verdict.LOST),
        (Cell(2.0, 3.0, higher=True), Verdict.WON),
        (Cell(2.0, 1.9, higher=True), Verdict.LOST),
        (Cell(0.0, 0.0), Verdict.EQUAL),
        (Cell(0.0, 1.0), Verdict.LOST),
        (Cell(2.0, None), Verdict.NOT_RUN),
        (Cell(None, 2.0), None),
        (Cell(2.0, 9.0, is_fact=True), None),
    ],
)
def test_a_quantity_is_won_or_lost_by_more_than_rounding(cell, verdict):
    assert cell.verdict is verdict


def test_a_row_is_as_good_as_its_worst_quantity():
    won, equal, lost, fact = Cell(2.0, 1.0), Cell(1.0, 1.0), Cell(1.0, 2.0), Cell(1.0, 2.0, is_fact=True)
    for cells, verdict in (
        ((won, equal, fact, None), Verdict.WON), ((equal, fact), Verdict.EQUAL), ((won, lost), Verdict.LOST),
        ((lost, Cell(1.0, None)), Verdict.NOT_RUN),
    ):  # fmt: skip
        assert Line("row", cells).verdict is verdict
    with pytest.raises(ValueError, match="row: no quantity decides"):
        _ = Line("row", (fact,)).verdict


def test_a_loss_without_a_reason_is_named():
    line = Line("dot.3", (Cell(1.0, 2.0),))
    paper = Paper("A", "about", (Section("Table 1", ("s",), (line,), "file"),))
    assert check([paper]) == ["A, Table 1, dot.3: lost without a reason"]
    told = replace(paper, sections=(replace(paper.sections[0], lines=(replace(line, why="because"),)),))
    assert check([told]) == []
    page = write([told])
    assert "| dot.3 | 1 / 2 | **lost** (a) |" in page and "(a) because." in page


def test_another_page_is_told(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(command, "PAGE", tmp_path / "papers.md")
    monkeypatch.setattr("sys.argv", ["papers"])
    assert command.main() == 0
    monkeypatch.setattr("sys.argv", ["papers", "--check"])
    assert command.main() == 0
    command.PAGE.write_text(command.PAGE.read_text().replace("won", "lost", 1))
    assert command.main() == 1
    assert "run python -m bench.papers" in capsys.readouterr().err


def test_results_that_are_not_there():
    with pytest.raises(FileNotFoundError, match="has no nothing-DATE"):
        _ = Result("nothing").path
    with pytest.raises(KeyError):
        Result("coyote").ours("no such case", "run")
    assert all(Result(name).path.exists() for name in ("coyote", "rotom-8192", "halo", "keymemrt-digits", "xehe-h100"))
