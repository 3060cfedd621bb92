"""Packings of BOLT and THOR for products of encrypted with public matrices, as programs beside ours.

BOLT (Pang et al., IEEE S&P 2024) lays an encrypted matrix out by columns, as many as fit in a vector; so does the
product lie, and rotations by whole columns go by baby steps and giant steps. THOR (Moon et al., CCS 2025) lays out
diagonals of blocks instead, as many as fit, so that products of encrypted matrices find them aligned; only this packing
is rendered, not the rotations within diagonals by which THOR goes about it. All three are lowered and planned by the
same compiler, with what Rotom has and with all techniques; only where tensors lie differs. They are counted and
priced by the cost table, and run where that takes little memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np

import latticework as lw
from bench.rotom.baselines import ROTOM
from bench.rotom.counting import counted, searched
from bench.rotom.workloads import SLOTS, matmul, uniform
from bench.rows import Row
from latticework.compiler.levels import program_depth
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.compiler.pass_order import TIDY_PASSES
from latticework.compiler.stage_results import Vectors
from latticework.ir import Module, Op, Value, run_passes
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.schema.schema import Plan
from latticework.tensor.layout import assign_layouts
from latticework.tensor.layout.assign import OperationLayouts
from latticework.tensor.layout.conversions import Conversion
from latticework.tensor.layout.layout import Layout
from latticework.tensor.ops.lower import lower_to_vectors

SHAPES = ((128, 64, 128), (128, 768, 768))  # rows, inner and columns: of the paper's product, of BERT's projections
SCALE_BITS = 26
MOST_CONSTANTS = 1 << 29  # bytes, of a program that is run
MOST_ERROR = 2.0**-10  # of the largest element of a product


Packing = Callable[[Sequence[int], int], Layout]  # of a shape, in vectors of so many slots


def by_columns(shape: Sequence[int], slots: int) -> Layout:
    """Whole columns, one after the other."""
    return Layout.parse(_dims(shape, slots))


def by_diagonals(shape: Sequence[int], slots: int) -> Layout:
    """Diagonals of blocks of as many columns as fit."""
    first = shape[1] > _fitting(shape, slots)
    return Layout.parse(f"Roll({first + 1},{first + 2}){_dims(shape, slots)}")


def _fitting(shape: Sequence[int], slots: int) -> int:
    return min(shape[1], slots // shape[0])


def _dims(shape: Sequence[int], slots: int) -> str:
    (rows, columns), fitting = shape, _fitting(shape, slots)
    vectors = f"[1:{columns // fitting}:{fitting}];" if columns > fitting else ""
    return f"{vectors}[R:{slots // rows // fitting}][1:{fitting}][0:{rows}]"


@dataclass(frozen=True)
class OneProduct:
    """The layouts of a program of one product, as `assign_layouts` asks for them."""

    inputs: Mapping[Value, Layout]
    chosen: Mapping[Op, OperationLayouts]
    heads: Mapping[Value, Layout] = field(default_factory=dict)

    def find_conversions(self, value: Value, old: Layout, new: Layout) -> Sequence[Conversion]:
        """Refuse: the operand lies where the product reads it."""
        raise AssertionError(f"{value}: {old} is not converted to {new}")


def lay_out(module: Module, options: CompileOptions, *, packing: Packing, slots: int) -> Vectors:
    """The vectors of a program of one product by a public matrix, operand and result in one packing."""
    (x,) = module.inputs
    (op,) = (op for op in module.walk() if op.name == "tensor.matmul")
    before, after = (packing(value.type.shape, slots) for value in (x, op.result))  # type: ignore[attr-defined]
    layouts = OperationLayouts(tuple(before if v is x else None for v in op.operands), after)
    placed = assign_layouts(module, OneProduct({x: before}, {op: layouts}))
    lowered, tensors, positions = lower_to_vectors(placed, options.techniques.spread_sums)
    made = run_passes(lowered, TIDY_PASSES)
    packs = (before.pack_map(x.type.shape),), (after.pack_map(op.result.type.shape),)  # type: ignore[attr-defined]
    return Vectors(placed, made, tensors, positions, program_depth(made), slots, *packs)


PACKINGS: dict[str, Packing | None] = {"ours": None, "BOLT's": by_columns, "THOR's": by_diagonals}
MODES = {"as Rotom": ROTOM, "all techniques": ALL}


def given(shape: tuple[int, int, int], slots: int, techniques: Techniques) -> dict[str, Any]:
    """The options of `lw.compile` for the product of an encrypted rows x inner with a public inner x columns matrix."""
    rows, inner, columns = shape
    program = FunctionType(matmul.__code__, matmul.__globals__, "product")
    program.__annotations__ = {"a": lw.Secret[rows, inner]}
    return {
        "program": lw.program(program),
        "weights": (uniform(2, inner, columns, size=inner**-0.5),),
        "calibrate": {"a": uniform(1, 1, rows, inner)},
        "precision_bits": 10,
        "ring_degree": 2 * slots,
        "techniques": techniques,
    }


def run_error(asked: dict[str, Any], plan: Plan) -> float:
    """The largest error of an encrypted run, of the largest element of the product."""
    a, (weights,) = asked["calibrate"]["a"][0], asked["weights"]
    model = lw.Model(plan, allow_insecure=True)
    client = model.client()
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(a=a)))
    expected = a @ weights
    return float(np.max(np.abs(np.asarray(result.reveal()) - expected)) / np.max(np.abs(expected)))


def packing_rows() -> Iterator[Row]:
    """Rows of every product, number of slots, mode and packing; what takes little memory is run and checked."""
    ways = product(SHAPES, SLOTS, MODES.items(), PACKINGS.items())
    for (rows, inner, columns), slots, (mode, techniques), (name, packing) in ways:
        asked = given((rows, inner, columns), slots, techniques)
        way = searched if packing is None else partial(lay_out, packing=packing, slots=slots)
        plan = counted(asked, SCALE_BITS, way)
        cost = estimate(plan, CostModel.load())
        error = run_error(asked, plan) if cost.memory.constants <= MOST_CONSTANTS else None
        note = None if error is not None else "only counted"
        sent = sum(i.pack.count for i in plan.client.secret_inputs)
        for metric, unit, value in (
            ("encrypted input vectors", "", sent),
            ("rotations, hoisted ones included", "", cost.counts.rotations),
            ("plaintext products", "", cost.counts.plaintext_products),
            ("levels", "", plan.chain.main.top),
            ("run, predicted on one thread", "s", cost.warm_seconds),
        ):
            case = f"{rows} x {inner} by public {inner} x {columns} at {slots} slots, {name} packing, {mode}"
            checked = error is not None and error <= MOST_ERROR
            yield Row(case, metric, unit, float(value), checked=checked, note=note)
