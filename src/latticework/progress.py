"""Progress bars and lines: a subscriber to the events of compilation, key generation and evaluation."""

from __future__ import annotations

import os
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import wraps
from operator import itemgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

from latticework.errors import UserError
from latticework.runtime.events import Event

if TYPE_CHECKING:  # who makes keys or runs plans has no passes, and need not load what they work on
    from latticework.ir import PassEvent

PATIENCE = 2.0  # seconds of a compilation before it says how far it is
P = ParamSpec("P")
T = TypeVar("T")
_STAGES = {"keys": "making keys", "evaluate": "evaluating"}


class ProgressBar:
    """A context manager whose object is passed as `on_event`.

    It draws on stderr if that is a terminal, in the output of the cell in a notebook, and elsewhere it writes a line
    on stderr every 30 s.

    console  of rich; standard error if not given
    after    seconds until it shows itself, so that what is quick leaves nothing to be seen

    with ProgressBar("compiling") as bar:
        model = lw.compile(..., on_event=bar)
    """

    def __init__(self, label: str = "", console: Any = None, *, after: float = 0.0) -> None:
        self.label = label
        self._drawing = _choose_drawing(label, console)
        self._pace = _Pace()
        self._lock, self._shown, self._ended = threading.Lock(), False, False
        self._timer = threading.Timer(after, self._show) if after else None

    def __call__(self, event: Event | PassEvent) -> None:
        """Take note of one event."""
        if isinstance(event, Event):
            if event.stage == "read":
                if event.op == "waiting":
                    self._drawing.note(f"{self.label or 'evaluating'}, waiting for keys", event.done, event.total)
                return
            what = self.label or _STAGES.get(event.stage, event.stage)
            if event.trips:
                what += f", turn {min(event.iteration + 1, event.trips)} of {event.trips}"
            left = self._pace.remaining_seconds(event)
            if left is not None:
                what += f", {timedelta(seconds=round(left))} left"
            self._drawing.note(what, event.done, event.total)
        else:
            self._drawing.note(f"{self.label}: {event.name}", None, None)

    def __enter__(self) -> Self:
        if self._timer is None:
            self._show()
        else:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._shown:
                self._drawing.stop()

    def _show(self) -> None:
        with self._lock:
            if not self._ended:
                self._drawing.start()
                self._shown = True


def _choose_drawing(label: str, console: Any) -> _Drawing:
    """The way in which progress is shown on a console, standard error if not given."""
    # rich knows best what is a terminal, but takes long to load: it is asked only where the answer may be yes.
    may_be_asked = any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE")) or "IPython" in sys.modules
    if console is None and not may_be_asked and (sys.stderr is None or not sys.stderr.isatty()):
        return ProgressLines(label)
    from rich.console import Console

    console = console or Console(stderr=True)
    if console.is_jupyter:
        return _Cell(label)
    return _Bar(label, console) if console.is_terminal else ProgressLines(label)


class _Pace:
    """Seconds left of a run, at the pace of the later half of its steps so far.

    The first steps are slower than those that find constants encoded, and all are far from equally long: nothing is
    said of runs of seconds, nor before the twentieth part of the steps.
    """

    QUICK = 5.0  # seconds

    def __init__(self) -> None:
        self._marks: list[tuple[int, float]] = []  # steps done, and when: some hundred over a run

    def remaining_seconds(self, event: Event) -> float | None:
        """Estimate the seconds that are left; None where it is too early to tell."""
        if not self._marks or event.done < self._marks[-1][0]:  # the first step, also of another run
            self._marks = [(event.done - 1, event.start)]  # steps before a checkpoint were another process's
        first, begun = self._marks[0]
        if (event.done - self._marks[-1][0]) * 200 >= event.total:
            self._marks.append((event.done, event.end))
        done, when = self._marks[bisect_right(self._marks, (first + event.done) / 2, key=itemgetter(0)) - 1]
        if (event.done - first) * 20 < event.total - first or event.end - begun < self.QUICK:
            return None
        return (event.end - when) * (event.total - event.done) / (event.done - done)


class _Drawing(Protocol):
    """A display of progress."""

    def note(self, what: str, done: int | None, total: int | None) -> None:
        """One more step, or so many of so many, whether or not it is shown yet."""

    def start(self) -> None:
        """Show it."""

    def stop(self) -> None:
        """Take it away."""


class _Bar:
    """A line of a terminal."""

    def __init__(self, label: str, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task(label, total=None)
        self.start, self.stop = self._progress.start, self._progress.stop

    def note(self, what: str, done: int | None, total: int | None) -> None:
        """Implement `_Drawing`."""
        if done is None:
            self._progress.update(self._task, description=what, advance=1)
        else:
            self._progress.update(self._task, description=what, total=total, completed=done)


class _Status:
    """A line of text that says how far the work is.

    clock  seconds
    """

    def __init__(self, label: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._started = clock, clock()
        self._text, self._steps = label, 0

    def note(self, what: str, done: int | None, total: int | None) -> None:
        """Take note of one more step, or of so many of so many."""
        self._steps = self._steps + 1 if done is None else done
        self._text = f"{what}, step {self._steps}{f' of {total}' if total else ''}"

    def line(self) -> str:
        """The last step, and the seconds since the work began."""
        return f"{self._text} ({self._clock() - self._started:.0f} s)"


class _Cell:
    """A line of text in the output of a notebook's cell, which needs nothing but IPython itself."""

    INTERVAL = 0.1  # seconds between messages to the browser

    def __init__(self, label: str) -> None:
        self._status, self._sent, self._handle = _Status(label), 0.0, None

    def note(self, what: str, done: int | None, total: int | None) -> None:
        """Implement `_Drawing`."""
        self._status.note(what, done, total)
        if self._handle is not None and time.monotonic() - self._sent > self.INTERVAL:
            self._send(self._handle)

    def start(self) -> None:
        """Implement `_Drawing`."""
        from IPython.display import display

        self._handle = display(self._content(), raw=True, display_id=True)

    def stop(self) -> None:
        """Implement `_Drawing`."""
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)

    def _send(self, handle: Any) -> None:
        self._sent = time.monotonic()
        handle.update(self._content(), raw=True)

    def _content(self) -> dict[str, str]:
        return {"text/plain": self._status.line()}


class ProgressLines:
    """A line every 30 s, for output that is kept in a file: also where one step takes long, from a thread of its own.

    write  what lines are handed to: standard error, as it is then, unless given
    clock  seconds;  wait  is given seconds, returns after them whether the work has ended
    """

    INTERVAL = 30.0  # seconds

    def __init__(
        self,
        label: str,
        write: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._status, self._ended = _Status(label, clock), threading.Event()
        self._write, self._wait = write or _write_line, wait or self._ended.wait
        self.note = self._status.note

    def start(self) -> None:
        """Implement `_Drawing`."""
        threading.Thread(target=self.tell, daemon=True).start()

    def stop(self) -> None:
        """Implement `_Drawing`."""
        self._ended.set()

    def tell(self) -> None:
        """Write lines until the work has ended."""
        while not self._wait(self.INTERVAL):
            self._write(self._status.line())


def _write_line(text: str) -> None:
    if sys.stderr is not None:  # it may be closed
        with suppress(OSError, ValueError):  # or take no more: the work goes on
            print(text, file=sys.stderr, flush=True)


def shows_progress(compile: Callable[P, T]) -> Callable[P, T]:
    """Decorator of what takes `on_event` and `progress`: a bar listens beside whoever else does, unless progress=False.

    raises  UserError for a `progress` that is neither True nor False
    """

    @wraps(compile)
    def compile_with_bar(*args: P.args, **given: P.kwargs) -> T:
        options: dict[str, Any] = given
        progress = options.get("progress", True)
        if not isinstance(progress, bool):
            raise UserError(f"compile: progress={progress!r}; give True, or False to show nothing while it works")
        listener = options.get("on_event")
        if listener is not None and not callable(listener):
            raise UserError(f"compile: on_event={listener!r}; give a function of one event, or leave it out")
        if not progress:
            return compile(*args, **given)
        with ProgressBar("compiling", after=PATIENCE) as bar:

            def both(event: Event | PassEvent) -> None:
                bar(event)
                if listener is not None:
                    listener(event)

            return compile(*args, **options | {"on_event": both})

    return compile_with_bar
