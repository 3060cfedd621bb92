"""The calls of a forward that matter, by name and in order: which of them are replaced, by which function."""

from __future__ import annotations

from collections.abc import Container, Sequence

from latticework.errors import TraceError
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class CallSequence:
    """The calls of a forward, in order.

    calls  (name, place of the function that stands for it; None: the call stays), all of the names that are replaced
    """

    calls: tuple[tuple[str, int | None], ...]

    @staticmethod
    def of(names: Sequence[str], replaced: Container[int]) -> CallSequence:
        """The sequence of calls by their `names`; those with numbers in `replaced` take places in order."""
        wanted = {name for number, name in enumerate(names) if number in replaced}
        calls: list[tuple[str, int | None]] = []
        for number, name in enumerate(names):
            if name in wanted:
                place = sum(p is not None for _, p in calls) if number in replaced else None
                calls.append((name, place))
        return CallSequence(tuple(calls))

    def turn(self) -> ForwardTurn:
        """One forward."""
        return ForwardTurn(self)


class ForwardTurn:
    """The progress of one forward through its calls."""

    def __init__(self, sequence: CallSequence) -> None:
        self._calls, self._names = sequence.calls, {name for name, _ in sequence.calls}
        self._next = 0

    def place_of(self, name: str) -> int | None:
        """The place of the function that replaces the next call; None: it stays. TraceError where another is due."""
        if name not in self._names:
            return None
        due = self._calls[self._next] if self._next < len(self._calls) else ("the end", None)
        if due[0] != name:
            raise self._sequence_error(f"{name} is called where {due[0]} was")
        self._next += 1
        return due[1]

    def finish(self) -> None:
        """TraceError unless all calls came."""
        if self._next < len(self._calls):
            raise self._sequence_error(f"{self._calls[self._next][0]} is not called any more")

    @staticmethod
    def _sequence_error(what: str) -> TraceError:
        return TraceError(
            f"prepare: forward does not call its functions as it did when it was prepared ({what}); let it call the "
            "same ones, in training, in evaluation and for any number of rows, and prepare the module again"
        )
