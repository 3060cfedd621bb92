"""The signature of an instruction by the core's table of opcodes (`cpp/exec/opcodes.def`), letters as there."""

from __future__ import annotations

from typing import NamedTuple

from latticework.plan.instructions.register_kinds import MAIN, SPARSE
from latticework.values.extension import _core


class OpcodeSignature(NamedTuple):
    """One line of the table.

    operands, results, immediates  kinds, a letter each; "*" where others decide
    schemes  that have it
    blocks   how many of its immediates, the first ones, are numbers of blocks
    """

    operands: str
    results: str
    immediates: str
    schemes: tuple[str, ...]
    blocks: int

    @property
    def num_immediates(self) -> int | None:
        """Number of its immediates; None: any number."""
        return None if self.immediates.endswith("*") else len(self.immediates)

    @property
    def secret(self) -> int:
        """Number of the secret under which its operands are."""
        return SPARSE if "s" in self.operands else MAIN

    @property
    def adds(self) -> bool:
        """Whether a plaintext among its operands is added: BFV has another form for that."""
        return "a" in self.operands

    @property
    def has_map(self) -> bool:
        """Whether it carries out a block map, whose parts it makes its passes over keys by."""
        return "m" in self.immediates

    def constants(self, immediate: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
        """Constants that its immediates number: (letter of the kind, number)."""
        kinds = self.immediates[0] * len(immediate) if self.num_immediates is None else self.immediates
        return tuple((kind, number) for kind, number in zip(kinds, immediate, strict=False) if kind in "vmw")


SIGNATURES = {name: OpcodeSignature(*told, told[2].count("b")) for name, told in _core.opcode_signatures().items()}
