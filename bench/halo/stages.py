"""How long the stages of a compilation take, told by its passes."""

from __future__ import annotations

import time

from latticework.compiler.bootstrapping import PLACING
from latticework.ir import PassEvent

TRACE, LAY_OUT, PLACE, WRITE, MEASURE = (
    "trace, calibrate", "lay out", "place bootstraps", "levels, expand", "ranges, errors",
)  # fmt: skip
ON_DATA = (TRACE, MEASURE)  # stages that run the program on data
_ANYWHERE = ("cse", "dce", "center-parabolas")  # no sign of a stage
_EXPANDING = "expand"


class StageClock:
    """Listens to a compilation: processor seconds by stage. What precedes a pass is preparation of its stage.

    `stop` books what follows the last pass.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._stage = TRACE
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def __call__(self, event: PassEvent) -> None:
        """Book a pass, and what was done since the one before."""
        if event.name == PLACING:
            self._book(MEASURE, event.start)
            self._stage = PLACE
        elif event.name == _EXPANDING:
            self._stage = WRITE
        elif event.name not in _ANYWHERE:
            self._stage = LAY_OUT
        self._book(self._stage, event.end)

    def stop(self) -> dict[str, float]:
        """Seconds by stage."""
        self._book(MEASURE, time.perf_counter())
        return self.seconds

    def _book(self, stage: str, until: float) -> None:
        """The time until a moment of the wall clock, and its share of the processor's."""
        wall, processor = time.perf_counter(), time.process_time()
        part = min(max((until - self._wall) / max(wall - self._wall, 1e-9), 0.0), 1.0)
        booked = part * (processor - self._processor)
        self.seconds[stage] = self.seconds.get(stage, 0.0) + booked
        self._wall, self._processor = max(until, self._wall), self._processor + booked
