"""Rewriting: visitors replace ops anywhere, types follow, origins are inherited; passes run verified."""

import numpy as np
import pytest

from latticework.compiler.passes import cse, dce
from latticework.errors import IrError
from latticework.ir import (
    INDEX,
    Block,
    Builder,
    Loc,
    Module,
    Origin,
    Pass,
    Region,
    interpret,
    print_module,
    rebuild,
    replace_all_uses,
    run_passes,
    verify,
)
from latticework.ir.dialects import loop_dialect, vec_dialect

V = vec_dialect.VecType(1, 4, "real", True)
X = np.array([1.0, 2.0, 3.0, 5.0])


def negations():
    """y = loop 2: -(-carried) + x."""
    body, inner = Block(), Block()
    x = body.add_arg(V, Origin("x"))
    inner.add_arg(INDEX)
    carried = inner.add_arg(V, Origin("c"))
    nested = Builder(inner, Loc("m.py", 3))
    twice = nested.build(vec_dialect.NEG, [nested.build(vec_dialect.NEG, [carried])])
    twice.origin = Origin("twice")
    nested.create(loop_dialect.YIELD, [nested.build(vec_dialect.ADD, [twice, x])])
    builder = Builder(body, Loc("m.py", 2))
    builder.create(
        loop_dialect.YIELD, [builder.create(loop_dialect.FOR, [x], {"static_trip": 2}, [Region(inner)]).result]
    )
    return Module(body, ["x"], ["y"])


def test_rebuild_without_replacements_is_a_copy():
    module = negations()
    text = print_module(module)
    assert print_module(rebuild(module, lambda *_: False)) == text == print_module(module)


def test_rebuild_replaces_inside_regions_and_locates():
    def subtract(op, builder, mapping):
        if op.name != "vec.neg":
            return False
        zero = builder.build(vec_dialect.SPLAT, value=0.0, slots=4)
        mapping[op.result] = builder.build(vec_dialect.SUB, [zero, mapping[op.operands[0]]])
        return True

    module = negations()
    result = rebuild(module, subtract)
    verify(result)
    inner = result.body.ops[0].regions[0].block
    assert [op.name for op in inner.ops] == ["vec.splat", "vec.sub"] * 2 + ["vec.add", "loop.yield"]
    assert all(op.loc is Loc("m.py", 3) for op in inner.ops)
    assert inner.ops[3].result.origin == Origin("twice")
    np.testing.assert_array_equal(interpret(result, [X]), interpret(module, [X]))


def test_replacement_by_an_existing_value_keeps_its_own_origin():
    def identity(op, builder, mapping):
        if op.name == "vec.neg":
            mapping[op.result] = mapping[op.operands[0]]
        return op.name == "vec.neg"

    result = rebuild(negations(), identity)
    verify(result)
    inner = result.body.ops[0].regions[0].block
    assert [op.name for op in inner.ops] == ["vec.add", "loop.yield"]
    assert inner.args[1].origin == Origin("c")


def test_new_input_types_flow_through_loops():
    wide = vec_dialect.VecType(3, 4, "complex", True)
    result = rebuild(negations(), lambda *_: False, input_types=[wide])
    verify(result)
    assert {value.type for op in result.walk() for value in op.results} == {wide}


def test_replace_all_uses():
    module = negations()
    inner = module.body.ops[0].regions[0].block
    first, second = inner.ops[0].result, inner.ops[1].result
    replace_all_uses(second, inner.args[1])
    replace_all_uses(first, first)
    assert second.uses == [] and inner.args[1].origin == Origin("c")
    inner.ops[1].erase()
    inner.ops[0].erase()
    verify(module)
    fresh = Builder(inner).before(inner.ops[0]).build(vec_dialect.NEG, [inner.args[1]])
    replace_all_uses(inner.ops[1].result, fresh)
    inner.ops[1].erase()
    verify(module)
    assert fresh.origin is None


def test_passes_run_in_order_with_events():
    ticks = iter(range(100))
    events = []
    steps = [Pass("first", lambda m, _cost: m.clone()), dce.PASS, cse.PASS]
    run_passes(negations(), steps, on_event=events.append, clock=lambda: float(next(ticks)))
    assert [(e.name, e.num_ops_before, e.num_ops_after, e.start, e.end) for e in events] == [
        ("first", 6, 6, 0, 1),
        ("dce", 6, 6, 2, 3),
        ("cse", 6, 6, 4, 5),
    ]


def test_a_pass_that_breaks_the_module_is_caught():
    def broken(module, _cost):
        result = module.clone()
        result.body.ops[0].result.type = vec_dialect.VecType(1, 2, "real", True)
        return result

    with pytest.raises(IrError, match=r"m.py:2: loop.for: results are"):
        run_passes(negations(), [Pass("broken", broken)])
    run_passes(negations(), [Pass("broken", broken)], verify=False)


def straight(build):
    body = Block()
    x = body.add_arg(V)
    builder = Builder(body)
    outputs = build(builder, x)
    builder.create(loop_dialect.YIELD, outputs)
    module = Module(body, ["x"], [f"y{k}" for k in range(len(outputs))])
    verify(module)
    return module


def names(module):
    return [op.name for op in module.walk()]


def test_cse_keeps_constants_apart_that_python_holds_equal():
    values = [1.0, 1 + 0j, 0.0, -0.0, 0.0]
    module = straight(lambda b, x: [b.build(vec_dialect.SPLAT, value=v, slots=4) for v in values])
    result = cse.run(module)
    verify(result)
    assert names(result).count("vec.splat") == 4
    outputs = interpret(result, [X])
    assert np.signbit(outputs[3]).all() and not np.signbit(outputs[2]).any() and outputs[1].dtype == np.complex128


def test_cse_gives_the_kept_value_a_name():
    def build(builder, x):
        a = builder.build(vec_dialect.NEG, [x])
        b = builder.create(vec_dialect.NEG, [x], origin=Origin("b")).result
        return [a, b, builder.create(vec_dialect.NEG, [x], origin=Origin("c")).result]

    result = cse.run(straight(build))
    assert names(result) == ["vec.neg", "loop.yield"] and result.body.ops[0].result.origin == Origin("b")


def test_dce_of_a_clean_module_changes_nothing():
    module = negations()
    assert print_module(dce.run(module)) == print_module(module)


def test_dce_keeps_inputs():
    result = dce.run(straight(lambda b, x: [b.build(vec_dialect.SPLAT, value=1.0, slots=4)]))
    assert len(result.inputs) == 1
