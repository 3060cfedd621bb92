"""A plan that is only counted and priced: at the scale of another, instead of one found by simulating it."""

from __future__ import annotations

from math import log2
from typing import Any

from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.assemble import to_plan
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.compiler.vector_levels import to_levels, to_primitives
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.plan.cost import CostModel
from latticework.plan.parameters import ModulusChain, Need, select_chain
from latticework.plan.schema.schema import Plan

HEADROOM_BITS = 56  # values up to 2^54 fit


def counted(given: dict[str, Any], like: ModulusChain) -> Plan:
    """The plan for these options of `lw.compile`; its precision is not known.

    like  the chain whose scale is taken
    """
    program, costs = given["program"], CostModel.load()
    module = to_tensors(program, given["weights"], None)
    samples = samples_of(program, module, given["calibrate"])
    degree, techniques = given["ring_degree"], given["techniques"]
    options = CompileOptions.of(ring_degree=degree, techniques=techniques)
    traced = to_polynomials(module, samples, options)
    vectors = ArrayVectors(traced.module, options).choose()
    scale_bits = round(log2(like.main.scales[-1]))
    chain = select_chain(Need(vectors.depth, vectors.slots, scale_bits, HEADROOM_BITS), ring_degree=degree)
    lowered = to_primitives(to_levels(vectors, techniques), chain, costs=costs, techniques=techniques)
    return to_plan(program.name, traced, vectors, lowered, samples, given["precision_bits"], set())
