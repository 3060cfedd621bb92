"""The executable part of a plan: instructions on typed registers, in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.register_kinds import Kind
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import Constant


@dataclass(frozen=True, slots=True)
class RegisterOperand:
    """A register read, and whether it is not read again."""

    register: int
    last_use: bool = False


@dataclass(frozen=True, slots=True)
class Instruction:
    """One step.

    op         opcode name
    location   index into the plan's locations
    immediate  block numbers, constant numbers, integers: as the opcode says
    """

    op: str
    location: int
    operands: tuple[RegisterOperand, ...]
    results: tuple[int, ...]
    immediate: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanBlock:
    """Straight-line code that ends in `yield`."""

    arguments: tuple[int, ...]
    code: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class BootstrapBlock:
    """A block that is a bootstrap: one array of ciphertexts at the floor of the main track in, one above it out.

    real        imaginary parts are dropped
    iterations  2: the error of the first bootstrap is bootstrapped too
    """

    block: int
    real: bool
    iterations: int


class Executable(Protocol):
    """Code that can be executed: a plan, or the code that becomes one."""

    @property
    def kinds(self) -> Sequence[Kind]:
        """Register types in use."""

    @property
    def registers(self) -> Sequence[int]:
        """Number of the kind of each register."""

    @property
    def blocks(self) -> Sequence[PlanBlock]:
        """Straight-line code; the first block is the body."""

    @property
    def bootstraps(self) -> Sequence[BootstrapBlock]:
        """The called blocks that are bootstraps."""

    @property
    def keys(self) -> Sequence[KeySpec]:
        """Evaluation keys."""

    @property
    def constants(self) -> Sequence[Constant]:
        """Constants that `encode` instructions gather, block maps and matrices."""

    @property
    def locations(self) -> Sequence[Any]:
        """The user's lines, by number."""
