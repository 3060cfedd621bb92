"""The one walk over the code of a plan: blocks, loops, branches, calls, public integers, keys, and when values end.

What is computed on the way is a *domain*: slot vectors (simulation), error bounds, noise, buffers, prices. A domain
says what one instruction makes of its operands (`step`), and may say how often a loop's body is followed (`loop`),
which branch is (`branch`), whether a called block is or counts as one step (`call`), and listen to registers (`hold`,
`drop`) and places (`visit`, `leave`).

To make a domain: derive from `Domain`, write `step`, and take what each instruction does from a field of its record,
so that the domain itself names no opcode; a new field goes to `Record`, and all records then have to have it.

- A domain that knows all public integers runs loops iteration by iteration, as `Domain` does.
- One that looks at a body once (prices) derives from `analysis.trips.Once`, which knows how often the block that is
  followed runs: it calls `body` with None for the counter and for what is carried, and both branches.
- One that looks at a body twice (buffers) calls `body` min(trip_count, 2) times.
- Of integers that are not known, the value is None; so is the trip count of a loop that depends on them.

A fault that a step raises without a line of the user's gets the line of its instruction; in a called block, which has
no line of its own, that of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from latticework.errors import RangeError, UserError
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.control import YIELD
from latticework.plan.instructions.executable import Executable, Instruction
from latticework.plan.instructions.instruction_record import Record
from latticework.plan.instructions.protocols import Chain
from latticework.plan.instructions.signatures import SIGNATURES
from latticework.plan.instructions.table import RECORDS, check_types
from latticework.plan.instructions.use import Use, Uses

Body = Callable[..., list[Any]]  # (counter, carried) -> what the body yields


@dataclass(slots=True, eq=False)
class Site:
    """A place in the code, and the instruction there."""

    block: int
    index: int
    instruction: Instruction
    record: Record
    use: Use


class Domain:
    """An abstract domain: the values that a walk computes for registers, and what instructions do to them; see
    above."""

    def step(self, site: Site, operands: list[Any]) -> Sequence[Any]:
        """Return the value of each result of an instruction."""
        raise NotImplementedError

    def loop(self, site: Site, trip_count: int | None, carried: Sequence[Any], body: Body) -> Sequence[Any]:
        """Run a counted loop, iteration by iteration."""
        limit = site.instruction.immediate[1]
        assert trip_count is not None
        if not 0 <= trip_count <= limit:
            raise RangeError(f"for: the trip count is {trip_count}; this plan allows 0 to {limit}")
        for iteration in range(trip_count):
            carried = body(iteration, carried)
        return carried

    def branch(
        self, _site: Site, condition: int | None, then: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]
    ) -> Sequence[Any]:
        """Follow one of two branches."""
        return then() if condition else otherwise()

    def call(self, _site: Site, _operands: Sequence[Any], follow: Callable[[], list[Any]]) -> Sequence[Any]:
        """A called block: followed, here; `site.instruction.immediate[0]` is its number."""
        return follow()

    def hold(self, register: int, value: Any) -> None:
        """Note that a register gets a value."""

    def drop(self, register: int) -> None:
        """Note that a register was read for the last time."""

    def visit(self, site: Site) -> None:
        """Note that an instruction comes next."""

    def leave(self, site: Site) -> None:
        """An instruction is done, and so are the values that it read for the last time."""


class Valueless(Domain):
    """A domain that follows no values: it looks at both branches."""

    def step(self, site: Site, operands: list[Any]) -> Sequence[None]:
        """Nothing is known of results."""
        return [None] * len(site.instruction.results)

    def branch(
        self, site: Site, _condition: int | None, then: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]
    ) -> Sequence[None]:
        """Both."""
        then()
        otherwise()
        return [None] * len(site.instruction.results)


class Walk:
    """Follows code for a domain."""

    def __init__(self, code: Executable, chain: Chain, domain: Domain) -> None:
        self.code = code
        self.domain = domain
        self.registers: dict[int, Any] = {}
        self._uses = Uses(code, chain)
        self._sites: dict[int, list[Site]] = {}
        self._line: int | None = None  # location of the call that is followed, the outermost one

    def run(self, number: int, arguments: Sequence[Any]) -> list[Any]:
        """Follow a block; returns what it yields."""
        registers, domain = self.registers, self.domain
        for register, value in zip(self.code.blocks[number].arguments, arguments, strict=True):
            registers[register] = value
            domain.hold(register, value)
        for site in self.sites(number):
            domain.visit(site)
            instruction, record = site.instruction, site.record
            operands = [registers[operand.register] for operand in instruction.operands]
            if record is YIELD:
                self.release(instruction)
                domain.leave(site)
                return operands
            if site.use.blocks:  # whose values end inside
                self.release(instruction)
            try:
                if record.traits.control:
                    outcome = record.meaning(self, site, *operands)
                    results: Sequence[Any] = outcome if type(outcome) is list else [outcome]
                else:
                    results = domain.step(site, operands)
                for register, value in zip(instruction.results, results, strict=True):
                    registers[register] = value
                    domain.hold(register, value)
            except UserError as error:
                if error.at is not None:
                    raise
                line = instruction.location if self._line is None else self._line
                raise type(error)(error.message, at=self.code.locations[line]) from None
            self.release(instruction)
            domain.leave(site)
        raise AssertionError(f"block {number} does not end in yield")

    def release(self, instruction: Instruction) -> None:
        """End the values that an instruction reads for the last time."""
        for operand in instruction.operands:
            if operand.last_use and operand.register in self.registers:
                del self.registers[operand.register]
                self.domain.drop(operand.register)

    def loop(self, site: Site, trip_count: int | None, carried: Sequence[Any]) -> list[Any]:
        """Follow a counted loop, as the domain does."""
        block = site.instruction.immediate[0]

        def body(iteration: int | None, values: Sequence[Any]) -> list[Any]:
            return self.run(block, [iteration, *values])

        return list(self.domain.loop(site, trip_count, carried, body))

    def branch(self, site: Site, condition: int | None, operands: Sequence[Any]) -> list[Any]:
        """Follow a branch, as the domain does; what one of both uses up, the other one has too."""
        before = dict(self.registers)

        def follow(block: int) -> list[Any]:
            self.registers.update(before)
            return self.run(block, operands)

        then, otherwise = (partial(follow, block) for block in site.instruction.immediate)
        return list(self.domain.branch(site, condition, then, otherwise))

    def call(self, site: Site, operands: Sequence[Any]) -> list[Any]:
        """Follow a call, as the domain does."""
        outside = self._line
        if outside is None:
            self._line = site.instruction.location
        try:
            return list(self.domain.call(site, operands, partial(self.run, site.instruction.immediate[0], operands)))
        finally:
            self._line = outside

    def sites(self, number: int) -> list[Site]:
        """The instructions of a block, as their records see them; made when the block is first looked at."""
        if number not in self._sites:
            uses = self._uses
            self._sites[number] = [
                Site(
                    number, place, instruction, RECORDS[instruction.op], uses.of(instruction, inner_blocks(instruction))
                )
                for place, instruction in enumerate(self.code.blocks[number].code)
            ]
        return self._sites[number]

    def check(self) -> None:
        """Raise unless all code is as its records' rules say; with the user's line, as `run` does."""
        checked = set()
        for number in range(len(self.code.blocks)):
            for site in self.sites(number):
                instruction, use = site.instruction, site.use
                key = (instruction.op, use.operands, use.results, use.immediate)
                if key in checked and not use.blocks:
                    continue
                checked.add(key)
                try:
                    check_types(site.record, use)
                except UserError as error:
                    raise type(error)(error.message, at=self.code.locations[instruction.location]) from None


def inner_blocks(instruction: Instruction) -> tuple[int, ...]:
    """Numbers of the blocks that an instruction runs."""
    return instruction.immediate[: SIGNATURES[instruction.op].blocks]
