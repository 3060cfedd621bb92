"""The procedure dialect: code that stands once in a module and is run from many places.

A procedure is a value: what defines it has its block as a region, and calls name it as their first operand. So it is
copied, printed and dropped like everything else, and no procedure can call itself. Its block is isolated: it sees its
arguments and nothing around it, since what calls it may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from latticework.errors import IrError
from latticework.ir import Array, Attrs, Context, Op, Region, Type, Value, define, register_type
from latticework.ir.core import RegionRule


@register_type("procedure")
class ProcedureType(Type):
    """Types of the arguments of a procedure, and of what it yields."""

    secret: ClassVar[bool] = False
    arguments: tuple[Type, ...]
    results: tuple[Type, ...]

    def check(self) -> None:
        """Both are tuples of types."""
        for types in (self.arguments, self.results):
            if type(types) is not tuple or not all(isinstance(t, Type) for t in types):
                raise IrError(f"procedure: {types} are not types")


def _infer_define(operands: Sequence[Value], _attrs: Attrs, regions: Sequence[Region]) -> list[Type]:
    if operands or len(regions) != 1:
        raise IrError(f"procedure.define: has one region and no operands, got {len(regions)} and {len(operands)}")
    block = regions[0].block
    yielded = tuple([value.type for value in block.terminator.operands])
    return [ProcedureType(tuple([value.type for value in block.args]), yielded)]


# A procedure has no slots, so its array is empty. The attribute `bootstrap`, where there is one, says that it is one.
DEFINE = define(
    "procedure.define",
    infer=_infer_define,
    semantics=lambda _op, _inputs, _context: [np.empty(0)],
    regions=RegionRule(1, isolated=True),
)


def _infer_call(operands: Sequence[Value], _attrs: Attrs, _regions: Sequence[Region]) -> list[Type]:
    called = operands[0].type if operands else None
    if not isinstance(called, ProcedureType):
        raise IrError(f"procedure.call: the first operand must be a procedure, it is {called or 'missing'}")
    have = tuple([value.type for value in operands[1:]])
    if have != called.arguments:
        raise IrError(f"procedure.call: calls with {list(have)} what takes {list(called.arguments)}")
    return list(called.results)


def find_called(op: Op) -> Op:
    """Find the op that defines the procedure called by `op`."""
    owner = op.operands[0].owner
    if not isinstance(owner, Op) or owner.spec is not DEFINE:
        raise IrError("procedure.call: calls a value that no procedure.define makes")
    return owner


def _verify_call(op: Op) -> None:
    find_called(op)


def _run_call(op: Op, inputs: list[Array], context: Context) -> list[Array]:
    return context.run(find_called(op).regions[0].block, inputs[1:])


CALL = define("procedure.call", infer=_infer_call, verify=_verify_call, semantics=_run_call)
