"""The order of stages and passes: the one place that knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from latticework.assemble import to_plan
from latticework.cost import CostModel
from latticework.cost.block_maps import block_prices
from latticework.errors import LevelError
from latticework.expand import expand
from latticework.frontend import Program, approximate, calibrate, trace
from latticework.frontend.samples import Sample
from latticework.ir import Module, Pass, PassEvent, interpret, run_passes, verify
from latticework.keys import manifest, planned_keys
from latticework.layout import assign_layouts
from latticework.levels import manage_levels, program_depth
from latticework.ops.lower import lower_to_vectors
from latticework.params import ModulusChain
from latticework.passes import cse, dce, fold_splats, normalize_polynomials, share_inputs, share_outputs
from latticework.placing import (
    LAN_BITS_A_SECOND,
    USUAL_DEPTH,
    Seconds,
    explained,
    find_layouts,
    ring_degree_for,
    slots_needed,
)
from latticework.plan.emit import emit_code
from latticework.stages import Lowered, Traced, Vectors

__all__ = ["to_plan", "to_polynomials", "to_primitives", "to_tensors", "to_vectors"]

TENSOR_PASSES = (cse.PASS, dce.PASS)
_TIDY = (cse.PASS, dce.PASS)
VECTOR_PASSES = (
    normalize_polynomials.PASS, fold_splats.PASS, *_TIDY, share_outputs.PASS, *_TIDY, share_inputs.PASS, *_TIDY
)  # fmt: skip
PRIMITIVE_PASSES = (cse.PASS, dce.PASS)

COMPARED_SAMPLES = 256
OnEvent = Callable[[PassEvent], None]


def to_tensors(program: Program, weights: object, example: object) -> Module:
    """Trace a program."""
    module = trace(program, weights, example)
    verify(module)
    return module


def to_polynomials(
    module: Module, samples: list[Sample], *, assumed: bool = False, on_event: OnEvent | None = None
) -> Traced:
    """Calibrate a traced program and approximate its functions.

    assumed  the samples are stand-ins, so they say nothing about the ranges of functions
    """
    if assumed:
        approximated, fitted = approximate(module)
        calibrated = calibrate(approximated, samples)
    else:
        calibrated, fitted = approximate(calibrate(module, samples))
    shifts = _shifts(module, calibrated, samples) if fitted else [0.0] * len(module.outputs)
    return Traced(run_passes(calibrated, TENSOR_PASSES, on_event=on_event), fitted, shifts)


def _shifts(exact: Module, approximated: Module, samples: list[Sample]) -> list[float]:
    """Largest difference that approximating functions makes to an element of each output."""
    found = [0.0] * len(exact.outputs)
    for sample in samples[:: -(-len(samples) // COMPARED_SAMPLES)]:
        pairs = zip(interpret(exact, sample), interpret(approximated, sample), strict=True)
        found = [max(most, float(np.max(np.abs(a - b)))) for most, (a, b) in zip(found, pairs, strict=True)]
    return found


def to_vectors(
    module: Module,
    on_event: OnEvent | None = None,
    passes: Iterable[Pass] = VECTOR_PASSES,
    *,
    costs: CostModel | None = None,
    ring_degree: int | None = None,
    bits_a_second: float = LAN_BITS_A_SECOND,
) -> Vectors:
    """Lay tensors out and lower them to vectors, which these passes then improve.

    bits_a_second  of the network between client and server: what is sent is priced too
    Vectors are as long as the largest tensor needs, up to what a ring of the program's depth has, or the one asked for.

    raises  LayoutError if a tensor fits no ring
    """
    model, passes = costs or CostModel.load(), tuple(passes)
    needed, depth = slots_needed(module), USUAL_DEPTH
    width = min(needed, (ring_degree or ring_degree_for(depth)) // 2)
    for _ in range(2):
        degree = max(2 * width, ring_degree or ring_degree_for(depth))
        decisions = find_layouts(module, width, Seconds(model, degree, depth, bits_a_second=bits_a_second))
        placed = assign_layouts(module, decisions)
        verify(placed)
        lowered, tensors, positions = lower_to_vectors(placed)
        vectors = run_passes(lowered, passes, on_event=on_event)
        depth = program_depth(vectors)
        longest = min(needed, (ring_degree or ring_degree_for(depth)) // 2)
        if width >= longest:
            break
        width = longest
    return Vectors(placed, vectors, tensors, positions, depth, width, *explained(module, decisions, bits_a_second))


def to_primitives(
    vectors: Vectors,
    chain: ModulusChain,
    on_event: OnEvent | None = None,
    *,
    costs: CostModel | None = None,
    complex_packing: bool = False,
) -> Lowered:
    """Levels, scales, primitives and keys for one chain.

    costs            by which linear maps are carried out in the cheapest way; typical ones if not given
    complex_packing  whether real linear maps may use the imaginary halves of slots, where that is cheaper
    """
    if chain.main.top < vectors.depth:
        raise LevelError(f"the program spends {vectors.depth} levels, the chain has {chain.main.top}")
    managed = manage_levels(vectors.module, chain)
    verify(managed)
    prices = None if costs is None else lambda level: block_prices(costs, chain, level.index, level.track)
    expanded = expand(managed, chain, prices=prices, packing=complex_packing)
    module = run_passes(expanded, PRIMITIVE_PASSES, on_event=on_event)
    keys = planned_keys(module, chain)
    return Lowered(module, emit_code(module, chain, keys), manifest(module, keys, chain))
