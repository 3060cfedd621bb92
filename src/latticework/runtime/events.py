"""Events: structured reports of long work, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable

from latticework.lazy_dataclass import dataclass
from latticework.runtime.memory_use import KeyTraffic


@dataclass(frozen=True, slots=True)
class Event:
    """One step is done.

    stage       "keys" that are made, "evaluate", or "read" of a run whose keys stay in their file
    op          opcode, or the kind of key; "kept" for a key that was there when its making went on. Of the stage
                "read": "waiting" for rows of keys, each second of a wait for a reader; "keys" at the end of the run
    done, total steps done, of how many: instructions, those of loops once for every turn; or keys
    level       level of the step's result, -1 if it has none
    start, end  seconds of a steady clock; equal where the step was not timed. On a GPU its own clock says them, and
                steps are told when their kernels are done; a simulated device has no clock
    iteration   done of the outermost loop that is under way or next, of `trips`; 0 of 0 where there is none
    bootstraps  ciphertexts that this run has bootstrapped so far
    waited      seconds of the step, of end - start, in which rows of keys were not there; other runs of the server that
                are under way at the same time count in
    traffic     at the end of the run, what was read of keys since it began, by other runs of the server too
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
    waited: float = 0.0
    traffic: KeyTraffic | None = None


OnEvent = Callable[[Event], None]
