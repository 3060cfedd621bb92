"""Tensor operations that a run-time integer numbers, against NumPy: type, meaning, and what lies along vectors."""

import numpy as np
import pytest

from latticework.errors import RangeError
from latticework.ir import INDEX, Builder, Module
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.interpret import interpret
from latticework.ir.verify import verify
from latticework.tensor.layout.layout_candidates import seeds
from latticework.tensor.layout.stacked_rows import part_of, stack_layout
from latticework.tensor.ops import INDEXED_OPS

SLOTS = 64


@pytest.mark.parametrize("op", INDEXED_OPS, ids=lambda op: op.name)
def test_meaning_is_numpys(op):
    rng = np.random.default_rng([ord(letter) for letter in op.name])
    for _ in range(10):
        case = op.random_case(rng, SLOTS)
        module = Module()
        module.sources.update(case.sources)
        for array in case.inputs:
            module.body.add_arg(TensorType(shape=array.shape, dtype="float64", secret=True))
        is_indexed = op.name in ("part", "with_part", "row")
        if is_indexed:
            module.body.add_arg(INDEX)
        module.input_names = [f"x{i}" for i in range(len(module.inputs))]
        builder = Builder(module.body)
        result = builder.build(op.spec, module.inputs, **case.attrs)
        builder.create("loop.yield", [result])
        module.outputs = ["result"]
        verify(module)
        extent = len(case.inputs[0]) if case.inputs else case.attrs["shape"][0]
        for number in range(extent) if is_indexed else [None]:
            given = (*case.inputs, number) if is_indexed else case.inputs
            expected = case.expression(*given)
            assert result.type.shape == np.shape(expected) and result.type.secret
            np.testing.assert_array_equal(interpret(module, given)[0], expected)
        for number in (-1, extent) if is_indexed else ():
            with pytest.raises(RangeError, match=f"is {number}, on an axis that is {extent} long"):
                interpret(module, (*case.inputs, number))


@pytest.mark.parametrize("shape", [(), (4,), (3, 5), (8, 8, 8)])
@pytest.mark.parametrize("length", [1, 2, 5])
def test_parts_along_vectors_lie_as_one_alone(shape, length):
    for part in seeds(shape, SLOTS):
        whole = stack_layout(part, length)
        assert part_of(whole) == part and whole.count == length * part.count
        of_part = np.asarray(part.pack_map(shape).element_of_slot()).reshape(part.count, -1)
        of_whole = np.asarray(whole.pack_map((length, *shape)).element_of_slot()).reshape(whole.count, -1)
        size = int(np.prod(shape))
        for number in range(length):
            found = of_whole[number * part.count : (number + 1) * part.count]
            held = of_part >= 0
            np.testing.assert_array_equal(found >= 0, held)
            np.testing.assert_array_equal(found[held], of_part[held] + number * size)


def test_an_axis_along_slots_is_none_of_whole_vectors():
    assert [part_of(layout) for layout in seeds((4, 8), SLOTS)] == [None] * len(seeds((4, 8), SLOTS))
