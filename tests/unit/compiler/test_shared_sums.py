"""Linear transforms whose sums are shared out among the copies of a repeating result."""

import numpy as np
import pytest

from latticework.compiler.layout_choice import Seconds, find_layouts, slots_needed
from latticework.compiler.passes import dce, fold_splats
from latticework.ir import Builder, Module, interpret, run_passes
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.cost import CostModel
from latticework.tensor.layout import assign_layouts
from latticework.tensor.ops.lower import lower_to_vectors


def lowered(shape, build):
    """Vector code of one operation on one secret tensor, and the layouts of input and output."""
    module = Module()
    x = module.body.add_arg(TensorType(shape, "float64", True))
    module.input_names, module.outputs = ["x"], ["y"]
    builder = Builder(module.body)
    builder.create("loop.yield", [build(builder, module, x)])
    slots = slots_needed(module)
    placed = assign_layouts(module, find_layouts(module, slots, Seconds(CostModel.load(), 1 << 14, 4)))
    kinds = [placed.inputs[0].type, placed.body.terminator.operands[0].type]
    vectors, _, _ = lower_to_vectors(placed)
    return vectors, [kind.layout.pack_map(kind.shape) for kind in kinds]


def times(weights):
    return lambda b, m, x: b.build(
        "tensor.matmul",
        [x, b.build("tensor.constant", source=m.add_source(weights), shape=weights.shape)],
    )


def counts(module):
    """(diagonals of all linear transforms, rotations after them)."""
    ops = list(module.walk())
    diagonals = sum(len(op.attrs["map"].diagonals) for op in ops if op.name == "vec.linear_transform")
    return diagonals, sum(op.name == "vec.rotate" for op in ops)


@pytest.mark.parametrize(
    ("shape", "columns", "expected"),
    [
        ((784,), 128, (128, 3)),  # 1024 slots hold 8 copies of the result: 128 diagonals, not 1024
        ((1, 64), 10, (16, 2)),
        ((64,), 60, (64, 0)),  # one copy: nothing to share
        ((4, 16), 4, (4, 2)),  # the rows lie innermost, so that the copies outside of them can be added by rotating
    ],
)
def test_products_with_narrow_results(shape, columns, expected):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(shape[-1], columns))
    module, (into, out) = lowered(shape, times(weights))
    assert counts(module) == expected
    x = rng.normal(size=shape)
    (y,) = interpret(module, [into.pack(x)])
    np.testing.assert_allclose(out.unpack(y), x @ weights, rtol=1e-9)
    if expected[1]:  # every copy is complete
        element = out.element_of_slot()
        np.testing.assert_allclose(y[element >= 0], (x @ weights).reshape(-1)[element[element >= 0]], rtol=1e-9)


def test_sum_of_a_length_that_is_no_power_of_two_is_one_mask_and_rotations():
    module, (into, out) = lowered((1000,), lambda b, m, x: b.build("tensor.sum", [x], axes=(0,), keepdims=False))
    assert counts(module) == (1, 10)
    x = np.random.default_rng(1).normal(size=1000)
    padded = into.pack(x) + np.where(into.element_of_slot() < 0, 1e3, 0.0)  # whatever lies in padding must not matter
    (y,) = interpret(module, [padded])
    assert abs(out.unpack(y) - x.sum()) < 1e-9


def test_a_factor_moves_through_the_additions_into_the_map():
    module, (into, out) = lowered(
        (64,),
        lambda b, m, x: b.build(
            "tensor.mul",
            [
                times(np.ones((64, 8)))(b, m, x),
                b.build("tensor.constant", source=m.add_source(np.array(0.25)), shape=()),
            ],
        ),
    )
    folded = run_passes(module, (fold_splats.PASS, dce.PASS))
    assert not [op for op in folded.walk() if op.name == "vec.mul"]
    x = np.random.default_rng(2).normal(size=64)
    (y,) = interpret(folded, [into.pack(x)])
    np.testing.assert_allclose(out.unpack(y), np.full(8, 0.25 * x.sum()), rtol=1e-9)
