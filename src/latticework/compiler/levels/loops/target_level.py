"""target-level: every bootstrap leaves only as many levels as what follows it spends, up to the next.

In/out: vec IR, same cleartext meaning. The higher a bootstrap ends, the longer it takes, and so does all that comes
after it. What a loop carries needs what its head needs, or what follows the loop.
Source: HALO (ASPLOS'25), section 6: the full level less the smallest drop among what reads a bootstrap; that is the
same where levels are dropped as late as can be. Cost: O(ops).
"""

from __future__ import annotations

from latticework.compiler.levels.depth import Needs, levels_of
from latticework.ir import Builder, Module, Op, Pass, Value
from latticework.ir.rewrite import rebuild


def target_level(module: Module, residual: int) -> Module:
    """The module with the lowest targets, on a chain whose bootstraps leave at most `residual` levels."""
    needs = Needs(levels_of(module, residual=residual), residual)
    needs.block(module.body, [-residual] * len(module.body.terminator.operands))

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name != "vec.bootstrap":
            return False
        target = max(1, *(needs.of(v) + residual for v in op.results))
        attrs = {**op.attrs, "target": min(target, op.attrs["target"])}
        copied = builder.create(op.spec, [mapping[v] for v in op.operands], attrs)
        mapping.update(zip(op.results, copied.results, strict=True))
        return True

    return rebuild(module, visit)


def tuning(residual: int) -> Pass[object]:
    """The pass, for a chain whose bootstraps leave `residual` levels."""
    return Pass(
        "target-level", lambda module, _cost: target_level(module, residual),
        reads=("vec", "loop"), writes=("vec.bootstrap",),
    )  # fmt: skip
