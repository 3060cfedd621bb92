"""The record of a plan instruction: its opcode's types, meaning, price and words, all in one place.

A record is made once, in the file of its family; every field must be given, so that nothing about an instruction is
forgotten in silence. Records know neither compiler nor runtime nor analyses: what a field needs of the analysis that
asks (drawing noise, products modulo t), it takes through the protocol of that field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.signatures import SIGNATURES, OpcodeSignature
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.work_units import Part, Works

FAMILIES = ("switch", "divide", "product", "plain", "add", "encode", "other")  # what time is spent on, for reports


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """Properties that few instructions have.

    control     all it deals with is public: integers, keys, blocks; the walk runs it itself
    is_complex  it can make complex slots of real ones, whatever its keys and plaintexts are
    linear      (immediate, ring degree) -> whether it is a step of a linear combination of ciphertexts, which
                executors compute in one pass (`linear_role` in cpp/exec); None: never
    begins      of linear ones: only ciphertexts that are there are multiplied, so that a combination begins with it
    transforms  executors transform plaintexts that only it reads limb by limb, where it uses them
    """

    control: bool = False
    is_complex: bool = False
    linear: Callable[[Sequence[int], int], bool] | None = None
    begins: bool = False
    transforms: bool = False


ORDINARY, CONTROL = Traits(), Traits(control=True)

Rule = Callable[[Use], Sequence[Any]]
Meaning = Callable[..., Any]
Error = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """One plan instruction.

    name     its opcode, as in `cpp/exec/opcodes.def`, which says what it takes and which schemes have it (`signature`)
    line     what it does, in one line
    family   what its time is spent on: of FAMILIES
    traits   what sets it apart from ordinary instructions, if anything
    rule     types of the results from those of operands and the immediates; what they leave free is as stated.
             raises LevelError, ScaleError, ShapeError or IrError; messages go on after the name of the instruction
    meaning  (machine, use, *operands) -> result, or a list of several: slot vectors (..., count, slots) and keys as
             their `KeySpec`; of control instructions (walk, site, *operands)
    error    (errors, use, *operands) -> result, or a list of several: what is known of the error of each vector, a
             tuple with an item for each (`vectors`); of control instructions it is `meaning`
    work     units of the operations that it adds to those that cost tables price, by their names there
    parts    (use) -> of which operations on one ciphertext a run of it consists (`Part`)
    counts   (use) -> what a run of it counts as, by the names of `OperationCounts`
    keys     (use) -> products with each operand that is a key, by its place
    scratch  (use, stored) -> rows on top of those of operands and results;  stored  whether digits that it reads have
             rows
    reuse    (use, lent, *buffers) -> the buffers of operands that become those of its result; None if it needs new
             ones;  lent  whether the first operand's may be written over
    """

    name: str
    line: str
    family: str
    traits: Traits
    rule: Rule
    meaning: Meaning
    error: Error
    work: Works
    parts: Callable[[Use], Sequence[Part]]
    counts: Callable[[Use], Mapping[str, int]]
    keys: Callable[[Use], Mapping[int, int]]
    scratch: Callable[[Use, bool], int]
    reuse: Callable[..., Any]

    def __post_init__(self) -> None:
        assert self.family in FAMILIES, f"{self.name}: there is no family {self.family}"
        missing = [f.name for f in fields(self) if getattr(self, f.name) is None]
        assert not missing, f"{self.name}: the record has no {', '.join(missing)}"

    @property
    def signature(self) -> OpcodeSignature:
        """The core's signature of its opcode."""
        return SIGNATURES[self.name]


def refuse_analysis(*_operands: Any) -> Any:
    """The function that stands where an analysis has no say: the walk runs control instructions."""
    raise AssertionError("the walk runs control instructions")
