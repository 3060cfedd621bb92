"""The levels of what loops with bootstraps carry, along an iteration: followed back through the code of the plan."""

from __future__ import annotations

from collections.abc import Iterator

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.control import CALL, FOR
from latticework.plan.instructions.executable import Instruction
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind
from latticework.plan.schema.schema import Plan
from latticework.report.carried_drawing import BOOTSTRAP, CarriedLevel, CarriedValue, LoopLevels
from latticework.report.source_places import where_text

START = "start"
LEVELLED = CipherKind, DigitsKind


def carried_levels(plan: Plan) -> tuple[LoopLevels, ...]:
    """Loops in which something is bootstrapped, in the order of the code."""
    called = {each.block for each in plan.bootstraps}
    found = []
    for _, _, code in plan.walk():
        if code.op == FOR.name:
            body = plan.blocks[code.immediate[0]].code
            if any(_is_bootstrap(each, called) for each in body):
                found.append(_loop(plan, code, called))
    return tuple(found)


def _is_bootstrap(code: Instruction, called: set[int]) -> bool:
    return code.op == CALL.name and code.immediate[0] in called


def _loop(plan: Plan, code: Instruction, called: set[int]) -> LoopLevels:
    place = plan.locations[code.location]
    return LoopLevels(where_text(place), place.text.strip(), tuple(_Body(plan, code, called).values()))


@dataclass
class _Body:
    """The code of an iteration.

    called  blocks that are bootstraps
    """

    plan: Plan
    loop: Instruction
    called: set[int]

    def __post_init__(self) -> None:
        block = self.plan.blocks[self.loop.immediate[0]]
        self.arguments, self.code = block.arguments[1:], block.code
        self.makers = {result: step for step in self.code for result in step.results}
        self.starts = {register: {number} for number, register in enumerate(self.arguments)}  # that a register is of
        for step in self.code:
            made_of = set[int]().union(*(self.starts.get(o.register, set()) for o in step.operands))
            self.starts |= dict.fromkeys(step.results, made_of)

    def values(self) -> Iterator[CarriedValue]:
        """List the ciphertexts that the loop carries."""
        ends = [operand.register for operand in self.code[-1].operands]
        for number, (argument, end) in enumerate(zip(self.arguments, ends, strict=True)):
            if isinstance(self.plan.kind(argument), CipherKind):
                name = self.name(argument) or f"value {number + 1}"
                yield CarriedValue(name, tuple(reversed(list(self.back(number, end)))))

    def name(self, register: int) -> str:
        """The user's, of what a register holds."""
        position = self.plan.watch.get(register)
        return "" if position is None else self.plan.tensors[position].name

    def back(self, number: int, register: int) -> Iterator[CarriedLevel]:
        """Walk from the end of an iteration to its start, along the lowest operands: wherever the level changes."""
        while (step := self.makers.get(register)) is not None:
            source = self.source(number, step, register)
            if source is None:  # made of nothing that is carried
                break
            before, after = self.level(source), self.level(register)
            if before != after or _is_bootstrap(step, self.called):
                kind = BOOTSTRAP if _is_bootstrap(step, self.called) else step.op
                yield CarriedLevel(kind, self.where(step), after)
            register = source
        yield CarriedLevel(START, "", self.level(register))

    def source(self, number: int, step: Instruction, result: int) -> int | None:
        """The operand to follow: made of the value itself, else of another carried one; the lowest of these."""
        operands = [o.register for o in step.operands if isinstance(self.plan.kind(o.register), LEVELLED)]
        if step.op == FOR.name:  # an inner loop gives back what it was given at the same place
            operands = [step.operands[1 + step.results.index(result)].register]
        for wanted in ({number}, set(range(len(self.arguments)))):
            able = [r for r in operands if self.starts.get(r, set()) & wanted]
            if able:
                return min(able, key=self.level)
        return None

    def level(self, register: int) -> int:
        """Level of a ciphertext, or of its hoisted form."""
        kind = self.plan.kind(register)
        assert isinstance(kind, LEVELLED)
        return kind.level

    def where(self, step: Instruction) -> str:
        """Lines that cause an instruction."""
        places = (self.plan.locations[number] for number, _ in self.plan.shares(step.location))
        return ", ".join(dict.fromkeys(where_text(place) for place in places))
