"""What long work reports: structured events, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One step is done.

    stage       "keys" or "evaluate"
    op          opcode, or the kind of key
    done, total steps of the outermost sequence done, of how many; a call takes those of its block
    level       level of the step's result, -1 if it has none
    start, end  seconds of a steady clock; equal where the step was not timed
    """

    stage: str
    op: str
    done: int
    total: int
    level: int
    start: float
    end: float


OnEvent = Callable[[Event], None]
