"""Lift a plan back to operations on slot vectors.

Programs for other libraries are made of a plan's code, not of the vector program that the compiler made it from. A plan
does not hold that; two forms of one program in a file could differ, and what is exported is to be what the server runs:
the same rotations, products and strategies. It is possible since every instruction has a meaning on slots
(`plan/instructions`): what only changes levels, scales, bases or the place of a division means nothing there.

A plan's bootstraps are blocks that are called, and become one step each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np

from latticework.errors import UnsupportedError
from latticework.lazy_dataclass import dataclass
from latticework.plan.export.vector_program import (
    INDEX_OPS,
    Constants,
    ProductTerm,
    VectorBlock,
    VectorProgram,
    VectorStep,
    uses,
)
from latticework.plan.instructions.executable import Instruction
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, IndexKind, PlainKind
from latticework.plan.instructions.walk import inner_blocks
from latticework.plan.schema.bootstraps import bootstraps_of
from latticework.plan.schema.schema import Plan
from latticework.values.packing.key_manifest import KeySpec, galois_action
from latticework.values.packing.packed_constants import Constant, ConstRef, MapSums, NumberMatrix, splat

SAME = ("hoist", "mod_down", "drop_level", "extend")  # of the first operand, as slots see it
KEPT = ("add", "sub", "neg", "sum", "concat", "take", *INDEX_OPS)  # by the same name


def lift_plan(plan: Plan) -> VectorProgram:
    """Return a plan's program on slot vectors.

    raises  UnsupportedError, with the user's line, for code that has no meaning there
    """
    bootstraps = {number for number in bootstraps_of(plan, plan.chain)}
    blocks: dict[int, VectorBlock] = {}
    width = max(plan.kind(r).slots for r in _ciphertexts(plan, bootstraps))  # type: ignore[union-attr]
    lifting = _Lifting(plan, bootstraps, width)
    pending = [0]
    while pending:
        number = pending.pop()
        if number not in blocks:
            blocks[number] = lifting.block(number)
            pending += [inner for step in blocks[number].steps for inner in step.blocks]
    blocks = {number: _merge_factors(block) for number, block in blocks.items()}
    factors = (1.0,) * len(blocks[0].yields)
    if not plan.chain.plain_modulus:
        blocks[0], factors = _decode_factors(blocks[0])
    return VectorProgram(plan, width, blocks, lifting.counts, factors, lifting.is_complex)


def _ciphertexts(plan: Plan, bootstraps: set[int]) -> list[int]:
    """Registers of ciphertexts that code outside of bootstraps has."""
    found, pending, seen = [], [0], set()
    while pending:
        number = pending.pop()
        if number in seen or number in bootstraps:
            continue
        seen.add(number)
        block = plan.blocks[number]
        registers = [*block.arguments, *(r for each in block.code for r in each.results)]
        found += [r for r in registers if isinstance(plan.kind(r), CipherKind)]
        pending += [inner for each in block.code for inner in inner_blocks(each)]
    return found


def _merge_factors(block: VectorBlock) -> VectorBlock:
    """Make one product of two with numbers, where nothing else reads what is between."""
    times, made, merged = Counter(uses(block)), dict[int, VectorStep](), set[int]()
    for step in block.steps:
        before = made.get(step.operands[0]) if step.op == "scale" else None
        if before is not None and before.op == "scale" and times[step.operands[0]] == 1:
            merged.add(step.operands[0])
            step = replace(step, operands=before.operands, number=step.number * before.number)
        made.update(dict.fromkeys(step.results, step))
    kept = [made[s.results[0]] if s.results else s for s in block.steps if not merged.intersection(s.results)]
    return VectorBlock(block.arguments, tuple(kept), block.yields)


def _decode_factors(body: VectorBlock) -> tuple[VectorBlock, tuple[float, ...]]:
    """Leave real factors of outputs to the owner, who multiplies for nothing."""
    made = {result: step for step in body.steps for result in step.results}
    times = list(uses(body))
    yields, factors, left = list[int](), list[float](), set[int]()
    for value in body.yields:
        step = made.get(value)
        if step is not None and step.op == "scale" and times.count(value) == 1 and not isinstance(step.number, complex):
            left.add(value)
            yields.append(step.operands[0])
            factors.append(float(step.number))
        else:
            yields.append(value)
            factors.append(1.0)
    steps = tuple(step for step in body.steps if not left.intersection(step.results))
    return VectorBlock(body.arguments, steps, tuple(yields)), tuple(factors)


@dataclass
class _Lifting:
    """A plan's registers, and what is known of them while blocks are lifted.

    same       register -> the value that it is, where its instruction changes nothing
    digits     register of digits -> the value that was hoisted
    plains     register -> the public vectors in it
    """

    plan: Plan
    bootstraps: set[int]
    width: int
    same: dict[int, int] = field(default_factory=dict)
    plains: dict[int, Constants] = field(default_factory=dict)
    keys: dict[int, KeySpec] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    is_complex: bool = False

    def block(self, number: int) -> VectorBlock:
        """One block's steps."""
        block = self.plan.blocks[number]
        for register in block.arguments:
            self._count(register)
        steps: list[VectorStep] = []
        for instruction in block.code[:-1]:
            steps += self._lift(instruction)
        yields = tuple(self.value(o.register) for o in block.code[-1].operands)
        return VectorBlock(block.arguments, tuple(steps), yields)

    def value(self, register: int) -> int:
        """The value that a register holds."""
        return self.same.get(register, register)

    def _count(self, register: int) -> None:
        kind = self.plan.kind(register)
        self.counts[register] = 0 if isinstance(kind, IndexKind) else getattr(kind, "count", 0)

    def _lift(self, instruction: Instruction) -> Sequence[VectorStep]:
        """The steps of one instruction: none where slots stay as they are."""
        op, registers = instruction.op, [o.register for o in instruction.operands]
        for result in instruction.results:
            self._count(result)
        if op in SAME:
            self.same[instruction.results[0]] = self.value(registers[0])
            return []
        if op in KEPT:
            return [self._step(instruction, op)]
        lift = RULES.get(op)
        if lift is None:
            raise self.refuse(instruction, f"the instruction {op} has no meaning on slot vectors outside of bootstraps")
        return lift(self, instruction)

    def _step(self, instruction: Instruction, op: str, **facts: object) -> VectorStep:
        """A step with the instruction's results, secret and public operands, and immediates."""
        kinds = [self.plan.kind(o.register) for o in instruction.operands]
        operands = tuple(
            self.value(o.register)
            for o, kind in zip(instruction.operands, kinds, strict=True)
            if isinstance(kind, CipherKind | DigitsKind | IndexKind)
        )
        made = {"immediate": instruction.immediate, **facts}
        return VectorStep(op, instruction.results, operands, instruction.location, **made)  # type: ignore[arg-type]

    def refuse(self, instruction: Instruction, what: str) -> UnsupportedError:
        """The error for code that cannot be lifted."""
        return UnsupportedError(
            f"export of {self.plan.client.name}: {what}; compile the program again without techniques=, "
            "and export that plan",
            at=self.plan.locations[instruction.location],
        )

    # -- rules ---------------------------------------------------------------------------------

    def encode(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Public vectors are no steps: whoever reads them has them."""
        chosen = [self.plan.constants[number] for number in instruction.immediate]
        assert all(isinstance(constant, ConstRef) for constant in chosen)
        index = self.value(instruction.operands[0].register) if instruction.op == "encode_at" else None
        self.plains[instruction.results[0]] = Constants(tuple(chosen), index)  # type: ignore[arg-type]
        self._note_complex(*chosen)
        return []

    def _note_complex(self, *constants: Constant) -> None:
        self.is_complex |= any(constant.is_complex for constant in constants)

    def key(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Keys are known by what they do."""
        self.keys[instruction.results[0]] = self.plan.keys[instruction.immediate[0]]
        return []

    def plain_operand(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Sums and products with public vectors."""
        op = instruction.op.replace("plain", "public")
        return [self._step(instruction, op, constants=self.plains[instruction.operands[1].register])]

    def encrypt(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Public vectors in the place of ciphertexts."""
        return [self._step(instruction, "encrypt", constants=self.plains[instruction.operands[0].register])]

    def product(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Products of ciphertexts, a square too; relinearised at once where the instruction does so."""
        step = self._step(instruction, "mul", number=2.0 if instruction.op == "mul_relinearize" else 1.0)
        twice = (step.operands * 2)[:2]
        return [VectorStep("mul", step.results, twice, step.location, number=step.number)]

    def dot(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Sums of products, of ciphertexts or with public vectors."""
        other = instruction.operands[1].register
        if isinstance(self.plan.kind(other), PlainKind):
            return [self._step(instruction, "dot_public", constants=self.plains[other])]
        return [self._step(instruction, "dot")]

    def multiply_integer(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A product with an integer, read at another scale: by CKKS a number, which is 1 where it adjusts a scale."""
        (factor,), result = instruction.immediate, instruction.results[0]
        source, made = (self.plan.kind(r) for r in (instruction.operands[0].register, result))
        assert isinstance(source, CipherKind) and isinstance(made, CipherKind)
        ratio = made.scale / source.scale
        return self._times(instruction, 1.0 if factor == round(ratio) else factor / ratio)

    def relabel(self, instruction: Instruction) -> Sequence[VectorStep]:
        """The same integers at another scale; another width is the same vector, since it is periodic."""
        source, made = (self.plan.kind(r) for r in (instruction.operands[0].register, instruction.results[0]))
        assert isinstance(source, CipherKind) and isinstance(made, CipherKind)
        if made.slots < source.slots:
            raise self.refuse(instruction, f"{source.slots} slots are read as {made.slots}")
        return self._times(instruction, source.scale / made.scale)

    def monomial(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A product with a power of i."""
        exponent, half = instruction.immediate[0], self.plan.chain.ring_degree // 2
        if exponent % half:
            raise self.refuse(instruction, f"X^{exponent} has no meaning on slots")
        self.is_complex = True
        return self._times(instruction, (1.0, 1j, -1.0, -1j)[exponent // half])

    def _times(self, instruction: Instruction, number: complex) -> Sequence[VectorStep]:
        if number == 1.0:
            self.same[instruction.results[0]] = self.value(instruction.operands[0].register)
            return []
        return [self._step(instruction, "scale", number=number, immediate=())]

    def add_integer(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A public number in every slot."""
        kind = self.plan.kind(instruction.results[0])
        assert isinstance(kind, CipherKind)
        return [self._step(instruction, "shift", number=instruction.immediate[0] / kind.scale, immediate=())]

    def switch(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A rotation, or a relinearisation, by what its key is of."""
        key = self.keys[instruction.operands[1].register]
        if key.kind == "relin":
            return [self._step(instruction, "relinearize")]
        steps, conjugates = self._action(key)
        if not (steps or conjugates):
            self.same[instruction.results[0]] = self.value(instruction.operands[0].register)
            return []
        shared = instruction.op == "key_product"
        return [self._step(instruction, "rotate", steps=steps, conjugates=conjugates, number=float(shared))]

    def _action(self, key: KeySpec) -> tuple[int, bool]:
        """The rotation of a Galois key on vectors of all slots, and whether it conjugates.

        Both rows of BFV are alike, so swapping them does nothing.
        """
        steps, conjugates = galois_action(key.galois_element, self.width)
        conjugates &= not self.plan.chain.plain_modulus
        self.is_complex |= conjugates
        return steps, conjugates

    def diagonal_sums(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Babies of every vector times diagonals, in sums for each giant."""
        num_keys, _, *pairs = instruction.immediate
        registers = [o.register for o in instruction.operands[1:]]
        babies = [(0, False), *(self._action(self.keys[r]) for r in registers[:num_keys])]
        count, terms = self.counts[instruction.results[0]], list[ProductTerm]()
        for baby, giant, register in zip(pairs[::2], pairs[1::2], registers[num_keys:], strict=True):
            plain = self.plains[register]
            if plain.index is not None:
                raise self.refuse(instruction, "a linear map has diagonals that are chosen at run time")
            (values,) = plain.choices
            for vector in range(count):
                row = vector if values.count > 1 else 0
                steps, conjugates = babies[baby]
                terms.append(ProductTerm(vector, steps, conjugates, giant * count + vector, values, row))
        terms.sort(key=lambda term: term.group)
        return [self._sums(instruction, terms)]

    def map_sums(self, instruction: Instruction) -> Sequence[VectorStep]:
        """The inner sums of a block map."""
        sums = self.plan.constants[instruction.immediate[0]]
        assert isinstance(sums, MapSums)
        self._note_complex(sums)
        keys = [self.keys[o.register] for o in instruction.operands[1:]]
        babies = [(0, False), *map(self._action, keys)]
        rows = zip(sums.products.rows.tolist(), sums.products.values, strict=True)
        terms = []
        for (in_, baby, group), values in rows:
            steps, conjugates = babies[baby]
            terms.append(ProductTerm(in_, steps, conjugates, group, values))
        return [self._sums(instruction, terms)]

    def public_matmul(self, instruction: Instruction) -> Sequence[VectorStep]:
        """Sums of vectors times numbers."""
        matrix = self.plan.constants[instruction.immediate[0]]
        assert isinstance(matrix, NumberMatrix)
        numbers, slots = matrix.evaluate(self.plan.sources), matrix.map.slots
        terms = [
            ProductTerm(in_, 0, False, group, splat(float(numbers[group, in_]), slots))
            for group, in_ in np.argwhere(numbers).tolist()
        ]
        return [self._sums(instruction, terms)]

    def _sums(self, instruction: Instruction, terms: list[ProductTerm]) -> VectorStep:
        source = self.value(instruction.operands[0].register)
        return VectorStep("sums", instruction.results, (source,), instruction.location, terms=tuple(terms))

    def part(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A part of an array by a public integer, or an array with another one."""
        return [self._step(instruction, "part" if instruction.op == "take_at" else "with_part")]

    def block_step(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A loop or a branch."""
        return [self._step(instruction, instruction.op)]

    def call(self, instruction: Instruction) -> Sequence[VectorStep]:
        """A bootstrap."""
        number = instruction.immediate[0]
        if number not in self.bootstraps:
            raise self.refuse(instruction, "it calls code that is no bootstrap")
        known = next(each for each in self.plan.bootstraps if each.block == number)
        drops = known.real and self.is_complex
        return [self._step(instruction, "bootstrap", immediate=(known.iterations,), conjugates=drops)]


Rule = Callable[[_Lifting, Instruction], Sequence[VectorStep]]
RULES: dict[str, Rule] = {
    "encode": _Lifting.encode,
    "encode_at": _Lifting.encode,
    "key": _Lifting.key,
    "add_plain": _Lifting.plain_operand,
    "sub_plain": _Lifting.plain_operand,
    "mul_plain": _Lifting.plain_operand,
    "trivial": _Lifting.encrypt,
    "mul": _Lifting.product,
    "square": _Lifting.product,
    "mul_relinearize": _Lifting.product,
    "dot": _Lifting.dot,
    "mul_int": _Lifting.multiply_integer,
    "relabel": _Lifting.relabel,
    "mul_monomial": _Lifting.monomial,
    "add_int": _Lifting.add_integer,
    "key_product": _Lifting.switch,
    "rotate": _Lifting.switch,
    "rotate_over_p": _Lifting.switch,
    "relinearize": _Lifting.switch,
    "diag_sums": _Lifting.diagonal_sums,
    "map_sums": _Lifting.map_sums,
    "public_matmul": _Lifting.public_matmul,
    "take_at": _Lifting.part,
    "put_at": _Lifting.part,
    "for": _Lifting.block_step,
    "if": _Lifting.block_step,
    "call": _Lifting.call,
}
