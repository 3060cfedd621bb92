"""How often each block of a plan runs: trip counts known before the run, or their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from latticework.instructions.code import Instruction
from latticework.plan.schema import IndexInput, Plan

UNBOUNDED = 1 << 62  # a trip limit from here on is none
_FOLD: dict[str, Callable[[int, int], int]] = {
    "iadd": int.__add__, "isub": int.__sub__, "imul": int.__mul__, "imin": min, "ilt": lambda a, b: int(a < b),
}  # fmt: skip


class Trips:
    """The values of public integers, as far as they are known before a run.

    given      values of index inputs by name; an input that is not given counts as its limit
    unbounded  lines of loops whose trip count has no limit: they count as one trip
    """

    def __init__(self, plan: Plan, given: Mapping[str, int] | None = None) -> None:
        self.plan = plan
        self.values: dict[int, int] = {}
        self.assumed: dict[str, int] = {}
        self.unbounded: set[int] = set()
        chosen = dict(given or {})
        for register, spec in zip(plan.blocks[0].arguments, plan.client.inputs, strict=True):
            if isinstance(spec, IndexInput):
                value = chosen.get(spec.name, spec.limit)
                if value is not None:
                    self.values[register] = self.assumed[spec.name] = value

    def note(self, instruction: Instruction) -> None:
        """Learn what an index instruction computes."""
        if instruction.op == "iconst":
            self.values[instruction.results[0]] = instruction.immediate[0]
        elif instruction.op in _FOLD:
            known = [self.values.get(o.register) for o in instruction.operands]
            if known[0] is not None and known[1] is not None:
                self.values[instruction.results[0]] = _FOLD[instruction.op](known[0], known[1])

    def of(self, loop: Instruction) -> int:
        """Trips of a `for`: known, or at most its limit."""
        limit = loop.immediate[1]
        known = self.values.get(loop.operands[0].register)
        if known is not None:
            return max(0, min(known, limit))
        if limit < UNBOUNDED:
            return limit
        self.unbounded.add(loop.location)
        return 1


def instructions_run(plan: Plan) -> int:
    """Instructions that a run executes, both branches of every `if`, each loop as often as it can turn."""
    trips = Trips(plan)

    def count(number: int) -> int:
        total = 0
        for instruction in plan.blocks[number].code:
            trips.note(instruction)
            turns = trips.of(instruction) if instruction.op == "for" else 1
            total += 1 + turns * sum(map(count, inner_blocks(instruction)))
        return total

    return count(0)


def inner_blocks(instruction: Instruction) -> tuple[int, ...]:
    """Numbers of the blocks that an instruction runs."""
    if instruction.op == "for":
        return instruction.immediate[:1]
    return instruction.immediate if instruction.op == "if" else ()
