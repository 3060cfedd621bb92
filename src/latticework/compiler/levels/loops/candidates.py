"""Candidates for bootstraps in a straight line: not values for which another one always serves as well."""

from __future__ import annotations

from latticework.compiler.levels.depth import spent_by
from latticework.ir import Module, Value
from latticework.ir.dialects.vec_dialect import VecType


def worthwhile(module: Module) -> set[Value]:
    """Values of which some should be bootstrapped wherever any should.

    What is made of one value alone without spending a level, as by rotations and sums of them, lies as high once that
    one is bootstrapped, which takes no more where it has no more vectors.
    """
    made_from: dict[Value, Value] = {v: v for v in module.inputs}
    for op in module.body.ops:
        sources = {made_from[v] for v in op.operands if v in made_from and v.is_secret}
        for value in op.results:
            made_from[value] = value
            if len(sources) == 1 and len(op.results) == 1 and not op.regions and not spent_by(op):
                (source,) = sources
                if _count(source) <= _count(value):
                    made_from[value] = source
    return {value for value, source in made_from.items() if value is source}


def _count(value: Value) -> int:
    return value.type.count if isinstance(value.type, VecType) else 0
