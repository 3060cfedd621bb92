"""Progress bars are drawn on terminals, and nothing else is written anywhere."""

import io

import pytest
from rich.console import Console

from latticework.ir import PassEvent
from latticework.progress import ProgressBar
from latticework.runtime import Event

EVENTS = [PassEvent("cse", 3, 2, 0.0, 1.0), Event("keys", "galois", 1, 2, 3, 0.0, 1.0)]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_drawn_on_terminals_only(is_terminal):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=80)
    with ProgressBar("at work", console) as bar:
        for event in EVENTS:
            bar(event)
    written = console.file.getvalue()
    assert ("at work" in written) == is_terminal and bool(written) == is_terminal
