"""Bootstraps written once: a procedure for each kind that a module has, and a call where one stands.

What makes two bootstraps of one kind is what they are expanded from: width and number of the vectors, the scale at the
floor, where to and at which scale, whether real, and how many iterations. Expanded, one is some hundred operations.
"""

from __future__ import annotations

from latticework.dialects.bootstrap import BootstrapKind
from latticework.dialects.rlwe import CipherType, Level
from latticework.expand.bootstrap import at_floor, expand_bootstrap
from latticework.expand.primitives import Primitives, cipher
from latticework.ir import Block, Builder, Loc, Op, Region, Type, Value


class SharedBootstraps:
    """The procedures of one module, to be put where all that calls them sees them: at its start."""

    def __init__(self) -> None:
        self._block = Block()
        self._known: dict[tuple[Type, Type, BootstrapKind], Value] = {}

    @property
    def definitions(self) -> tuple[Op, ...]:
        """What defines the procedures, in the order in which they were first called."""
        return tuple(self._block.ops)

    def call(self, p: Primitives, x: Value, level: int, scale: float, *, real: bool, iterations: int) -> Value:
        """As `expand_bootstrap`, by a call."""
        x = at_floor(p, x, level)
        start, kind = cipher(x), BootstrapKind(real, iterations)
        end = start.replace(level=Level(0, level), scale=scale)
        if (start, end, kind) not in self._known:
            self._known[start, end, kind] = self._define(p, start, end, kind)
        return p.builder.create("procedure.call", [self._known[start, end, kind], x]).result

    def _define(self, p: Primitives, start: CipherType, end: CipherType, kind: BootstrapKind) -> Value:
        """A procedure, whose operations have no line of the user's: that is the line of each call."""
        text = f"bootstrap of {start.slots} slots from level {start.level.index} to level {end.level.index}"
        block = Block()
        inside = Builder(block, Loc("", 0, text))
        y = expand_bootstrap(
            Primitives(inside, p.chain), block.add_arg(start), end.level.index, end.scale,
            real=kind.real, iterations=kind.iterations,
        )  # fmt: skip
        inside.create("loop.yield", [y])
        outside = Builder(self._block, inside.loc)
        return outside.create("procedure.define", [], {"bootstrap": kind}, [Region(block)]).result
