"""A plan as operations on slot vectors: no level, scale, basis or key is left.

Values are numbered as the plan's registers. A value is an array of `counts[value]` vectors of `slots` slots, or a
public integer (count 0). Vectors that the plan holds shorter are periodic, so one width serves all.
"""

from __future__ import annotations

from collections.abc import Iterator

from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import Plan
from latticework.values.packing.packed_constants import ConstRef

INDEX_OPS = ("iconst", "iadd", "isub", "imul", "imin", "ilt", "idiv")
PRODUCTS = ("mul", "mul_public", "dot", "dot_public", "sums")  # what spends a level wherever scales are kept for one


@dataclass(frozen=True, slots=True)
class Constants:
    """Public vectors that a step reads: one constant, or one of several by a public integer at run time."""

    choices: tuple[ConstRef, ...]
    index: int | None = None


@dataclass(frozen=True, slots=True)
class ProductTerm:
    """One product of `sums`: a public vector times vector `in_` rotated left, conjugated first or not, in a group."""

    in_: int
    steps: int
    conjugates: bool
    group: int
    values: ConstRef
    row: int = 0


@dataclass(frozen=True, slots=True)
class VectorStep:
    """One operation.

    op        its name, as in the plan where it is the same, or
              scale         times `number`          shift      plus `number`
              rotate        left by `steps`, of the conjugates or not; `number` is the value whose digits are shared
              sums          `terms` in groups, result after result       relinearize, bootstrap
              encrypt       public vectors as ciphertexts
    constants public vectors: the second operand of *_public and dot_public, what `encrypt` takes
    immediate numbers as in the plan: groups of sums, numbers of vectors, blocks
    location  number of the user's line
    """

    op: str
    results: tuple[int, ...]
    operands: tuple[int, ...]
    location: int
    immediate: tuple[int, ...] = ()
    number: complex = 1.0
    steps: int = 0
    conjugates: bool = False
    constants: Constants | None = None
    terms: tuple[ProductTerm, ...] = ()

    @property
    def blocks(self) -> tuple[int, ...]:
        """Numbers of the blocks that it runs."""
        return self.immediate[: {"for": 1, "if": 2}.get(self.op, 0)]


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Steps, and the values that the block gives."""

    arguments: tuple[int, ...]
    steps: tuple[VectorStep, ...]
    yields: tuple[int, ...]


@dataclass(frozen=True)
class VectorProgram:
    """A program on slot vectors, of which blocks[0] is the body.

    factors     of each output: what the owner multiplies it by after decryption
    is_complex  whether imaginary parts mean something
    """

    plan: Plan
    slots: int
    blocks: dict[int, VectorBlock]
    counts: dict[int, int]
    factors: tuple[float, ...]
    is_complex: bool

    @property
    def modulus(self) -> int:
        """Plain modulus t; 0 for CKKS."""
        return self.plan.chain.plain_modulus

    def steps(self) -> Iterator[VectorStep]:
        """All steps of all blocks."""
        for block in self.blocks.values():
            yield from block.steps

    def rotations(self, *, conjugated: bool = False) -> list[int]:
        """The different left rotations, in [0, slots): those of vectors, or those of their conjugates."""
        found: set[int] = set()
        for step in self.steps():
            if step.op == "rotate" and step.conjugates == conjugated:
                found.add(step.steps)
            found.update(term.steps for term in step.terms if term.conjugates == conjugated)
        return sorted(found) if conjugated else sorted(found - {0})

    def has(self, op: str) -> bool:
        """Whether there is a step of this name."""
        return any(step.op == op for step in self.steps())


def uses(block: VectorBlock) -> Iterator[int]:
    """Yield each value that a block reads, once for each time."""
    for step in block.steps:
        yield from step.operands
        if step.constants is not None and step.constants.index is not None:
            yield step.constants.index
    yield from block.yields
