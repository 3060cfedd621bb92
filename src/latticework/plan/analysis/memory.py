"""Peak memory of a run, by following the buffers of live registers through the code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.instructions.executable import Instruction
from latticework.plan.instructions.linear_map_sums import most_products
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, IndexKind, Kind, PlainKind
from latticework.plan.instructions.table import RECORDS
from latticework.plan.instructions.value_shapes import cipher_rows, digits_rows, plain_rows, row_bytes
from latticework.plan.instructions.walk import Body, Domain, Site, Walk, inner_blocks
from latticework.plan.schema.schema import Plan

Buffers = frozenset[int]  # of one ciphertext
VectorBuffers = tuple[Buffers, ...]  # of an array of them
_REPEATS = 2  # from its second iteration on, a loop holds the same buffers
LIFTED_ROWS = 8  # of coefficients that a sum of products transforms before it adds their products, as the core does
_REPEATED_LOOPS = 8  # inside one another; those deeper are followed once, or their trip counts would multiply


@dataclass(frozen=True, slots=True)
class PeakMemory:
    """Bytes at the worst moment of a run.

    values     ciphertexts, inputs and the scratch of the operation running
    keys       evaluation keys, all resident
    constants  encoded constants, all cached
    """

    values: int
    keys: int
    constants: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.values + self.keys + self.constants


def peak_value_bytes(
    plan: Plan,
    trip_counts: TripCounts,
    plaintexts: Callable[[int], int] | None = None,
    more_scratch: Callable[[Site], int] | None = None,
    *,
    lifts_late: bool = False,
) -> int:
    """Peak bytes of ciphertexts: live ones, the inputs, and scratch.

    plaintexts    count those in use too, which nobody else keeps; rows of a plaintext -> how many of them a block map
                  multiplies with at a time
    more_scratch  rows that an instruction takes on top of those of its record
    lifts_late    sums of products transform coefficients as they go: such plaintexts take no more than a row each
    """
    return _Liveness(plan, trip_counts, plaintexts, more_scratch, lifts_late=lifts_late).peak()


class _Liveness(Domain):
    """The buffers that each register keeps alive; hoisted ones keep their source, relabelled and lower ones share it,
    and so do arrays put together from others. Values of registers are buffers, or none."""

    def __init__(
        self,
        plan: Plan,
        trip_counts: TripCounts,
        plaintexts: Callable[[int], int] | None,
        more_scratch: Callable[[Site], int] | None,
        *,
        lifts_late: bool,
    ) -> None:
        self.plan = plan
        self.trips = trip_counts
        self.plaintexts = plaintexts
        self.more_scratch = more_scratch or (lambda _site: 0)
        self.row = row_bytes(plan.chain)
        self.sizes: list[int] = []
        self.holders: list[int] = []
        self.registers: dict[int, VectorBuffers] = {}
        self.last_touch = _last_touches(plan)
        self.read_once = _digits_read_once(plan)
        self.lifts_late = lifts_late and plaintexts is not None
        self.lifted_late = _plaintexts_of_sums(plan) if self.lifts_late else frozenset()
        self.alive = 0
        self.highest = 0
        self.depth = 0  # of the loop that is followed

    def peak(self) -> int:
        """Bytes at the worst moment."""
        kinds = [self.plan.kind(register) for register in self.plan.blocks[0].arguments]
        arguments = [self.fresh(kind) for kind in kinds]
        for i, buffers in enumerate(arguments):
            self.hold(-1 - i, buffers)  # the caller keeps the inputs
        known = zip(kinds, self.trips.indices, arguments, strict=True)
        values = [index if isinstance(kind, IndexKind) else buffers for kind, index, buffers in known]
        Walk(self.plan, self.plan.chain, self).run(0, values)
        return self.highest

    def fresh(self, kind: Kind, register: int | None = None) -> VectorBuffers:
        """New buffers for the rows of a register."""
        if isinstance(kind, CipherKind):
            rows = cipher_rows(self.plan.chain, kind)
        elif isinstance(kind, DigitsKind):
            rows = digits_rows(self.plan.chain, kind)
        elif isinstance(kind, PlainKind) and self.plaintexts is not None:
            rows = 1 if register in self.lifted_late else plain_rows(self.plan.chain, kind)
        else:
            return ()
        first = len(self.sizes)
        self.sizes += [rows * self.row] * kind.count
        self.holders += [0] * kind.count
        return tuple(frozenset((first + i,)) for i in range(kind.count))

    def hold(self, register: int, value: Any) -> None:
        """Set a register."""
        buffers = _buffers(value)
        for buffer in chain.from_iterable(buffers):
            self.alive += 0 if self.holders[buffer] else self.sizes[buffer]
            self.holders[buffer] += 1
        self.drop(register)
        self.registers[register] = buffers
        self.measure(0)

    def drop(self, register: int) -> None:
        """Clear a register, if it holds anything."""
        for buffer in chain.from_iterable(self.registers.pop(register, ())):
            self.holders[buffer] -= 1
            self.alive -= 0 if self.holders[buffer] else self.sizes[buffer]

    def measure(self, more: int) -> None:
        """Note the bytes alive now, and `more` of scratch."""
        self.highest = max(self.highest, self.alive + more)

    def step(self, site: Site, operands: list[Any]) -> list[VectorBuffers]:
        """Buffers of an instruction's results; its scratch is measured."""
        arrays = [_buffers(value) for value in operands]
        reused = site.record.reuse(site.use, self.may_lend(site.instruction, arrays), *arrays)
        if reused is not None:
            return [reused]
        if site.instruction.results[0] in self.read_once:
            return arrays  # extended where it is used
        results = [self.fresh(k, r) for k, r in zip(site.use.results, site.instruction.results, strict=True)]
        if results[0]:
            self.measure_vectors(site, results, arrays[0] if arrays else ())
        if isinstance(site.use.stated, DigitsKind):
            return [tuple(own | of for own, of in zip(results[0], arrays[0], strict=True))]
        return results

    def measure_vectors(self, site: Site, results: list[VectorBuffers], spent: VectorBuffers) -> None:
        """Note the bytes while results are made one after the other, each giving up what it was made of."""
        rows = site.record.scratch(site.use, not self.is_lazy(site.instruction)) + self.more_scratch(site)
        more = (rows + self.in_map(site) + self.lifted_rows(site)) * self.row
        is_spent = len(results) == 1 and len(spent) == len(results[0]) > 1 and self.is_spent(site.instruction)
        for i, vectors in enumerate(zip(*results, strict=True)):
            more += sum(self.sizes[buffer] for buffers in vectors for buffer in buffers)
            self.measure(more)
            more -= sum(self.sizes[b] for b in spent[i] if self.holders[b] == 1) if is_spent else 0

    def in_map(self, site: Site) -> int:
        """Rows of the plaintexts of a block map that are multiplied with at a time."""
        if self.plaintexts is None or not site.record.signature.has_map:
            return 0
        most, rows = most_products(site.use), plain_rows(self.plan.chain, site.use.stated)
        return min(most, self.plaintexts(rows)) * (1 if self.is_late_map(site) else rows)

    def lifted_rows(self, site: Site) -> int:
        """Rows that coefficients are transformed to where they are used."""
        operands = site.instruction.operands
        has_late = any(o.register in self.lifted_late for o in operands)
        return LIFTED_ROWS if has_late or self.is_late_map(site) else 0

    def is_late_map(self, site: Site) -> bool:
        """Whether a block map transforms coefficients of its plaintexts as it goes, as those with keys do."""
        return self.lifts_late and site.record.signature.has_map and len(site.instruction.operands) > 1

    def is_lazy(self, instruction: Instruction) -> bool:
        """Whether digits among the operands are extended by this operation itself."""
        return bool(instruction.operands) and instruction.operands[0].register in self.read_once

    def is_spent(self, instruction: Instruction) -> bool:
        """Whether this is the one and last read of the first operand."""
        first = instruction.operands[0]
        return first.last_use and sum(o.register == first.register for o in instruction.operands) == 1

    def may_lend(self, instruction: Instruction, arrays: list[VectorBuffers]) -> bool:
        """Whether the rows of the first operand may become those of the result."""
        if not arrays or not self.is_spent(instruction):
            return False
        return all(self.holders[buffer] == 1 for buffer in chain.from_iterable(arrays[0]))

    def loop(self, site: Site, trip_count: int | None, carried: Sequence[Any], body: Body) -> Sequence[Any]:
        """A counted loop; its operands belong to the first iteration."""
        self.depth += 1
        for _ in range(min(self.trips.of(site, trip_count), _REPEATS if self.depth <= _REPEATED_LOOPS else 1)):
            carried = body(None, _forget_integers(carried))
        self.depth -= 1
        return _forget_integers(carried)

    def branch(
        self, _site: Site, _condition: int | None, then: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]
    ) -> Sequence[Any]:
        """Both; what each yields takes as many rows."""
        otherwise()
        return _forget_integers(then())

    def leave(self, site: Site) -> None:
        """Drop what is not touched again."""
        for register in self.last_touch.get((site.block, site.index), ()):
            self.drop(register)


def _buffers(value: Any) -> VectorBuffers:
    """Return the buffers of a register's value; none for what is public."""
    return value if isinstance(value, tuple) else ()


def _forget_integers(values: Sequence[Any]) -> list[Any]:
    """Buffers as they are; integers may be others every time."""
    return [value if isinstance(value, tuple) else None for value in values]


def _digits_read_once(plan: Plan) -> set[int]:
    """Registers of digits that one operation reads, for the last time: not in a loop that they are outside of."""
    reads = Counter(o.register for _, _, instruction in plan.walk() for o in instruction.operands)
    last = {o.register for _, _, instruction in plan.walk() for o in instruction.operands if o.last_use}
    return {r for r in last if reads[r] == 1 and isinstance(plan.kind(r), DigitsKind)}


def _plaintexts_of_sums(plan: Plan) -> frozenset[int]:
    """Registers of plaintexts, each of which is read once, for the last time, and that by a sum of products."""
    reads = Counter(o.register for _, _, instruction in plan.walk() for o in instruction.operands)
    return frozenset(
        o.register
        for _, _, instruction in plan.walk()
        if RECORDS[instruction.op].traits.transforms
        for o in instruction.operands
        if o.last_use
        and reads[o.register] == 1
        and isinstance(kind := plan.kind(o.register), PlainKind)
        and isinstance(made := plan.kind(instruction.results[0]), CipherKind)
        and kind.count == made.count
    )


def _last_touches(plan: Plan) -> dict[tuple[int, int], list[int]]:
    """Registers by the place in their own block where they are touched for the last time, by inner blocks included."""
    home: dict[int, int] = {}
    last: dict[int, int] = {}
    position: dict[int, int] = {}

    def visit(number: int) -> None:
        home.update((register, number) for register in plan.blocks[number].arguments)
        last.update((register, 0) for register in plan.blocks[number].arguments)
        for place, instruction in enumerate(plan.blocks[number].code):
            position[number] = place
            last.update((o.register, position[home[o.register]]) for o in instruction.operands)
            for inner in inner_blocks(instruction):
                if inner not in position:  # a called block is the same every time
                    visit(inner)
            home.update((register, number) for register in instruction.results)
            last.update((register, place) for register in instruction.results)

    visit(0)
    touches: dict[tuple[int, int], list[int]] = defaultdict(list)
    for register, place in last.items():
        touches[home[register], place].append(register)
    return touches
