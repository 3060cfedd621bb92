"""Timing in turns: ours, the peer, ours, the peer, and so on, so that both meet the same machine."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol


class Timed(Protocol):
    """A library that runs operations: `bench.peers.process.Library`."""

    name: str

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request."""
        ...


@dataclass(frozen=True)
class Effort:
    """How long each side of a comparison runs: `rounds` turns, each of about `seconds` and at least `least` runs."""

    rounds: int = 5
    seconds: float = 0.25
    least: int = 1
    most: int = 1000


@dataclass(frozen=True)
class Duel:
    """Medians of both sides over all turns, in seconds, and whether both results were right."""

    ours: float
    theirs: float
    checked: bool
    errors: tuple[float | None, float | None]
    runs: tuple[int, int]


def duel(ours: Timed, peer: Timed, operation: str, effort: Effort, clock: str, tolerance: float) -> Duel:
    """Compare one operation.

    clock      "cpu" (processor time of the process) or "wall"
    tolerance  largest error of a right result
    raises     Failed
    """
    times: tuple[list[float], list[float]] = ([], [])
    request = {"op": operation, "seconds": effort.seconds, "least": effort.least, "most": effort.most}
    for _ in range(effort.rounds):
        for side, library in enumerate((ours, peer)):
            times[side].extend(library.ask(**request)[clock])
    errors = (ours.ask(check=operation)["error"], peer.ask(check=operation)["error"])
    checked = all(error is None or error <= tolerance for error in errors) and errors[0] is not None
    return Duel(median(times[0]), median(times[1]), checked, errors, (len(times[0]), len(times[1])))
