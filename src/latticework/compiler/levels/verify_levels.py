"""check: reads a level plan back from the types of what was written for it.

Levels, scales and degrees of ciphertexts and plaintexts are those of their types, which every operation infers from
its operands; the plan says what they should be. A disagreement is an error of ours. Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from latticework.compiler.levels.level_plan import CipherState, Encode, LevelPlan, State, after
from latticework.errors import IrError
from latticework.ir import Loc, Op, Value
from latticework.ir.dialects.rlwe_dialect import CipherType, PlainType
from latticework.ir.dialects.rlwe_types import AddendType
from latticework.plan.parameters import ModulusChain


def check_levels(
    plan: LevelPlan,
    chain: ModulusChain,
    written: Mapping[Value, Value | None],
    reads: Mapping[Op, Sequence[Value | None]],
) -> None:
    """IrError unless every value, and every operand after the steps before its use, is as planned.

    written  what stands for every value of the plan's module, None for public vectors
    reads    of every operation with steps before it, its operands after them
    """
    expected = _Expected(chain)
    for value, state in plan.states.items():
        if not expected.is_as(written[value], state):
            made_by, at = (value.owner.name, value.owner.loc) if isinstance(value.owner, Op) else ("an argument", None)
            raise _differs(f"the value {_name(value)} of {made_by}", f"{state}", written[value], at)
    for op, operands in reads.items():
        states: list[State | Encode] = [plan.states[v] for v in op.operands]
        for number, step in plan.ops[op].before:
            before = states[number]
            assert not isinstance(before, Encode)
            states[number] = step if isinstance(step, Encode) else after(before, step)
        for number in plan.ops[op].reads:
            if not expected.is_as(operands[number], states[number]):
                what = f"operand {number}, {_name(op.operands[number])}, of {op.name}"
                raise _differs(what, f"{states[number]}", operands[number], op.loc)


class _Expected:
    """The levels, scales and degrees that types say, on a chain."""

    def __init__(self, chain: ModulusChain) -> None:
        self.top = chain.main.top
        self.floor = chain.floor
        self.scales = chain.main.scales

    def is_as(self, value: Value | None, state: State | Encode) -> bool:
        """Whether a value is what was planned."""
        kind = None if value is None else value.type
        if state is None:
            return not isinstance(kind, CipherType | PlainType | AddendType)
        if isinstance(state, CipherState):
            fits = isinstance(kind, CipherType) and kind.degree == state.degree
        else:
            fits = isinstance(kind, PlainType | AddendType)
        if not fits:
            return False
        assert isinstance(kind, CipherType | PlainType | AddendType)
        index = self.top + state.level
        if index < self.floor:
            return False  # the primes down there are not of the ladder
        return (kind.level.track, kind.level.index) == (0, index) and kind.scale == state.scale.on(self.scales[index])


def _name(value: Value) -> str:
    return f"{value.origin.name!r}" if value.origin else f"#{value.index}"


def _differs(what: str, planned: str, value: Value | None, at: Loc | None) -> IrError:
    stands = "nothing" if value is None else f"{value.type}"
    return IrError(f"levels: {what}, was planned as {planned}, and stands as {stands}", at=at)
