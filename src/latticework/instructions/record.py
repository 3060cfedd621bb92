"""What there is to know of a plan instruction, in one record: its opcode's types, meaning, price and words.

A record is made once, in the file of its family; every field must be given, so that nothing about an instruction is
forgotten in silence. Records know neither compiler nor runtime nor analyses: what a field needs of the analysis that
asks (drawing noise, products modulo t), it takes through the protocol of that field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from latticework.instructions.kinds import MAIN
from latticework.instructions.protocols import Chain
from latticework.packing.constants import ConstRef, MapSums
from latticework.packing.keys import KeySpec

CKKS, BFV = ("ckks",), ("bfv",)
BOTH = CKKS + BFV

FAMILIES = ("switch", "divide", "product", "plain", "add", "encode", "other")  # what time is spent on, for reports


@dataclass(frozen=True, slots=True)
class Use:
    """An instruction as its record sees it.

    operands   types of what it reads; of a key, which one
    results    types of what it makes, as they are stated
    blocks     of loops and branches: types of the arguments of each inner block, and of what it yields
    keys, constants  of the whole plan: immediates may be numbers of these
    """

    operands: tuple[Any, ...]
    results: tuple[Any, ...]
    immediate: tuple[int, ...]
    chain: Chain
    keys: Sequence[KeySpec] = ()
    constants: Sequence[ConstRef | MapSums] = ()
    blocks: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = ()

    @property
    def stated(self) -> Any:
        """The type of the first result, as it is stated."""
        return self.results[0]


@dataclass(frozen=True, slots=True)
class Traits:
    """What few instructions are.

    control     all it deals with is public: integers, keys, blocks; the walk runs it itself
    blocks      how many of its immediates, the first ones, are numbers of blocks
    secret      number of the secret under which its operands are
    constant    (use, constant): raises where what the first immediate names does not fit; None: it names none
    adds        a plaintext among its operands is added: BFV has a form of its own for that
    is_complex  it can make complex slots of real ones, whatever its keys and plaintexts are
    """

    control: bool = False
    blocks: int = 0
    secret: int = MAIN
    constant: Callable[[Use, Any], None] | None = None
    adds: bool = False
    is_complex: bool = False


ORDINARY, CONTROL = Traits(), Traits(control=True)

Rule = Callable[[Use], Sequence[Any]]
Meaning = Callable[..., Any]
Error = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One plan instruction.

    name     its opcode, as in `cpp/exec/opcodes.def`, which has the kinds and numbers of operands and immediates
    line     what it does, in one line
    family   what its time is spent on: of FAMILIES
    schemes  that have it
    traits   what sets it apart from ordinary instructions, if anything
    rule     types of the results from those of operands and the immediates; what they leave free is as stated.
             raises LevelError, ScaleError, ShapeError or IrError; messages go on after the name of the instruction
    meaning  (machine, use, *operands) -> result, or a list of several: slot vectors (..., count, slots) and keys as
             their `KeySpec`; of control instructions (walk, site, *operands)
    error    (errors, use, *operands) -> result, or a list of several: what is known of the error of each vector, a
             tuple with an item for each (`vectors`); of control instructions it is `meaning`
    """

    name: str
    line: str
    family: str
    schemes: tuple[str, ...]
    traits: Traits
    rule: Rule
    meaning: Meaning
    error: Error

    def __post_init__(self) -> None:
        assert self.family in FAMILIES, f"{self.name}: there is no family {self.family}"
        missing = [f.name for f in fields(self) if getattr(self, f.name) is None]
        assert not missing, f"{self.name}: the record has no {', '.join(missing)}"


def walked(*_operands: Any) -> Any:
    """What analyses ask of a control instruction, in vain: the walk runs its meaning."""
    raise AssertionError("the walk runs control instructions")
