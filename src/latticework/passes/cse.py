"""cse: compute equal values once.

In/out: any IR, same meaning.  Two pure ops without regions are one if kind,
operands and attributes agree and the first one's block is the second one's or
encloses it.  Cost: O(ops x nesting depth).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from latticework.ir import Block, Builder, Module, Op, Value, attribute_key
from latticework.ir.passes import Pass
from latticework.ir.rewrite import rebuild


def run(module: Module) -> Module:
    """The module with equal ops shared."""
    known: dict[Block, dict[Hashable, Op]] = {}

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.regions or not op.spec.pure:
            return False
        assert op.block is not None
        key = _key(op, mapping)
        for block in _enclosing(op.block):
            first = known.get(block, {}).get(key)
            if first is not None:
                mapping.update(zip(op.results, first.results, strict=True))
                return True
        known.setdefault(op.block, {})[key] = builder.copy(op, mapping)
        return True

    return rebuild(module, visit)


def _key(op: Op, mapping: dict[Value, Value]) -> Hashable:
    """Equal for ops that compute the same, and whose results have the same types."""
    operands = tuple(mapping[value] for value in op.operands)
    types = tuple(value.type for value in op.results)
    return op.spec, operands, types, tuple((key, attribute_key(op.attrs[key])) for key in sorted(op.attrs))


def _enclosing(block: Block) -> Iterator[Block]:
    """The block and those it is nested in, from the inside."""
    yield block
    while (op := block.parent_op) is not None and op.block is not None:
        block = op.block
        yield block


PASS = Pass("cse", run)
