"""Output of commands: text for people or one JSON object, warnings, times of steps, exit status."""

from __future__ import annotations

import json as json_text
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import field
from typing import Any

from latticework.commands.command_table import Command
from latticework.commands.option_names import in_words
from latticework.errors import UserError
from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass

DONE, REFUSED, USAGE, SYSTEM, FAULT, INTERRUPTED, NO_READER = 0, 1, 2, 3, 4, 130, 141
RED_AND_BOLD, NORMAL = "\x1b[31m\x1b[1m", "\x1b[0m"  # for terminals
EXIT_STATUS = {
    DONE: "done",
    REFUSED: "what was given is wrong or does not fit together: program, data, keys, files",
    USAGE: "the command line is wrong: an unknown option or name, a missing argument",
    SYSTEM: "a file is missing, is there already, cannot be read or written, or memory or disk is full",
    FAULT: "a fault of latticework itself, with a traceback",
    INTERRUPTED: "interrupted (Ctrl-C); no file is left half-written",
    NO_READER: "nobody reads the output any more, as after `| head -1`",
}


class UsageError(UserError):
    """A command line names what there is not, or has a word of another form."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command.

    facts  for --json: plain data by name
    lines  for people, made printable when they are said
    body   for people, before the lines: text that is printable already
    data   bytes for standard output, where that was given as the output: all else goes to standard error
    status  the exit status: DONE, or REFUSED where the answer is that something is wrong
    """

    facts: Mapping[str, Any]
    lines: tuple[str, ...] = ()
    body: str = ""
    data: bytes | None = None
    status: int = 0


@dataclass
class CommandOutput:
    """The output of a running command.

    command  its name
    json     whether one JSON object says everything, when the command ends
    verbose  whether the times of steps are said
    """

    command: str
    json: bool = False
    verbose: bool = False
    warnings: list[str] = field(default_factory=list)
    is_cut: bool = False  # whether standard output takes nothing any more
    steps: dict[str, list[float]] = field(default_factory=dict)  # name -> how often, seconds

    def warn(self, text: str) -> None:
        """Something to know that does not end the command."""
        self.warnings.append(plain_text(in_words(text)))
        if not self.json:
            say(self.warnings[-1], error=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """The time of a step of the command."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._add(name, time.perf_counter() - started)

    def listener(self, bar: Callable[[Any], None]) -> Callable[[Any], None]:
        """A subscriber to passes, keys and instructions: what a progress bar is told, and their times."""

        def listen(event: Any) -> None:
            bar(event)
            if getattr(event, "stage", "") != "read":
                self._add(event.op if hasattr(event, "op") else event.name, event.end - event.start)
            elif event.traffic is not None and event.traffic.stalls:
                self._add("waits for keys, within these", event.traffic.stall_s, event.traffic.stalls)

        return listen if self.verbose else bar

    def _add(self, name: str, seconds: float, times: int = 1) -> None:
        count_and_sum = self.steps.setdefault(name, [0, 0.0])
        count_and_sum[0] += times
        count_and_sum[1] += seconds

    def end(self, outcome: Outcome) -> None:
        """Say what was done; OSError if standard output takes no more."""
        try:
            self._tell(outcome)
            if sys.stdout is not None:  # it may be closed
                sys.stdout.flush()
        except OSError as error:
            self.is_cut = True
            discard(sys.stdout)
            raise type(error)(error.errno, f"standard output: {error.strerror}") from None

    def _tell(self, outcome: Outcome) -> None:
        aside = outcome.data is not None
        if outcome.data is not None:
            sys.stdout.buffer.write(outcome.data)
            sys.stdout.flush()
        if self.json:
            self._say_json({"ok": outcome.status == DONE, **outcome.facts}, aside=aside)
        else:
            self._say_steps()
            if outcome.body:
                print(outcome.body, file=sys.stderr if aside else sys.stdout)
            for line in outcome.lines:
                say(line, error=aside)

    def fail(self, status: int, kind: str, text: str, at: object = None) -> int:
        """Say why nothing was done; the exit status."""
        text = plain_text(in_words(text))
        if self.json:
            error = {"kind": kind, "message": text, "at": None if at is None else str(at), "exit_status": status}
            self._say_json({"ok": False, "error": error}, aside=self.is_cut)
        else:
            where = "" if at is None else f"{plain_text(at)}: "
            is_plain = "NO_COLOR" in os.environ or not sys.stderr.isatty()
            print(kind if is_plain else f"{RED_AND_BOLD}{kind}{NORMAL}", end="", file=sys.stderr)
            say(f": {where}{text}", error=True)
        return status

    def _say_json(self, facts: Mapping[str, Any], *, aside: bool) -> None:
        told: dict[str, Any] = {"command": self.command, **facts, "warnings": self.warnings}
        if self.verbose:
            told["steps"] = [{"name": n, "count": int(c), "seconds": s} for n, (c, s) in self.steps.items()]
        print(json_text.dumps(told, allow_nan=False), file=sys.stderr if aside else sys.stdout)

    def _say_steps(self) -> None:
        if self.verbose:
            for name, (count, seconds) in self.steps.items():
                say(f"{seconds:10.4f} s  {name}{f' ({int(count)} times)' if count > 1 else ''}", error=True)

    def show_warning(self, message: Warning | str, category: type[Warning], file: str, line: int, *_: Any) -> None:
        """Show a warning in place of Python's own: one line, which names the place only where it is the user's."""
        ours = category.__module__.startswith("latticework.")
        self.warn(f"{category.__name__}: {message}" + ("" if ours else f" ({file}:{line})"))


def say(text: str, *, error: bool = False) -> None:
    """One line as it stands: nothing that a terminal obeys."""
    print(plain_text(text), file=sys.stderr if error else sys.stdout)


def discard(stream: Any) -> None:
    """Let what is still to be written to a stream that takes nothing any more go nowhere, and Python end in peace."""
    with suppress(OSError):  # a stream without a descriptor holds nothing back
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def carry_out(name: str, work: Callable[..., Outcome], command: Command, words: Mapping[str, Any]) -> int:
    """The exit status of a command that is called with these words, after its outcome or its fault has been told.

    work   the function of the command, of a `CommandOutput` and the words, those of a group in a dictionary
    words  by name of the option

    While it works, whatever a user's program prints goes to standard error if standard output is to hold JSON.
    """
    talk = CommandOutput(name, words.get("json", False), words.get("verbose", False))
    return attempt(talk, lambda: work(talk, **command.group_options(words)))


def report_misuse(command: str, text: str) -> int:
    """The exit status after a wrong command line has been told as JSON; command  "" where none was named."""
    return CommandOutput(command, json=True).fail(USAGE, "UsageError", text)


def attempt(talk: CommandOutput, work: Callable[[], Outcome]) -> int:
    """The exit status of a command, after it or its fault has been told."""
    try:
        with warnings.catch_warnings(), redirect_stdout(sys.stderr if talk.json else sys.stdout):
            warnings.showwarning = talk.show_warning  # type: ignore[assignment]
            outcome = work()
        talk.end(outcome)
        return outcome.status
    except BrokenPipeError:
        discard(sys.stdout)
        return NO_READER
    except UserError as error:
        return talk.fail(
            USAGE if isinstance(error, UsageError) else REFUSED, type(error).__name__, error.message, error.at
        )
    except OSError as error:
        text = error.strerror or str(error)
        named = error.filename is not None and error.strerror is not None
        return talk.fail(SYSTEM, type(error).__name__, f"{error.filename}: {text}" if named else text)
    except MemoryError as error:
        remedy = "free some, or give the work less: smaller --memory and --key-memory, fewer --threads"
        return talk.fail(SYSTEM, "MemoryError", f"not enough memory ({str(error) or 'no more is to be had'}): {remedy}")
    except KeyboardInterrupt:
        return talk.fail(INTERRUPTED, "Interrupted", "no file is left half-written")
    except Exception as error:
        traceback.print_exc()
        remedy = "this is a fault of latticework; please report it with the lines above"
        return talk.fail(FAULT, type(error).__name__, f"{error}: {remedy}")
