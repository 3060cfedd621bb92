"""The interpreter runs loops and branches as Python does, and says what is wrong with inputs."""

import numpy as np
import pytest
from gather_cases import matmul

from latticework.errors import IrError, RangeError, ShapeError
from latticework.ir import (
    INDEX,
    Block,
    Builder,
    Loc,
    Module,
    Region,
    define,
    interpret,
    interpret_together,
    parse_module,
    print_module,
)
from latticework.ir.dialects import loop_dialect, vec_dialect
from latticework.values.packing.packed_constants import LinearMap

V = vec_dialect.VecType(1, 4, "real", True)
X = np.array([1.0, 2.0, 3.0, 5.0])


def counted(trip_attrs, body_of, carried_types=(V,)):
    """A module of inputs [n,] carried... that loops `body_of(builder, i, carried) -> values`."""
    block, inner = Block(), Block()
    dynamic = trip_attrs.get("static_trip") is None
    names = [*(["n"] if dynamic else []), *(f"x{k}" for k in range(len(carried_types)))]
    inputs = [block.add_arg(t) for t in ([INDEX] if dynamic else []) + list(carried_types)]
    i, *carried = [inner.add_arg(t) for t in (INDEX, *carried_types)]
    nested = Builder(inner)
    nested.create(loop_dialect.YIELD, body_of(nested, i, carried))
    builder = Builder(block, Loc("m.py", 2))
    results = builder.create(loop_dialect.FOR, inputs, trip_attrs, [Region(inner)]).results
    builder.create(loop_dialect.YIELD, results)
    return Module(block, names, [f"y{k}" for k in range(len(results))])


def doubled(builder, _i, carried):
    return [builder.build(vec_dialect.ADD, [x, x]) for x in carried]


@pytest.mark.parametrize("trip", [0, 1, 5])
def test_run_time_trip_is_a_python_int(trip):
    module = counted({}, doubled)
    np.testing.assert_array_equal(interpret(module, {"n": trip, "x0": X})[0], X * 2**trip)


@pytest.mark.parametrize("trip", [0, 1, 5])
def test_static_trip(trip):
    np.testing.assert_array_equal(interpret(counted({"static_trip": trip}, doubled), [X])[0], X * 2**trip)


@pytest.mark.parametrize("trip", [-1, 4])
def test_trips_out_of_range_are_refused(trip):
    with pytest.raises(
        RangeError, match=rf"^m.py:2: loop.for: the trip count is {trip}; it must be >= 0 and at most 3$"
    ):
        interpret(counted({"at_most": 3}, doubled), [trip, X])


def test_negative_trips_are_refused():
    with pytest.raises(RangeError, match=r"trip count is -1; it must be >= 0$"):
        interpret(counted({}, doubled), [-1, X])


def test_carried_values_move_together():
    """Fibonacci: both values are replaced at once."""
    module = counted({}, lambda b, _i, c: [c[1], b.build(vec_dialect.ADD, c)], (V, V))
    a, b = interpret(module, [10, np.ones(4), np.ones(4)])
    np.testing.assert_array_equal((a, b), np.array([[89.0] * 4, [144.0] * 4]))


def test_loop_variable_and_index_arithmetic():
    """sum over i < n of min(i * i, i + 20) - 1, computed in indices."""

    def body(builder, i, carried):
        square, shifted = (
            builder.build(loop_dialect.INDEX_MUL, [i, i]),
            builder.build(loop_dialect.INDEX_CONSTANT, value=20),
        )
        least = builder.build(loop_dialect.INDEX_MIN, [square, builder.build(loop_dialect.INDEX_ADD, [i, shifted])])
        one = builder.build(loop_dialect.INDEX_CONSTANT, value=1)
        return [
            builder.build(loop_dialect.INDEX_ADD, [carried[0], builder.build(loop_dialect.INDEX_SUB, [least, one])])
        ]

    (total,) = interpret(counted({}, body, (INDEX,)), [9, 0])
    assert total == sum(min(i * i, i + 20) - 1 for i in range(9)) and total.dtype == np.int64


def test_nested_loops_with_values_of_enclosing_blocks():
    """for i < n: for j < i: x += rot(x0, 1), where x0 is the value at the start of iteration i."""

    def body(builder, i, carried):
        inner = Block()
        inner.add_arg(INDEX)
        x = inner.add_arg(V)
        nested = Builder(inner)
        turned = nested.build(vec_dialect.ROTATE, [carried[0]], steps=1)
        nested.create(loop_dialect.YIELD, [nested.build(vec_dialect.ADD, [x, turned])])
        return builder.create(loop_dialect.FOR, [i, carried[0]], None, [Region(inner)]).results

    expected = X.copy()
    for i in range(4):
        start = expected.copy()
        for _ in range(i):
            expected += np.roll(start, -1)
    np.testing.assert_array_equal(interpret(counted({}, body), [4, X])[0], expected)


def test_branches():
    """for i < n: x = x + x if i < 2 else -x."""

    def body(builder, i, carried):
        two = builder.build(loop_dialect.INDEX_CONSTANT, value=2)
        condition = builder.build(loop_dialect.INDEX_LESS, [i, two])
        regions = []
        for spec, times in ((vec_dialect.ADD, 2), (vec_dialect.NEG, 1)):
            branch = Block()
            arg = branch.add_arg(V)
            Builder(branch).create(loop_dialect.YIELD, [Builder(branch).build(spec, [arg] * times)])
            regions.append(Region(branch))
        return builder.create(loop_dialect.IF, [condition, carried[0]], None, regions).results

    module = counted({}, body)
    for trip, factor in ((0, 1), (1, 2), (2, 4), (3, -4), (4, 4)):
        np.testing.assert_array_equal(interpret(module, [trip, X])[0], X * factor)


def test_on_value_sees_every_value_each_time():
    module = counted({"static_trip": 3}, doubled)
    seen = []
    interpret(module, [X], on_value=lambda value, array: seen.append((value, array.copy())))
    inner = module.body.ops[0].regions[0].block
    sums = [array for value, array in seen if value is inner.ops[0].result]
    np.testing.assert_array_equal(sums, [X * 2, X * 4, X * 8])
    assert [int(array) for value, array in seen if value is inner.args[0]] == [0, 1, 2]
    assert seen[0][0] is module.inputs[0] and seen[-1][0] is module.body.ops[0].result


def test_inputs_that_do_not_fit():
    module = counted({}, doubled)
    for inputs in ({"n": 1}, {"n": 1, "x0": X, "z": X}, {}):
        with pytest.raises(ShapeError, match="inputs are n, x0; got"):
            interpret(module, inputs)
    with pytest.raises(ShapeError, match=r"2 inputs \(n, x0\) are needed, got 1"):
        interpret(module, [X])
    with pytest.raises(RangeError, match=r"input n: an index must be a 64-bit integer, got 1\.5"):
        interpret(module, [1.5, X])
    with pytest.raises(ShapeError, match=r"input x0: shape \(3,\) where \(4,\) is needed"):
        interpret(module, [1, X[:3]])


def test_index_overflow_is_an_error():
    module = counted({}, lambda b, _i, c: [b.build(loop_dialect.INDEX_MUL, [c[0], c[0]])], (INDEX,))
    assert interpret(module, [3, 3])[0] == 3**8
    with pytest.raises(RangeError, match="64-bit"):
        interpret(module, [6, 3])


def test_context_gives_sources_and_index_inputs():
    def semantics(op, inputs, context):
        return [inputs[0] + context.sources[op.attrs["source"]] * context.index_inputs["n"]]

    define("test.axpy", infer=lambda operands, attrs, regions: [operands[0].type], semantics=semantics)
    block = Block()
    block.add_arg(INDEX)
    x = block.add_arg(V)
    module = Module(block, ["n", "x"], ["y"])
    digest = module.add_source(np.arange(4.0))
    builder = Builder(block)
    builder.create(loop_dialect.YIELD, [builder.build("test.axpy", [x], source=digest)])
    np.testing.assert_array_equal(interpret(module, [3, X])[0], X + 3 * np.arange(4.0))
    with pytest.raises(IrError, match="1 sources have no data"):
        interpret(parse_module(print_module(module)), [3, X])


def test_ops_without_semantics_are_named():
    define("test.opaque", infer=lambda operands, attrs, regions: [operands[0].type])
    block = Block()
    builder = Builder(block, Loc("m.py", 8))
    builder.create(loop_dialect.YIELD, [builder.build("test.opaque", [block.add_arg(V)])])
    with pytest.raises(IrError, match=r"^m.py:8: interpret: test.opaque has no semantics"):
        interpret(Module(block, ["x"], ["y"]), [X])


def test_runs_together_are_those_one_by_one():
    """Straight code with a map of several vectors, and loops: of as many turns, and of different numbers of them."""
    nest = matmul(4, 8, 4, 8)
    x, y = (vec_dialect.VecType(nest.count_in, 8, "real", True), vec_dialect.VecType(nest.count_out, 8, "real", True))
    block = Block()
    builder = Builder(block)
    value = builder.build(vec_dialect.LINEAR_TRANSFORM, [block.add_arg(x)], map=LinearMap.of(nest))
    assert value.type == y
    builder.create(loop_dialect.YIELD, [builder.build(vec_dialect.MUL, [value, value])])
    straight = Module(block, ["x"], ["y"], {"w": np.random.default_rng(0).normal(size=(8, 4))})
    rng = np.random.default_rng(1)
    for module, runs in (
        (straight, [{"x": rng.normal(size=(nest.count_in, 8))} for _ in range(3)]),
        (counted({}, doubled), [{"n": n, "x0": X} for n in (1, 3)]),
        (counted({}, doubled), [{"n": 3, "x0": x} for x in (X, -X)]),
    ):
        seen = {False: [], True: []}
        alone = [interpret(module, run, on_value=lambda _, a: seen[False].append(a)) for run in runs]
        for found, expected in zip(
            interpret_together(module, runs, on_value=lambda _, a: seen[True].append(a)), alone, strict=True
        ):
            np.testing.assert_array_equal(found[0], expected[0])
        assert sorted(map(np.sum, seen[False])) == sorted(map(np.sum, seen[True]))
