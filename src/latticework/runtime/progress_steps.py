"""How far a run is: instructions done of the body and of the blocks that it calls."""

from __future__ import annotations

from itertools import accumulate

from latticework.instructions.control import CALL
from latticework.plan.schema import Plan


class ProgressSteps:
    """Counts steps of one run, from what the core says as instructions are done.

    A call takes a step, and those of its block; a loop or a branch takes one, whatever is in it.
    """

    def __init__(self, plan: Plan) -> None:
        # Of each block, but for its `yield`: which block each instruction calls, and the steps before it.
        self._called = [[i.immediate[0] if i.op == CALL.name else None for i in b.code[:-1]] for b in plan.blocks]
        self._before: list[list[int]] = [[] for _ in plan.blocks]
        counted = {0}.union(*[filter(None, called) for called in self._called])
        for block in sorted(counted, reverse=True):  # what these call stands behind them
            steps = [1 if called is None else 1 + self._before[called][-1] for called in self._called[block]]
            self._before[block] = list(accumulate(steps, initial=0))
        self._places = [0] * len(plan.blocks)
        self.total = self._before[0][-1]

    def note(self, block: int, instruction: int) -> int:
        """Steps done when an instruction is."""
        self._places[block] = instruction + 1
        called = self._called[block][instruction]
        if called is not None:
            self._places[called] = 0
        done, at = 0, 0
        while True:  # from the body into the call that is under way, if it is one
            place = self._places[at]
            done += self._before[at][place]
            inner = self._called[at][place] if place < len(self._called[at]) else None
            if inner is None:
                return done
            at = inner
