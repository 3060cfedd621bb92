"""cse: compute equal values once.

In/out: any IR, same meaning.  Two pure ops without regions are one if kind,
operands and attributes agree and the first one's block is the second one's or
encloses it, with no isolated region in between.  The lines they stand on share
it equally.  Cost: O(ops x nesting depth).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from latticework.ir import Block, Builder, Loc, Module, Op, Value, attribute_key
from latticework.ir.passes import Pass
from latticework.ir.rewrite import rebuild


def run(module: Module, _cost: object = None) -> Module:
    """The module with equal ops shared."""
    same = _find_repeated(module)
    lines: dict[Value, list[Loc]] = {}
    for value, first in same.items():
        if isinstance(value.owner, Op):
            lines.setdefault(first, []).append(value.owner.loc)

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.results and op.results[0] in same:
            mapping.update((value, mapping[same[value]]) for value in op.results)
            return True
        if op.results and op.results[0] in lines:
            every = dict.fromkeys([op.loc, *lines[op.results[0]]], 1.0)
            builder.copy(op, mapping).loc = Loc.fuse(every.items(), op.loc)
            return True
        return False

    return rebuild(module, visit) if same else module


def _find_repeated(module: Module) -> dict[Value, Value]:
    """The results of ops that an earlier one computes, and those of that one."""
    known: dict[Block, dict[Hashable, Op]] = {}
    same: dict[Value, Value] = {}
    for op in module.walk():
        if op.regions or not op.spec.pure or op.block is None:
            continue
        key = _key(op, same)
        earlier = (known.get(block, {}).get(key) for block in _enclosing(op.block))
        first = next((repeated for repeated in earlier if repeated is not None), None)
        if first is None:
            known.setdefault(op.block, {})[key] = op
        else:
            same.update(zip(op.results, first.results, strict=True))
    return same


def _key(op: Op, same: dict[Value, Value]) -> Hashable:
    """Equal for ops that compute the same, and whose results have the same types."""
    operands = tuple(same.get(value, value) for value in op.operands)
    types = tuple(value.type for value in op.results)
    return op.spec, operands, types, tuple((key, attribute_key(op.attrs[key])) for key in sorted(op.attrs))


def _enclosing(block: Block) -> Iterator[Block]:
    """The block and those it is nested in, from the inside, as far as it sees them."""
    yield block
    while (op := block.parent_op) is not None and op.block is not None and not op.spec.regions.isolated:
        block = op.block
        yield block


PASS = Pass("cse", run)
