"""unroll: loops that spend levels become copies of their bodies.

In/out: vec IR, same cleartext meaning. No type could be carried round such a loop without a bootstrap. Of a trip count
known at run time there are `at_most` copies, each run only if its number is below it. Loops that keep their levels stay
loops. Cost: O(ops), times the copies.
"""

from __future__ import annotations

from collections.abc import Mapping

from latticework.compiler.levels.constant_index import copy_known
from latticework.compiler.levels.depth import LoopPlan, levels_of
from latticework.ir import Block, Builder, Module, Op, Pass, Region, Value
from latticework.ir.builder import region_block
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import Sources

Loops = Mapping[Op, LoopPlan]
WRITTEN = ("loop.if", "loop.index_constant", "loop.index_less", "vec.concat", "vec.constant", "vec.splat", "vec.take")


def has_loops(module: Module) -> bool:
    """Whether there may be anything to unroll."""
    return any(op.name == "loop.for" for op in module.body.ops)


def run(module: Module, _cost: object = None) -> Module:
    """The module without loops that spend levels."""
    return with_copies(module, levels_of(module).loops)


def with_copies(module: Module, loops: Loops) -> Module:
    """The module with loops as planned."""
    body = Block()
    builder = Builder(body)
    mapping: dict[Value, Value] = {v: body.add_arg(v.type, v.origin) for v in module.inputs}
    outputs = _Copier(loops, module.sources, mapping).emit(module.body, builder)
    builder.loc = module.body.terminator.loc
    builder.create("loop.yield", outputs)
    return module.empty_like(body)


@dataclass(frozen=True)
class _Copier:
    """Writes a module anew, its loops as planned."""

    loops: Loops
    sources: Sources
    mapping: dict[Value, Value]

    def emit(self, block: Block, builder: Builder) -> list[Value]:
        """Append a block's operations; returns what it yields."""
        for op in block.ops[:-1]:
            builder.loc = op.loc
            if op.name == "loop.for":
                self._loop(op, builder)
            else:
                copy_known(op, builder, self.mapping, self.sources)
        return [self.mapping[v] for v in block.terminator.operands]

    def _loop(self, op: Op, builder: Builder) -> None:
        """Append a loop, or copies of its body."""
        plan, block, mapping = self.loops[op], op.regions[0].block, self.mapping
        if plan.copies is None:
            inside = Builder(region_block(op.regions[0], mapping, op), op.loc)
            inside.create("loop.yield", self.emit(block, inside))
            builder.copy_with(op, mapping, [Region(inside.block)])
            return
        carried = [mapping[v] for v in (op.operands[1:] if plan.guarded else op.operands)]
        for number in range(plan.copies):
            index = builder.build("loop.index_constant", [], value=number)
            mapping[block.args[0]] = index
            if plan.guarded:
                condition = builder.build("loop.index_less", [index, mapping[op.operands[0]]])
                carried = self._emit_guarded(block, builder, condition, carried)
            else:
                mapping.update(zip(block.args[1:], carried, strict=True))
                carried = self.emit(block, builder)
            builder.loc = op.loc
        mapping.update(zip(op.results, carried, strict=True))

    def _emit_guarded(self, block: Block, builder: Builder, condition: Value, carried: list[Value]) -> list[Value]:
        """One copy, which on a condition leaves what is carried as it is."""
        run, skip = Block(), Block()
        self.mapping.update(zip(block.args[1:], [run.add_arg(v.type, v.origin) for v in carried], strict=True))
        inside = Builder(run, builder.loc)
        inside.create("loop.yield", self.emit(block, inside))
        Builder(skip, builder.loc).create("loop.yield", [skip.add_arg(v.type, v.origin) for v in carried])
        return list(builder.create("loop.if", [condition, *carried], {}, [Region(run), Region(skip)]).results)


PASS = Pass("unroll", run, roots=("loop.for",), reads=("vec", "loop"), writes=WRITTEN)
