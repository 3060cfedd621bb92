"""Every tensor operation: pack the operands, run its vector code, unpack; the result is NumPy's."""

import itertools

import numpy as np
import pytest

from latticework.dialects import loop  # noqa: F401  (registers loop.yield)
from latticework.dialects.tensor import TensorType
from latticework.ir import Builder, Module, interpret, verify
from latticework.layout import assign_layouts, room_needed
from latticework.ops import ALL_OPS
from latticework.ops.lower import lower_to_vectors

PLACED = [op for op in ALL_OPS if op.place is not None]
RULES = {op.spec.name: op.place for op in PLACED}
BY_NAME = {op.spec.name: op for op in ALL_OPS}


def module_of(op, case, secret):
    """One use of an operation, some operands secret inputs, the others constants."""
    module = Module(sources=dict(case.sources))
    builder = Builder(module.body)
    operands = []
    for number, (array, hidden) in enumerate(zip(case.inputs, secret, strict=True)):
        if hidden:
            operands.append(module.body.add_arg(TensorType(array.shape, "float64", True)))
            module.input_names.append(f"x{number}")
    for number, (array, hidden) in enumerate(zip(case.inputs, secret, strict=True)):
        if not hidden:
            source = module.add_source(array)
            operands.insert(number, builder.build("tensor.constant", source=source, shape=array.shape))
    result = builder.build(op.spec, operands, **dict(case.attrs))
    builder.create("loop.yield", [result])
    module.outputs = ["y"]
    return module


def run_lowered(module, arrays, extra_slots=1):
    """Layouts, vectors, interpretation on packed arrays; the unpacked outputs."""
    room = room_needed(module, lambda op: BY_NAME[op.name].room(op) if op.name in BY_NAME else ())
    placed = assign_layouts(module, type(room)(room.slots * extra_slots, room.row), RULES)
    verify(placed)
    lowered, _, _ = lower_to_vectors(placed)
    verify(lowered)
    packed = [v.type.layout.pack_map(v.type.shape).pack(a) for v, a in zip(placed.inputs, arrays, strict=True)]
    # Whatever lies in padding must not matter: an operation may be handed anything there.
    outputs = interpret(lowered, packed)
    kinds = [v.type for v in placed.body.terminator.operands]
    return [k.layout.pack_map(k.shape).unpack(y) for k, y in zip(kinds, outputs, strict=True)]


def masks(op, case):
    """Which operands are secret: every combination with at least one."""
    if op.spec.name == "tensor.trivial":
        return [(False,)]
    return [m for m in itertools.product([True, False], repeat=len(case.inputs)) if any(m)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("op", PLACED, ids=lambda op: op.name)
def test_lowered_equals_numpy(op, seed):
    rng = np.random.default_rng(seed)
    case = op.random_case(rng, 64)
    for secret in masks(op, case):
        module = module_of(op, case, secret)
        if op.name == "conv2d" and all(secret):
            continue  # traced to other operations
        arrays = [a for a, hidden in zip(case.inputs, secret, strict=True) if hidden]
        if op.name == "convert_layout":
            continue
        (got,) = run_lowered(module, arrays, extra_slots=1 + seed % 2)
        np.testing.assert_allclose(got, case.expression(*case.inputs), rtol=1e-9, atol=1e-9)
