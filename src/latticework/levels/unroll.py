"""unroll: loops that spend levels become copies of their bodies.

In/out: vec IR, same cleartext meaning. No type could be carried round such a loop without a bootstrap. Of a trip count
known at run time there are `at_most` copies, each run only if its number is below it. Loops that keep their levels stay
loops. Cost: O(ops), times the copies.
"""

from __future__ import annotations

from latticework.ir import Block, Builder, Module, Op, Pass, Region, Value
from latticework.ir.builder import region_block
from latticework.levels.depth import Env, LoopPlan, levels_of, plan_loop


def has_loops(module: Module) -> bool:
    """Whether there may be anything to unroll."""
    return any(op.name == "loop.for" for op in module.body.ops)


def run(module: Module, _cost: object = None) -> Module:
    """The module without loops that spend levels."""
    if not has_loops(module):
        return module
    body = Block()
    builder = Builder(body)
    mapping: dict[Value, Value] = {v: body.add_arg(v.type, v.origin) for v in module.inputs}
    env: Env = dict.fromkeys(module.inputs, 0)
    outputs = _emitted(module.body, builder, mapping, env)
    builder.loc = module.body.terminator.loc
    builder.create("loop.yield", outputs)
    return module.empty_like(body)


def _emitted(block: Block, builder: Builder, mapping: dict[Value, Value], env: Env) -> list[Value]:
    """Append a block's operations; returns what it yields. `env` holds levels of the old values."""
    for op in block.ops:
        if op.name == "loop.yield":
            return [mapping[v] for v in op.operands]
        builder.loc = op.loc
        if op.name == "loop.for":
            _loop(op, builder, mapping, env)
            continue
        env.update(zip(op.results, levels_of(op, env), strict=True))
        builder.copy(op, mapping)
    raise AssertionError("block without loop.yield")


def _loop(op: Op, builder: Builder, mapping: dict[Value, Value], env: Env) -> None:
    """Append a loop, or copies of its body."""
    plan = plan_loop(op, env)
    if plan.copies is None:
        _kept(op, plan, builder, mapping, env)
        return
    block = op.regions[0].block
    carried = [mapping[v] for v in (op.operands[1:] if plan.guarded else op.operands)]
    levels: list[int | None] = list(plan.carried)
    for number in range(plan.copies):
        index = builder.build("loop.index_constant", [], value=number)
        mapping[block.args[0]] = index
        env.update(zip(block.args, [None, *levels], strict=True))
        if plan.guarded:
            condition = builder.build("loop.index_less", [index, mapping[op.operands[0]]])
            carried = _guarded(block, builder, mapping, env, condition, carried)
        else:
            mapping.update(zip(block.args[1:], carried, strict=True))
            carried = _emitted(block, builder, mapping, env)
        builder.loc = op.loc
        yielded = [env[v] for v in block.terminator.operands]
        after = [before if level is None else level for before, level in zip(levels, yielded, strict=True)]
        levels = [min(a or 0, b or 0) for a, b in zip(levels, after, strict=True)] if plan.guarded else after
    mapping.update(zip(op.results, carried, strict=True))
    env.update(zip(op.results, plan.results, strict=True))


def _kept(op: Op, plan: LoopPlan, builder: Builder, mapping: dict[Value, Value], env: Env) -> None:
    """A loop that stays one; loops in it may not."""
    block = op.regions[0].block
    inside = Builder(region_block(op.regions[0], mapping, op), op.loc)
    env.update(zip(block.args, [None, *plan.carried], strict=True))
    inside.create("loop.yield", _emitted(block, inside, mapping, env))
    builder.copy_with(op, mapping, [Region(inside.block)])
    env.update(zip(op.results, plan.results, strict=True))


def _guarded(
    block: Block, builder: Builder, mapping: dict[Value, Value], env: Env, condition: Value, carried: list[Value]
) -> list[Value]:
    """One copy, which on a condition leaves what is carried as it is."""
    run, skip = Block(), Block()
    mapping.update(zip(block.args[1:], [run.add_arg(v.type, v.origin) for v in carried], strict=True))
    inside = Builder(run, builder.loc)
    inside.create("loop.yield", _emitted(block, inside, mapping, env))
    Builder(skip, builder.loc).create("loop.yield", [skip.add_arg(v.type, v.origin) for v in carried])
    return list(builder.create("loop.if", [condition, *carried], {}, [Region(run), Region(skip)]).results)


PASS = Pass("unroll", run, reads=("vec", "loop"), writes=("loop.if", "loop.index_constant", "loop.index_less"))
