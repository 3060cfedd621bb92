"""The text of a level plan: every value as it is made, and under every operation what stands before and after it.

ckks, 1 level
  %0 x0: level 0, ladder, degree 1
  %1 = vec.mul(%0, %0) as ckks.square: level 0, ladder^2, degree 2
  end(%1)
    %1: relinearize, rescale
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from latticework.compiler.levels.depth import LoopPlan
from latticework.compiler.levels.level_plan import Drop, Encode, Encrypt, LevelPlan, Negate, Settle, Step
from latticework.ir import Block, Loc, Op, Value


def print_levels(plan: LevelPlan) -> str:
    """The text of a plan; values are numbered as `print_module` does."""
    printer = _PlanPrinter(plan)
    head = [f"{plan.scheme}, {plan.depth} level{'' if plan.depth == 1 else 's'}"]
    head += [f"  {_describe_loop(op, loop)}" for op, loop in plan.loops.items()]
    names = [f"%{i} {name}" for i, name in enumerate(plan.module.input_names)]
    return "\n".join([*head, *printer.block(plan.module.body, "  ", names), ""])


class _PlanPrinter:
    def __init__(self, plan: LevelPlan) -> None:
        self.plan = plan
        self.names: dict[Value, str] = {}
        self.count = 0

    def block(self, block: Block, indent: str, names: Sequence[str] = ()) -> Iterator[str]:
        """The lines of a block; `names` of its arguments, if they have any."""
        for number, value in enumerate(block.args):
            name = self.new_name()
            self.names[value] = name
            yield f"{indent}{names[number] if names else name}: {self.state(value)}"
        for op in block.ops:
            yield from self.op(op, indent)

    def new_name(self) -> str:
        """The next number."""
        self.count += 1
        return f"%{self.count - 1}"

    def state(self, value: Value) -> str:
        """The text of the state in which a value is made."""
        state = self.plan.states[value]
        return "public" if state is None else str(state)

    def op(self, op: Op, indent: str) -> Iterator[str]:
        """The lines of an operation, with what is nested in it."""
        planned = self.plan.ops[op]
        read = ", ".join(self.names[v] for v in op.operands)
        if op.spec.terminator:
            yield f"{indent}end({read})"
        else:
            name = self.new_name()
            for value in op.results:
                self.names[value] = name if len(op.results) == 1 else f"{name}#{value.index}"
            states = "; ".join(self.state(v) for v in op.results)
            written = f" as {planned.writes}" if planned.writes not in ("", op.name) else ""
            yield f"{indent}{name} = {op.name}({read}){written}: {states}"
        for number, step in planned.before:
            yield f"{indent}  {self.names[op.operands[number]]}: {_describe(step)}"
        if planned.after is not None:
            yield f"{indent}  then: {_describe(planned.after)}"
        for region in op.regions:
            yield f"{indent}  in:"
            yield from self.block(region.block, indent + "    ")


def _describe(step: Step) -> str:
    match step:
        case Settle(relinearize, rescale):
            return ", ".join(["relinearize"] * relinearize + ["rescale"] * rescale)
        case Drop(level):
            return f"drop to level {level}"
        case Encrypt(level):
            return f"encrypt at level {level}"
        case Encode(level, scale, addend):
            return f"encode {'to be added ' if addend else ''}at level {level}, {scale}"
        case Negate():
            return "negate"


def _describe_loop(op: Op, loop: LoopPlan) -> str:
    at = "" if op.loc is Loc.unknown() else f" at {op.loc}"
    if loop.copies is None:
        return f"loop{at}: stays, carries levels {', '.join(map(str, loop.carried))}"
    guarded = ", each if its number is below the trip count" if loop.guarded else ""
    return f"loop{at}: {loop.copies} copies{guarded}"
