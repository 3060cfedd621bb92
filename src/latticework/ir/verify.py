"""Verify a module: what every pass may take for granted.

Structure (parents, owners, terminators), single assignment with dominance,
isolated regions, use lists, attributes, types as inferred, and each op's own
checks.  Cost: O(ops).
"""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors import IrError, UserError
from latticework.ir.attributes import is_attribute
from latticework.ir.builder import locate
from latticework.ir.core import Block, Op, Value
from latticework.ir.location import Loc
from latticework.ir.module import Module


def verify(module: Module) -> None:
    """Raise an IrError, or what an op's own check raises, that names the first op that is wrong and its location."""
    _verify_names(module)
    if module.body.parent is not None:
        raise IrError("the body of a module is nested in a region")
    checker = _Verifier()
    checker.block(module.body, None)
    checker.uses()


def _verify_names(module: Module) -> None:
    inputs, outputs = module.input_names, module.outputs
    if len(inputs) != len(module.body.args) or len(set(inputs)) != len(inputs):
        raise IrError(f"a module of {len(module.body.args)} inputs needs as many different names, has {inputs}")
    if len(set(outputs)) != len(outputs):
        raise IrError(f"outputs of a module need different names, have {outputs}")
    yielded = module.body.terminator
    if len(yielded.operands) != len(outputs):
        raise IrError(f"{yielded.name}: yields {len(yielded.operands)} outputs, named are {outputs}", at=yielded.loc)


class _Verifier:
    """One walk over a module."""

    def __init__(self) -> None:
        self._visible: set[Value] = set()  # defined, and in an enclosing or the present block
        self._num_uses: dict[Value, int] = {}  # operands that are the value, as far as walked
        self._seen: dict[Op, None] = {}  # in order

    def block(self, block: Block, parent: Op | None) -> None:
        """Check a block nested in `parent`."""
        place = parent.loc if parent else None
        name = parent.name if parent else "module"
        self._define(block.args, block, name, place)
        if not block.ops or not block.ops[-1].spec.terminator:
            last = block.ops[-1] if block.ops else parent
            raise IrError(f"{name}: a block must end in a terminator such as loop.yield", at=last.loc if last else None)
        for op in block.ops:
            if op in self._seen or op.block is not block:
                raise IrError(f"{op.name}: stands in a block that is not its own, or stands twice", at=op.loc)
            self._seen[op] = None
            if op.spec.terminator and op is not block.ops[-1]:
                raise IrError(f"{op.name}: a terminator must be the last op of its block", at=op.loc)
            self._op(op)
            self._define(op.results, op, op.name, op.loc)
        self._visible.difference_update(block.args)
        for op in block.ops:
            self._visible.difference_update(op.results)

    def _define(self, values: Sequence[Value], owner: Op | Block, name: str, loc: Loc | None) -> None:
        for index, value in enumerate(values):
            if value.owner is not owner or value.index != index:
                raise IrError(f"{name}: value {index} names another owner or index: {value}", at=loc)
            self._num_uses[value] = 0
            self._visible.add(value)

    def _op(self, op: Op) -> None:
        for number, value in enumerate(op.operands):
            if value not in self._visible:
                raise IrError(f"{op.name}: operand {number} is used where it is not defined: {value}", at=op.loc)
            self._num_uses[value] += 1
        for key, attribute in op.attrs.items():
            if not (isinstance(key, str) and key.isidentifier() and is_attribute(attribute)):
                kind = type(attribute).__name__
                raise IrError(f"{op.name}: attribute {key!r} of class {kind} is not a named constant", at=op.loc)
        if op.regions or op.spec.regions.count:
            self._regions(op)
        self._types(op)
        if op.spec.verify is not None:
            try:
                op.spec.verify(op)
            except UserError as error:
                raise locate(error, op.loc) from None

    def _regions(self, op: Op) -> None:
        if len(op.regions) != op.spec.regions.count:
            raise IrError(f"{op.name}: has {len(op.regions)} regions, must have {op.spec.regions.count}", at=op.loc)
        for region in op.regions:
            if region.op is not op or region.block.parent is not region:
                raise IrError(f"{op.name}: a region of it names another op or block", at=op.loc)
            if op.spec.regions.types is not None:
                have = [value.type for value in region.block.args]
                want = op.spec.regions.types([value.type for value in op.operands], op.attrs)
                if len(have) != len(want) or any(a is not b for a, b in zip(have, want, strict=True)):
                    raise IrError(f"{op.name}: its region takes {have}, must take {want}", at=op.loc)
            if op.spec.regions.isolated:
                outside, self._visible = self._visible, set()
                self.block(region.block, op)
                self._visible = outside
            else:
                self.block(region.block, op)

    def _types(self, op: Op) -> None:
        try:
            inferred = op.spec.infer(op.operands, op.attrs, op.regions)
        except UserError as error:
            raise locate(error, op.loc) from None
        have = [value.type for value in op.results]
        if len(have) != len(inferred) or any(a is not b for a, b in zip(have, inferred, strict=True)):
            raise IrError(f"{op.name}: results are {have}, must be {inferred}", at=op.loc)

    def uses(self) -> None:
        """Check that use lists and operands say the same."""
        for value, number in self._num_uses.items():
            uses = value.uses
            right = len(uses) == number == len(set(uses)) if number > 1 else len(uses) == number
            if not right or not all(op in self._seen and op.operands[i] is value for op, i in uses):
                users = [op for op in self._seen if value in op.operands] + [op for op, _ in uses]
                owner = value.owner if isinstance(value.owner, Op) else users[0]
                raise IrError(f"{owner.name}: the use list of {value} is not what uses it", at=owner.loc)
