"""An instruction with the types of what it reads and makes: what rules are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.executable import Executable, Instruction
from latticework.plan.instructions.protocols import Chain
from latticework.plan.instructions.register_kinds import KeyKind
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import Constant


@dataclass(slots=True, eq=False)
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
    constants: Sequence[Constant] = ()
    blocks: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...] = ()

    @property
    def stated(self) -> Any:
        """The type of the first result, as it is stated."""
        return self.results[0]


class Uses:
    """The instructions of some code, as their records see them."""

    def __init__(self, code: Executable, chain: Chain) -> None:
        self.code = code
        self.chain = chain
        kinds = [code.keys[kind.key] if isinstance(kind, KeyKind) else kind for kind in code.kinds]
        self.kinds: list[Any] = [kinds[number] for number in code.registers]

    def of(self, instruction: Instruction, blocks: Sequence[int] = ()) -> Use:
        """Return the use of an instruction with these inner blocks."""
        code, kinds = self.code, self.kinds
        return Use(
            tuple([kinds[o.register] for o in instruction.operands]),
            tuple([kinds[r] for r in instruction.results]),
            instruction.immediate,
            self.chain,
            code.keys,
            code.constants,
            tuple([self.border(number) for number in blocks]),
        )

    def border(self, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Types of a block's arguments, and of what it yields."""
        block = self.code.blocks[number]
        yielded = (o.register for o in block.code[-1].operands)
        return tuple(self.kinds[r] for r in block.arguments), tuple(self.kinds[r] for r in yielded)
