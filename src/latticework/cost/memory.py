"""Peak memory of a run, by following the buffers of live registers through the code."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import chain

from latticework.cost.maps import map_encodings
from latticework.cost.shapes import cipher_rows, digits_rows, plain_rows, row_bytes, shape_of
from latticework.cost.trips import Trips, inner_blocks
from latticework.cost.work import Shape
from latticework.instructions.code import Instruction
from latticework.instructions.kinds import CipherKind, DigitsKind, PlainKind
from latticework.plan.schema import Plan

Buffers = frozenset[int]  # of one ciphertext
Held = tuple[Buffers, ...]  # of an array of them
_REPEATS = 2  # from its second trip on, a loop holds the same buffers
_REPEATED_LOOPS = 8  # inside one another; those deeper are followed once, or their trips would multiply


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


def peak_value_bytes(plan: Plan, trips: Trips) -> int:
    """Peak bytes of ciphertexts: live ones, the inputs, and scratch."""
    return _Liveness(plan, trips).peak()


def scratch_rows(op: str, shape: Shape, *, stored: bool = True) -> int:
    """Rows that an operation needs beside its operands and its result; those of `ref`, which needs the most.

    stored  whether its digits are among its operands
    """
    lifted = sum(shape.rows - limbs for limbs in shape.digit_limbs)
    product = 2 * shape.rows
    unstored = 0 if stored else shape.q_limbs + lifted
    q, p, b = shape.q_limbs, shape.p_limbs, shape.b_limbs
    match op:
        case "mul" | "square" | "dot" if b:  # of BFV: both factors over B, one brought back, the product over P and B
            return 2 * q + 3 * p + 7 * b
        case "mul_relinearize":  # the product over Q, P and B while its last polynomial is switched
            return max(3 * q + 3 * p + 7 * b, 6 * q + 7 * p + 3 * b + lifted)
        case "hoist":
            return shape.q_limbs
        case "key_product":
            return product + unstored
        case "diag_sums":  # one rotated copy before and after its automorphism
            return 2 * product + unstored
        case "map_sums":  # the sums of one input before they are added to those of the others
            return (2 + shape.sums) * product + shape.q_limbs + lifted
        case "mod_down":
            return shape.polys * shape.rows
        case "mul_monomial":
            return shape.rows
        case "mod_raise":
            return 2 * product
        case "rotate" | "relinearize" | "to_sparse":  # the result exists only at the end, in the mod_down
            result = 2 * shape.kept
            switching = shape.q_limbs + lifted + 2 * product
            closing = shape.q_limbs + product + 2 * shape.p_limbs + 2 * result
            return max(switching, closing) - result
    return 0


_IN_PLACE = {"add", "sub", "neg", "add_plain", "sub_plain", "mul_plain", "mul_int", "add_int", "mul_monomial"}


class _Liveness:
    """Which buffers each register keeps alive; hoisted ones keep their source, relabelled and lower ones share it, and
    so do arrays put together from others."""

    def __init__(self, plan: Plan, trips: Trips) -> None:
        self.plan = plan
        self.trips = trips
        self.row = row_bytes(plan.chain)
        self.sizes: list[int] = []
        self.holders: list[int] = []
        self.held: dict[int, Held] = {}
        self.last_touch = _last_touches(plan)
        self.read_once = _digits_read_once(plan)
        self.alive = 0
        self.highest = 0
        self.depth = 0  # of the loop that is followed

    def peak(self) -> int:
        """Bytes at the worst moment."""
        arguments = [self.fresh(register) for register in self.plan.blocks[0].arguments]
        for i, held in enumerate(arguments):
            self.hold(-1 - i, held)  # the caller keeps the inputs
        self.measure(0)
        self.block(0, arguments)
        return self.highest

    def fresh(self, register: int) -> Held:
        """New buffers for a register's own rows."""
        kind = self.plan.kind(register)
        if isinstance(kind, CipherKind):
            rows = cipher_rows(self.plan.chain, kind)
        elif isinstance(kind, DigitsKind):
            rows = digits_rows(self.plan.chain, kind)
        else:
            return ()
        first = len(self.sizes)
        self.sizes += [rows * self.row] * kind.count
        self.holders += [0] * kind.count
        return tuple(frozenset((first + i,)) for i in range(kind.count))

    def hold(self, register: int, held: Held) -> None:
        """Set a register."""
        for buffer in chain.from_iterable(held):
            self.alive += 0 if self.holders[buffer] else self.sizes[buffer]
            self.holders[buffer] += 1
        self.drop(register)
        self.held[register] = held

    def drop(self, register: int) -> None:
        """Clear a register, if it holds anything."""
        for buffer in chain.from_iterable(self.held.pop(register, ())):
            self.holders[buffer] -= 1
            self.alive -= 0 if self.holders[buffer] else self.sizes[buffer]

    def measure(self, more: int) -> None:
        """Note the bytes alive now, and so many more."""
        self.highest = max(self.highest, self.alive + more)

    def block(self, number: int, arguments: list[Held]) -> list[Held]:
        """Run a block once; returns the buffers of what it yields."""
        block = self.plan.blocks[number]
        for register, held in zip(block.arguments, arguments, strict=True):
            self.hold(register, held)
        for place, instruction in enumerate(block.code):
            results = self.step(instruction)
            if instruction.op == "yield":
                yielded = [self.held.get(o.register, ()) for o in instruction.operands]
                self.release(instruction, number, place)
                return yielded
            for register, held in zip(instruction.results, results, strict=True):
                self.hold(register, held)
            self.measure(0)
            self.release(instruction, number, place)
        raise AssertionError(f"block {number} does not end in yield")

    def step(self, instruction: Instruction) -> list[Held]:
        """Buffers of an instruction's results; its scratch is measured."""
        op = instruction.op
        self.trips.note(instruction)
        operands = [self.held.get(o.register, ()) for o in instruction.operands]
        if op == "for":
            return self.loop(instruction, operands[1:])
        if op == "if":
            self.give_up(instruction)
            self.block(instruction.immediate[1], operands[1:])
            return self.block(instruction.immediate[0], operands[1:])
        if (moved := self.moved(instruction, operands)) is not None:
            return [moved]
        if op == "hoist" and instruction.results[0] in self.read_once:
            return operands  # extended where it is used
        results = [self.fresh(register) for register in instruction.results]
        if results and results[0]:
            self.measure_vectors(instruction, results, operands[0] if operands else ())
        if op == "hoist":
            return [tuple(own | of for own, of in zip(results[0], operands[0], strict=True))]
        return results

    def moved(self, instruction: Instruction, operands: list[Held]) -> Held | None:
        """The result of an instruction that needs no rows for it."""
        match instruction.op:
            case "relabel" | "drop_level":
                return operands[0]
            case "take":
                return tuple(operands[0][number] for number in instruction.immediate)
            case "concat":
                return tuple(chain.from_iterable(operands))
            case "sum" if self.may_lend(instruction, operands[0]):
                return operands[0][:: len(operands[0]) // instruction.immediate[0]]
            case op if op in _IN_PLACE and self.may_lend(instruction, operands[0]):
                return operands[0]
        return None

    def measure_vectors(self, instruction: Instruction, results: list[Held], spent: Held) -> None:
        """Note the bytes while results are made one after the other, each giving up what it was made of."""
        stored = not self.is_lazy(instruction)
        shape = shape_of(self.plan, instruction)
        if shape.b_limbs:  # products of BFV keep rows of P, whether or not they switch keys
            shape = replace(shape, p_limbs=len(self.plan.chain.special))
        more = scratch_rows(instruction.op, shape, stored=stored) * self.row
        is_spent = len(results) == 1 and len(spent) == len(results[0]) > 1 and self.is_spent(instruction)
        for i, made in enumerate(zip(*results, strict=True)):
            more += sum(self.sizes[buffer] for buffers in made for buffer in buffers)
            self.measure(more)
            more -= sum(self.sizes[b] for b in spent[i] if self.holders[b] == 1) if is_spent else 0

    def is_lazy(self, instruction: Instruction) -> bool:
        """Whether digits among the operands are extended by this operation itself."""
        return bool(instruction.operands) and instruction.operands[0].register in self.read_once

    def is_spent(self, instruction: Instruction) -> bool:
        """Whether this is the one and last read of the first operand."""
        first = instruction.operands[0]
        return first.last_use and sum(o.register == first.register for o in instruction.operands) == 1

    def may_lend(self, instruction: Instruction, held: Held) -> bool:
        """Whether the rows of the first operand become those of the result."""
        kind = self.plan.kind(instruction.operands[0].register)
        result = self.plan.kind(instruction.results[0])
        assert isinstance(kind, CipherKind) and isinstance(result, CipherKind)
        sole = all(self.holders[b] == 1 for b in chain.from_iterable(held))
        fits = kind.degree == result.degree and (kind.count == result.count or instruction.op == "sum")
        return self.is_spent(instruction) and sole and fits

    def loop(self, instruction: Instruction, carried: list[Held]) -> list[Held]:
        """A counted loop; its operands belong to the first trip."""
        self.give_up(instruction)
        self.depth += 1
        for _ in range(min(self.trips.of(instruction), _REPEATS if self.depth <= _REPEATED_LOOPS else 1)):
            carried = self.block(instruction.immediate[0], [(), *carried])
        self.depth -= 1
        return carried

    def give_up(self, instruction: Instruction) -> None:
        """Drop the operands that are not read again."""
        for operand in instruction.operands:
            if operand.last_use:
                self.drop(operand.register)

    def release(self, instruction: Instruction, block: int, place: int) -> None:
        """Drop what is not touched again."""
        self.give_up(instruction)
        for register in self.last_touch.get((block, place), ()):
            self.drop(register)


def _digits_read_once(plan: Plan) -> set[int]:
    """Registers of digits that one operation reads, for the last time: not in a loop that they are outside of."""
    reads = Counter(o.register for _, _, instruction in plan.walk() for o in instruction.operands)
    last = {o.register for _, _, instruction in plan.walk() for o in instruction.operands if o.last_use}
    return {r for r in last if reads[r] == 1 and isinstance(plan.kind(r), DigitsKind)}


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
                visit(inner)
            home.update((register, number) for register in instruction.results)
            last.update((register, place) for register in instruction.results)

    visit(0)
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for register, place in last.items():
        found[home[register], place].append(register)
    return found


def constant_bytes(plan: Plan) -> int:
    """Bytes of all encoded constants, each held once per level, scale and basis of use."""
    encoded = {(i.immediate[0], plan.kind(i.results[0])) for _, _, i in plan.walk() if i.op == "encode"}
    rows = sum(kind.count * plain_rows(plan.chain, kind) for _, kind in encoded if isinstance(kind, PlainKind))
    maps = {(i.immediate[0], plan.kind(i.results[0])): i for _, _, i in plan.walk() if i.op == "map_sums"}
    for instruction in maps.values():
        _, shape, times = map_encodings(plan, instruction)
        rows += shape.rows * times
    return rows * row_bytes(plan.chain)
