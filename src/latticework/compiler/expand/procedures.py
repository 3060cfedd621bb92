"""Code that is written once in a block and called, instead of written wherever it is wanted.

Two places share a procedure if it is written from the same: types of operands, and what the writer goes by. A procedure
has procedures of its own, since its block sees nothing of what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from latticework.compiler.expand.primitive_builder import Primitives
from latticework.ir import Block, Builder, Loc, Op, Region, Value, prepend


class Procedures:
    """The procedures of one block, to be put where all that calls them sees them: at its start."""

    def __init__(self) -> None:
        self._block = Block()
        self._known: dict[Hashable, Value] = {}

    @property
    def definitions(self) -> tuple[Op, ...]:
        """Operations that define the procedures, in the order in which they were first called."""
        return tuple(self._block.ops)

    def call(
        self,
        p: Primitives,
        operands: Sequence[Value],
        what: Hashable,
        write: Callable[..., Value],
        *,
        attributes: Mapping[str, Any] | None = None,
        reason: Mapping[str, Any] | None = None,
        loc: Loc | None = None,
    ) -> Value:
        """Call the procedure that `write` defines, on these operands; returns its result.

        what        all that it is written from, apart from the types of operands
        write       (primitives, procedures of the block, *operands) -> the result
        attributes  of the procedure;  reason  those of the call;  loc  of its operations: where p stands if not given
        """
        key = (what, tuple([value.type for value in operands]))
        if key not in self._known:
            place = loc or p.builder.loc or Loc.unknown()
            self._known[key] = self._define(p, operands, write, dict(attributes or {}), place)
        return p.builder.create("procedure.call", [self._known[key], *operands], dict(reason or {})).result

    def _define(
        self,
        p: Primitives,
        operands: Sequence[Value],
        write: Callable[..., Value],
        attributes: dict[str, Any],
        loc: Loc,
    ) -> Value:
        block, own = Block(), Procedures()
        inside = Primitives(Builder(block, loc), p.chain)
        result = write(inside, own, *[block.add_arg(value.type) for value in operands])
        inside.builder.create("loop.yield", [result])
        prepend(block, own.definitions)
        return Builder(self._block, loc).create("procedure.define", [], attributes, [Region(block)]).result
