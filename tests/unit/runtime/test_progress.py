"""Progress bars are drawn on terminals; elsewhere a line is written every 30 s."""

import inspect
import io
import json
import sys
import time
from types import ModuleType

import pytest
from rich.console import Console

import latticework as lw
from latticework import cli, progress
from latticework.ir import PassEvent
from latticework.progress import ProgressBar, ProgressLines, shows_progress
from latticework.runtime.events import Event

EVENTS = [PassEvent("cse", 3, 2, 0.0, 1.0), Event("keys", "galois", 1, 2, 3, 0.0, 1.0)]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_drawn_on_terminals_only(is_terminal, capsys):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=80)
    with ProgressBar("at work", console) as bar:
        for event in EVENTS:
            bar(event)
    written = console.file.getvalue()
    assert ("at work" in written) == is_terminal and bool(written) == is_terminal
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("patience", "is_drawn"), [(0.02, True), (60.0, False)])
def test_a_bar_waits_until_the_work_takes_long(patience, is_drawn):
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with ProgressBar("at work", console, after=patience) as bar:
        bar(EVENTS[0])
        end = time.monotonic() + 10.0
        while is_drawn and not console.file.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
        bar(EVENTS[1])
    assert ("at work" in console.file.getvalue()) == is_drawn


def test_lines_every_30_seconds_and_none_before():
    now, written, ends = [100.0], [], iter([False, False, False, True])
    events = iter([("x: cse", None, None), ("x: dce", None, None), ("x", 7, 9), ("x", 9, 9)])

    def wait(seconds):
        now[0] += seconds
        lines.note(*next(events))
        return next(ends)

    lines = ProgressLines("x", written.append, lambda: now[0], wait)
    lines.tell()
    assert written == ["x: cse, step 1 (30 s)", "x: dce, step 2 (60 s)", "x, step 7 of 9 (90 s)"]


PROGRAM = """
import latticework as lw

@lw.program
def double(x: lw.Secret[4]):
    return x + x
"""


def test_commands_write_lines_on_standard_error(monkeypatch, tmp_path, capsys):
    """JSON stays alone on standard output; the lines of what ends before the first of them are none."""
    (tmp_path / "p.py").write_text(PROGRAM)
    words = ["latticework", "compile", str(tmp_path / "p.py"), "--precision-bits", "8", "--json", "-o"]
    for interval in (30.0, 0.001):
        monkeypatch.setattr(ProgressLines, "INTERVAL", interval)
        monkeypatch.setattr(sys, "argv", [*words, str(tmp_path / f"{interval}.lwplan")])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        assert ended.value.code == 0 and json.loads(out)["ok"] and out.count("\n") == 1
        assert ("compiling: " in err and ", step " in err) == (interval < 1)


class Cell:
    """What IPython displays: the texts of one output, one after the other."""

    def __init__(self, monkeypatch):
        self.texts = []
        display = ModuleType("IPython.display")
        display.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, content, *, raw, display_id):
        assert raw and display_id
        self.texts.append(content["text/plain"])
        return self

    def update(self, content, *, raw):
        self.texts.append(content["text/plain"])


def test_a_notebook_shows_a_line_and_takes_it_away(monkeypatch):
    cell = Cell(monkeypatch)
    monkeypatch.setattr(progress._Cell, "INTERVAL", 0.0)
    with ProgressBar("at work", Console(file=io.StringIO(), force_jupyter=True)) as bar:
        for event in EVENTS:
            bar(event)
    assert [text.split(" (")[0] for text in cell.texts] == [
        "at work",
        "at work: cse, step 1",
        "at work, step 1 of 2",
        "",
    ]


def test_what_is_read_of_keys_moves_no_bar(monkeypatch):
    cell = Cell(monkeypatch)
    monkeypatch.setattr(progress._Cell, "INTERVAL", 0.0)
    with ProgressBar("at work", Console(file=io.StringIO(), force_jupyter=True)) as bar:
        bar(Event("evaluate", "add", 1, 2, 3, 0.0, 1.0))
        before = list(cell.texts)
        bar(Event("read", "keys", 0, 0, -1, 0.0, 0.0))
        assert cell.texts == before
        bar(Event("read", "waiting", 1, 2, -1, 0.0, 1.5, waited=1.5))
        assert [text.split(" (")[0] for text in cell.texts[len(before) :]] == ["at work, waiting for keys, step 1 of 2"]


def test_compiling_shows_progress_unless_told_not_to(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setenv("FORCE_COLOR", "1")  # so rich is asked for the console
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)

    @lw.program
    def double(x: lw.Secret[4]):
        return x + x

    seen = []
    lw.compile(double, precision_bits=8, progress=False, on_event=seen.append)
    assert seen and not console.file.getvalue()
    before = len(seen)
    lw.compile(double, precision_bits=8, on_event=seen.append)
    assert "compiling: " in console.file.getvalue() and len(seen) == 2 * before
    with pytest.raises(lw.UserError, match="compile: progress='no'; give True, or False to show nothing while"):
        lw.compile(double, progress="no")


def test_a_decorated_function_keeps_its_signature():
    assert "progress" in inspect.signature(lw.compile).parameters
    assert inspect.signature(shows_progress(lw.compile)) == inspect.signature(lw.compile)
    assert shows_progress(lw.compile).__doc__ == lw.compile.__doc__
