"""Progress of a run: instructions done of all that it executes, loops and calls multiplied out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from latticework.plan.instructions.control import FOR
from latticework.plan.instructions.walk import Body, Site, Valueless, Walk, inner_blocks
from latticework.plan.schema.bootstraps import bootstraps_of
from latticework.plan.schema.schema import Plan


class RunPlace(NamedTuple):
    """The position of a run.

    done        instructions
    iteration   done of the outermost loop that is under way or next, of `trips`; 0 of 0 where there is none
    bootstraps  ciphertexts bootstrapped so far
    """

    done: int
    iteration: int
    trips: int
    bootstraps: int


def known_trips(plan: Plan, integers: Sequence[int | None]) -> dict[int, int]:
    """Turns of loops by the number of their block, of those that are one known number.

    integers  what the run is given, an item for each input: None for a ciphertext
    """
    loops = _Loops()
    Walk(plan, plan.chain, loops).run(0, integers)
    return loops.trips


class RunProgress:
    """Counts the steps of one run, from what the core says as instructions are done.

    An instruction is a step; a loop is one and those of all its turns, a call one and those of its block. A branch is
    one, whatever is in it, and so is a loop in a loop whose trips differ from turn to turn.
    """

    def __init__(self, plan: Plan, integers: Sequence[int | None]) -> None:
        """integers: what the run is given, an item for each input: None for a ciphertext."""
        self._trips = known_trips(plan, integers)
        self._bootstraps = {number: kind.count for number, kind in bootstraps_of(plan, plan.chain).items()}
        # Of each block, but for its `yield`: the block that each instruction runs, and the steps before it.
        self._inner = [[self._counted_block(inner_blocks(i), i.op) for i in block.code[:-1]] for block in plan.blocks]
        self._before: dict[int, list[int]] = {}
        self.total = self._steps(0)
        self._places, self._turns = [0] * len(plan.blocks), [0] * len(plan.blocks)
        self._refreshed = 0

    def go_on(self, place: int, turns: int) -> None:
        """The run begins before an instruction of the body, or in a loop there, so many turns of which are done."""
        self._places[0] = place
        self._refreshed = sum(self._bootstraps.get(inner, 0) for inner in self._inner[0][:place] if inner is not None)
        inner = self._inner[0][place] if turns else None
        if inner is not None:
            self._turns[inner] = turns

    def note(self, block: int, instruction: int) -> RunPlace:
        """Note that an instruction is done; returns the run's position."""
        self._places[block] = instruction + 1
        inner = self._inner[block][instruction]
        if inner is not None:
            self._places[inner] = self._turns[inner] = 0
            self._refreshed += self._bootstraps.get(inner, 0)
        if block in self._trips and instruction + 1 == len(self._inner[block]):
            self._places[block] = 0
            self._turns[block] += 1
        return self._place()

    def _place(self) -> RunPlace:
        """The run's position, walked from the body into the loop or call that is under way."""
        done, loop, at = 0, (0, 0), 0
        while True:
            place = self._places[at]
            done += self._before[at][place]
            inner = self._inner[at][place] if place < len(self._inner[at]) else None
            if inner is None:
                return RunPlace(done, *loop, self._refreshed)
            trips = self._trips.get(inner)
            if trips is not None:
                done += self._turns[inner] * self._steps(inner)
                loop = loop if loop[1] else (self._turns[inner], trips)
            at = inner

    def _counted_block(self, blocks: Sequence[int], op: str) -> int | None:
        """The block whose steps are counted one by one, of those that an instruction runs."""
        return blocks[0] if len(blocks) == 1 and (op != FOR.name or self._trips.get(blocks[0]) is not None) else None

    def _steps(self, block: int) -> int:
        """Count the instructions of a block, run once."""
        if block not in self._before:
            steps = [
                1 if inner is None else 1 + self._trips.get(inner, 1) * self._steps(inner)
                for inner in self._inner[block]
            ]
            self._before[block] = list(accumulate(steps, initial=0))
        return self._before[block][-1]


class _Loops(Valueless):
    """Looks at every block for its loops.

    trips  by the number of a loop's block; those that are not one known number are not in it
    """

    def __init__(self) -> None:
        self.trips: dict[int, int] = {}
        self._seen: set[int] = set()

    def loop(self, site: Site, trips: int | None, carried: Sequence[Any], body: Body) -> Sequence[None]:
        """The body once, its counter not known."""
        block = site.instruction.immediate[0]
        if block not in self._seen and trips is not None:
            self.trips[block] = trips
        elif self.trips.get(block) != trips:
            self.trips.pop(block, None)
        self._seen.add(block)
        body(None, [None] * len(carried))
        return [None] * len(carried)
