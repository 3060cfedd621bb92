"""Every tensor operation: pack the operands, run its vector code, unpack; the result is NumPy's.

All placements that a search may choose from, on operands that lie in any form, in one vector or several.
"""

import itertools

import numpy as np
import pytest

from latticework.compiler.layout_choice import Counted, find_layouts, slots_needed
from latticework.ir import Builder, Module, interpret, verify
from latticework.ir.dialects import loop_dialect  # noqa: F401  (registers loop.yield)
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.tensor.layout import LayoutRules, OperationLayouts, assign_layouts
from latticework.tensor.layout.conversions import direct
from latticework.tensor.layout.layout_candidates import seeds
from latticework.tensor.ops import ALL_OPS
from latticework.tensor.ops.choices import choices
from latticework.tensor.ops.lower import lower_to_vectors

LOWERED = [op for op in ALL_OPS if op.lower is not None and op.name != "convert_layout"]


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


class Fixed:
    """Decisions as a test makes them; every conversion is direct, by any recipe that applies."""

    def __init__(self, inputs, placed, rng):
        self.inputs, self.chosen, self.rng = inputs, placed, rng

    def find_conversions(self, value, old, new):
        found = direct(value.type.shape, old, new)
        return (found[int(self.rng.integers(len(found)))],)


def run(module, decisions, arrays, rng):
    """Interpretation on packed arrays; the unpacked outputs. Whatever lies where no element does must not matter."""
    placed = assign_layouts(module, decisions)
    verify(placed)
    lowered, _, _ = lower_to_vectors(placed)
    verify(lowered)
    packed = []
    for value, array in zip(placed.inputs, arrays, strict=True):
        pack = value.type.layout.pack_map(value.type.shape)
        vectors = pack.pack(array)
        empty = (pack.element_of_slot() < 0).reshape(vectors.shape)
        packed.append(np.where(empty, rng.normal(size=vectors.shape) * 100, vectors))
    kinds = [v.type for v in placed.body.terminator.operands]
    return [k.layout.pack_map(k.shape).unpack(y) for k, y in zip(kinds, interpret(lowered, packed), strict=True)]


def run_lowered(module, arrays):
    """The unpacked outputs in the layouts that a search finds."""
    return run(module, find_layouts(module, slots_needed(module), Counted()), arrays, np.random.default_rng(0))


def masks(op, case):
    """Which operands are secret: every combination with at least one."""
    if op.spec.name == "tensor.trivial":
        return [(False,)]
    found = [m for m in itertools.product([True, False], repeat=len(case.inputs)) if any(m)]
    return [m for m in found if not (op.name in ("conv2d", "conv_transpose2d") and all(m))]  # never traced so


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("op", LOWERED, ids=lambda op: op.name)
def test_lowered_equals_numpy(op, seed):
    rng = np.random.default_rng(seed)
    case = op.random_case(rng, 64)
    for secret in masks(op, case):
        module = module_of(op, case, secret)
        arrays = [a for a, hidden in zip(case.inputs, secret, strict=True) if hidden]
        widths = [slots_needed(module) * (1 + seed % 2)]
        if op.name not in ("prod", "trivial"):
            widths.append(max(slots_needed(module) // 4, 1))  # several vectors
        for slots in widths:
            (got,) = run(module, find_layouts(module, slots, Counted()), arrays, rng)
            np.testing.assert_allclose(got, case.expression(*case.inputs), rtol=1e-9, atol=1e-9)


def lying_anyhow(shape, slots, rng):
    """One of the forms that fit a shape."""
    found = seeds(shape, slots)
    return found[int(rng.integers(len(found)))]


def every_placement(op, seed, most):
    """Run all placements of one random use of an operation; how many there were."""
    rng = np.random.default_rng(seed)
    case = op.random_case(rng, 64)
    secret = masks(op, case)[int(rng.integers(len(masks(op, case))))]
    module = module_of(op, case, secret)
    arrays = [a for a, hidden in zip(case.inputs, secret, strict=True) if hidden]
    slots = max(slots_needed(module) >> int(rng.integers(0, 3)), 1)
    if op.name == "prod":
        slots = slots_needed(module)
    lying = {value: lying_anyhow(value.type.shape, slots, rng) for value in module.inputs}
    used = next(o for o in module.body.ops if o.name == op.spec.name)
    layouts = [lying.get(v) for v in used.operands]
    count = 0
    for placement in itertools.islice(choices(used, layouts, LayoutRules(slots)), most):
        (got,) = run(module, Fixed(lying, {used: placement}, rng), arrays, rng)
        text = f"{[str(x) for x in layouts]} by {placement}"
        np.testing.assert_allclose(got, case.expression(*case.inputs), rtol=1e-9, atol=1e-9, err_msg=text)
        count += 1
    return count


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("op", [op for op in LOWERED if op.name != "trivial"], ids=lambda op: op.name)
def test_every_placement_equals_numpy(op, seed):
    assert every_placement(op, 100 + seed, 12) >= 1


@pytest.mark.slow
def test_two_thousand_placements_equal_numpy():
    ops = [op for op in LOWERED if op.name != "trivial"]
    total = seed = 0
    while total < 2000:
        total += every_placement(ops[seed % len(ops)], 1000 + seed, 20)
        seed += 1
    print(f"{total} placements of {seed} random uses")


@pytest.mark.parametrize("seed", range(40))
def test_conversions_keep_every_element(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(1, 4))))
    case_slots = 1 << int(rng.integers(2, 7))
    module = Module()
    x = module.body.add_arg(TensorType(shape, "float64", True))
    module.input_names, module.outputs = ["x"], ["y"]
    builder = Builder(module.body)
    op = builder.build("tensor.neg", [x]).owner
    builder.create("loop.yield", [op.result])
    old, new = (lying_anyhow(shape, case_slots, rng) for _ in range(2))
    array = rng.normal(size=shape)
    (got,) = run(module, Fixed({x: old}, {op: OperationLayouts((new,), new)}, rng), [array], rng)
    np.testing.assert_allclose(got, -array, rtol=1e-12)
