"""A plan that is only counted and priced: at the scale of another, instead of one found by simulating it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.assemble import to_plan
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.stage_results import Vectors
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.compiler.vector_levels import to_levels, to_primitives
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.ir import Module
from latticework.plan.cost import CostModel
from latticework.plan.parameters import Need, select_chain
from latticework.plan.schema.schema import Plan

HEADROOM_BITS = 56  # values up to 2^54 fit
LayOut = Callable[[Module, CompileOptions], Vectors]


def searched(module: Module, options: CompileOptions) -> Vectors:
    """The vectors on layouts that are searched."""
    return ArrayVectors(module, options).choose()


def counted(given: dict[str, Any], scale_bits: int, lay_out: LayOut = searched) -> Plan:
    """The plan for these options of `lw.compile`, at a scale; its precision is not known.

    lay_out  makes vectors of tensors
    """
    program, costs = given["program"], CostModel.load()
    module = to_tensors(program, given["weights"], None)
    samples = samples_of(program, module, given["calibrate"])
    degree, techniques = given["ring_degree"], given["techniques"]
    options = CompileOptions.of(ring_degree=degree, techniques=techniques)
    traced = to_polynomials(module, samples, options)
    vectors = lay_out(traced.module, options)
    chain = select_chain(Need(vectors.depth, vectors.slots, scale_bits, HEADROOM_BITS), ring_degree=degree)
    lowered = to_primitives(to_levels(vectors, techniques), chain, costs=costs, techniques=techniques)
    return to_plan(program.name, traced, vectors, lowered, samples, given["precision_bits"], set())
