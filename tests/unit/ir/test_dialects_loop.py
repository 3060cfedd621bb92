"""loop: refusals at the op, with numbers.  What loops compute is in test_ir_interpret."""

import pytest

from latticework.errors import IrError
from latticework.ir import INDEX, Block, Builder, Loc, Region
from latticework.ir.dialects import loop_dialect, tensor_dialect

T = tensor_dialect.TensorType((2, 3), "float64", True)
U = tensor_dialect.TensorType((6,), "float64", True)


def region(arg_types, yielded):
    """A region that yields those of its arguments."""
    block = Block()
    for type_ in arg_types:
        block.add_arg(type_)
    Builder(block).create(loop_dialect.YIELD, [block.args[k] for k in yielded])
    return Region(block)


def unfinished():
    block = Block()
    block.add_arg(INDEX)
    return Region(block)


@pytest.mark.parametrize(
    ("spec", "types", "attrs", "regions", "message"),
    [
        (loop_dialect.FOR, [], {}, [], "must be the trip count, an index; it is nothing"),
        (loop_dialect.FOR, [T], {}, [], "must be the trip count, an index; it is !tensor<"),
        (loop_dialect.FOR, [T], {"static_trip": 2}, [], "has 0 regions, needs region 0"),
        (loop_dialect.FOR, [T], {"static_trip": 2.0}, [], "static_trip is 0x1.0000000000000p.1; it must be a int"),
        (loop_dialect.FOR, [T], {"static_trip": 2}, [unfinished()], "must end in a terminator"),
        (
            loop_dialect.FOR,
            [T],
            {"static_trip": 2},
            [region([INDEX], [])],
            "the body takes 1 values where 2 are needed",
        ),
        (
            loop_dialect.FOR,
            [T],
            {"static_trip": 2},
            [region([INDEX, U], [1])],
            "the body takes !tensor<.*6.* as value 1",
        ),
        (
            loop_dialect.FOR,
            [T],
            {"static_trip": 2},
            [region([INDEX, T], [])],
            "the body yields 0 values where 1 are needed",
        ),
        (
            loop_dialect.FOR,
            [T, U],
            {"static_trip": 2},
            [region([INDEX, T, U], [2, 1])],
            "yields !tensor<.*6.* as value 0, but",
        ),
        (loop_dialect.FOR, [INDEX, T], {"at_most": -1}, [], "at_most is -1; it must be >= 0"),
        (loop_dialect.IF, [T], {}, [], "must be the condition, an index"),
        (loop_dialect.IF, [INDEX, T], {}, [region([T], [0])], "has 1 regions, needs region 1"),
        (loop_dialect.IF, [INDEX, T, U], {}, [region([T, U], [0]), region([T, U], [1])], "the else branch yields"),
        (loop_dialect.IF, [INDEX, T], {}, [region([U], [0]), region([U], [0])], "a branch takes"),
        (loop_dialect.INDEX_ADD, [INDEX, T], {}, [], "takes two indices"),
        (loop_dialect.INDEX_LESS, [INDEX], {}, [], "takes two indices"),
        (loop_dialect.INDEX_DIV, [T], {"by": 2}, [], "takes an index, got"),
        (loop_dialect.INDEX_DIV, [INDEX], {"by": 0}, [], "cannot divide by 0"),
        (loop_dialect.INDEX_DIV, [INDEX], {"by": 2.0}, [], "must be a int"),
        (loop_dialect.INDEX_CONSTANT, [INDEX], {"value": 1}, [], "takes no operands"),
        (loop_dialect.INDEX_CONSTANT, [], {"value": True}, [], "value is true; it must be a int"),
    ],
)
def test_refusals(spec, types, attrs, regions, message):
    block = Block()
    operands = [block.add_arg(t) for t in types]
    with pytest.raises(IrError, match=f"m.py:4: .*{message}"):
        Builder(block, Loc("m.py", 4)).create(spec, operands, attrs, regions)


def test_results_have_the_carried_types():
    block = Block()
    n, t, u = (block.add_arg(x) for x in (INDEX, T, U))
    builder = Builder(block)
    looped = builder.create(loop_dialect.FOR, [n, t, u], {"at_most": 4}, [region([INDEX, T, U], [1, 2])])
    assert [value.type for value in looped.results] == [T, U]
    chosen = builder.create(loop_dialect.IF, [n, t, u], None, [region([T, U], [1]), region([T, U], [1])])
    assert chosen.result.type is U


def test_size_and_rank_of_tensors():
    assert (T.size, T.rank, U.size, U.rank) == (6, 2, 6, 1)
    assert tensor_dialect.TensorType((), "float64", False).size == 1
    assert tensor_dialect.TensorType((2**40, 2**40), "float64", False).size == 2**80
