"""Builder: creates ops at an insertion point, with inferred types and located errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from latticework.errors import UserError
from latticework.ir.core import Block, Op, OpSpec, Region, Value
from latticework.ir.core import spec as spec_of
from latticework.ir.location import Loc, Origin


def locate(error: UserError, loc: Loc) -> UserError:
    """The error with the location `loc`, unless it has one already."""
    return error if error.at is not None else type(error)(error.message, at=loc)


class Builder:
    """Appends ops to a block, or inserts them before one of its ops.

    loc  location of created ops that are given none
    """

    __slots__ = ("_anchor", "block", "loc")

    def __init__(self, block: Block, loc: Loc | None = None) -> None:
        self.block = block
        self.loc = loc
        self._anchor: Op | None = None

    def before(self, op: Op) -> Self:
        """Move the insertion point to just before an op that is in a block."""
        assert op.block is not None, f"{op.name} is in no block"
        self.block = op.block
        self._anchor = op
        return self

    def create(
        self,
        spec: OpSpec | str,
        operands: Sequence[Value] = (),
        attrs: dict[str, Any] | None = None,
        regions: Sequence[Region] = (),
        *,
        loc: Loc | None = None,
        origin: Origin | None = None,
    ) -> Op:
        """Create an op, its result types inferred, and insert it.

        loc      defaults to the builder's location
        origin   given to every result
        raises   what the op's infer raises, with the location
        """
        kind = spec_of(spec) if isinstance(spec, str) else spec
        place = loc or self.loc or Loc.unknown()
        attributes = dict(attrs) if attrs else {}
        try:
            types = kind.infer(operands, attributes, regions)
        except UserError as error:
            raise locate(error, place) from None
        op = Op(kind, operands, types, attributes, regions, loc=place)
        if origin is not None:
            for value in op.results:
                value.origin = origin
        return self.insert(op)

    def build(self, spec: OpSpec | str, operands: Sequence[Value] = (), /, **attrs: Any) -> Value:
        """Create an op of one result, at the builder's location, and return the result."""
        return self.create(spec, operands, attrs).result

    def insert(self, op: Op) -> Op:
        """Put an op that is in no block at the insertion point."""
        assert op.block is None, f"{op.name} is already in a block"
        op.block = self.block
        if self._anchor is None:
            self.block.ops.append(op)
        else:
            self.block.ops.insert(self.block.ops.index(self._anchor), op)
        return op

    def copy(self, op: Op, mapping: dict[Value, Value]) -> Op:
        """Insert a copy of an op, nested regions included.

        mapping  old value -> new value for the operands; values not in it stay as they are.
                 It is extended by the results.  Types are inferred again where an operand's type changed.
        """
        return self.copy_with(op, mapping, [copy_region(region, mapping, op) for region in op.regions])

    def copy_with(self, op: Op, mapping: dict[Value, Value], regions: Sequence[Region]) -> Op:
        """Copy an op as `copy` does, but with `regions` instead of copies of the op's regions."""
        operands = [mapping.get(value, value) for value in op.operands]
        if not regions and all(new.type is old.type for new, old in zip(operands, op.operands, strict=True)):
            types = [value.type for value in op.results]
            new = self.insert(Op(op.spec, operands, types, dict(op.attrs), loc=op.loc))
        else:
            new = self.create(op.spec, operands, op.attrs, regions, loc=op.loc)
        for old_result, new_result in zip(op.results, new.results, strict=True):
            new_result.origin = old_result.origin
            mapping[old_result] = new_result
        return new


def region_block(region: Region, mapping: dict[Value, Value], op: Op) -> Block:
    """A new empty block for a copy of `region` of `op`, its arguments added to the mapping.

    The arguments have the types that follow from the mapped operands of the op.
    """
    types = [value.type for value in region.block.args]
    if op.spec.regions.types is not None:
        types = op.spec.regions.types([mapping.get(value, value).type for value in op.operands], op.attrs)
    block = Block()
    for old, type in zip(region.block.args, types, strict=True):
        mapping[old] = block.add_arg(type, old.origin)
    return block


def copy_region(region: Region, mapping: dict[Value, Value], op: Op) -> Region:
    """A copy of `region` of `op` with its values mapped."""
    builder = Builder(region_block(region, mapping, op))
    for nested in region.block.ops:
        builder.copy(nested, mapping)
    return Region(builder.block)
