"""What operations say of the rows of their operands is so: rows that change places, or change, do so in the result."""

import numpy as np
import pytest

import latticework as lw
from latticework.frontend import trace
from latticework.ir.builder import Builder
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.module import Module
from latticework.tensor.ops import ALL_OPS
from latticework.tensor.ops.row_rules import Rows, public_array

WITH_RULES = [op for op in ALL_OPS if op.row_rule is not None]
CASES, SLOTS = 60, 64
CANNOT = {"conv2d", "pad", "sum_pool2d"}  # few random cases have a batch in front, or an axis that is left alone


def use_of(op, case, operands):
    module = Module(sources=dict(case.sources))
    for array in case.inputs:
        module.body.add_arg(TensorType(shape=array.shape, dtype="float64", secret=True))
    return op.rows(Builder(module.body).build(op.spec, module.inputs, **case.attrs).owner, operands)


def assignments(op, rng):
    """Random cases, each with an axis of one operand, or of all, taken to hold rows; others are as public arrays."""
    for _ in range(CASES):
        case = op.random_case(rng, SLOTS)
        for chosen in [*([n] for n in range(len(case.inputs))), list(range(len(case.inputs)))]:
            if any(case.inputs[n].ndim == 0 for n in chosen):
                continue
            axes = {n: int(rng.integers(case.inputs[n].ndim)) for n in chosen}
            inputs = list(case.inputs)
            for n, array in enumerate(inputs):
                if n not in axes and array.ndim and rng.random() < 0.5:  # public, and equal along an axis
                    axis = int(rng.integers(array.ndim))
                    inputs[n] = np.repeat(array.take([0], axis), array.shape[axis], axis)
            case = type(case)(tuple(inputs), case.expression, case.attrs, case.sources)
            operands = [Rows(axes[n]) if n in axes else public_array(array) for n, array in enumerate(inputs)]
            if len({inputs[n].shape[axis] for n, axis in axes.items()}) == 1:
                yield case, axes, operands


@pytest.mark.parametrize("op", WITH_RULES, ids=lambda op: op.name)
def test_rows_are_computed_alike_and_apart(op):
    rng = np.random.default_rng([7, *(ord(c) for c in op.name)])
    proved = 0
    for case, axes, operands in assignments(op, rng):
        rows = use_of(op, case, operands)
        if rows is None or rows.axis is None:
            continue
        count = case.inputs[next(iter(axes))].shape[next(iter(axes.values()))]
        result = np.asarray(op.reference(case.inputs, case.attrs, case.sources))
        order = rng.permutation(count)
        changed = int(rng.integers(count))

        def with_rows(change):
            arrays = [change(a, axes[n]) if n in axes else a for n, a in enumerate(case.inputs)]
            return op.reference(arrays, case.attrs, case.sources)

        moved = with_rows(lambda a, axis: a.take(order, axis))
        np.testing.assert_allclose(moved, result.take(order, rows.axis), rtol=1e-12, atol=1e-12)
        others = np.delete(np.arange(count), changed)
        other = with_rows(
            lambda a, axis: a + np.eye(count)[changed].reshape([-1 if i == axis else 1 for i in range(a.ndim)])
        )
        np.testing.assert_array_equal(other.take(others, rows.axis), result.take(others, rows.axis))
        proved += count > 1
    assert proved >= (0 if op.name in CANNOT else 5)


@pytest.mark.parametrize("op", WITH_RULES, ids=lambda op: op.name)
def test_what_is_said_to_be_the_same_along_an_axis_is(op):
    rng = np.random.default_rng([8, *(ord(c) for c in op.name)])
    for case, _, _ in assignments(op, rng):
        rows = use_of(op, case, [public_array(array) for array in case.inputs])
        result = np.asarray(op.reference(case.inputs, case.attrs, case.sources))
        for axis in () if rows is None else rows.same:
            np.testing.assert_allclose(result, np.repeat(result.take([0], axis), result.shape[axis], axis), atol=1e-12)


def test_padding_of_other_axes_keeps_rows():
    def padded(x: lw.Secret[5, 4]):
        return np.pad(x[:, 1:], ((0, 0), (1, 2))), np.pad(x, ((1, 0), (0, 0)))

    module = trace(lw.program(padded))
    uses = [op for op in module.walk() if op.name == "tensor.pad"]
    pad = next(op for op in ALL_OPS if op.name == "pad")
    assert [pad.rows(use, [Rows(0)]) for use in uses] == [Rows(0), None]
    assert [pad.rows(use, [Rows(1)]) for use in uses] == [None, Rows(1)]


def test_a_batch_of_images_is_rows_and_their_channels_are_not():
    by_name = {op.name: op for op in ALL_OPS}
    for name, shapes, attrs in (
        (
            "conv2d",
            ((6, 2, 8, 8), (4, 2, 3, 3)),
            {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1), "groups": 1},
        ),
        ("sum_pool2d", ((6, 2, 8, 8),), {"kernel": (2, 2), "stride": (2, 2), "padding": ((0, 0), (0, 0))}),
    ):
        module = Module()
        for shape in shapes:
            module.body.add_arg(TensorType(shape=shape, dtype="float64", secret=True))
        op = Builder(module.body).build(by_name[name].spec, module.inputs, **attrs).owner
        others = [Rows()] * (len(shapes) - 1)
        assert by_name[name].rows(op, [Rows(0), *others]) == Rows(0)
        assert by_name[name].rows(op, [Rows(2), *others]) is None
        if others:
            assert by_name[name].rows(op, [Rows(), Rows(0)]) is None
