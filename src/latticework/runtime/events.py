"""What long work reports: structured events, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One step is done.

    stage       "keys" or "evaluate"
    op          opcode, or the kind of key
    done, total steps done, of how many: instructions, those of loops once for every turn; or keys
    level       level of the step's result, -1 if it has none
    start, end  seconds of a steady clock; equal where the step was not timed
    iteration   done of the outermost loop that is under way or next, of `trips`; 0 of 0 where there is none
    bootstraps  ciphertexts that this run has bootstrapped so far
    """

    stage: str
    op: str
    done: int
    total: int
    level: int
    start: float
    end: float
    iteration: int = 0
    trips: int = 0
    bootstraps: int = 0


OnEvent = Callable[[Event], None]
