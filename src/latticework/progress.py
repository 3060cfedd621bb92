"""Progress bars: a subscriber to the events of compilation, key generation and evaluation."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from latticework.runtime import Event

if TYPE_CHECKING:  # who makes keys or runs plans has no passes, and need not load what they work on
    from latticework.ir import PassEvent

_STAGES = {"keys": "making keys", "evaluate": "evaluating"}


class ProgressBar:
    """A context manager whose object is passed as `on_event`; it draws on stderr, and only on a terminal.

    with ProgressBar("compiling") as bar:
        model = lw.compile(..., on_event=bar)
    """

    def __init__(self, label: str = "", console: Console | None = None) -> None:
        self.label = label
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        console = console or Console(stderr=True)
        seen = console.is_terminal or console.is_jupyter
        self._progress = Progress(*columns, console=console, transient=True, disable=not seen)
        self._task = self._progress.add_task(label, total=None)

    def __call__(self, event: Event | PassEvent) -> None:
        """Take note of one event."""
        if isinstance(event, Event):
            description = self.label or _STAGES.get(event.stage, event.stage)
            self._progress.update(self._task, description=description, total=event.total, completed=event.done)
        else:
            self._progress.update(self._task, description=f"{self.label}: {event.name}", advance=1)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
