"""Vectors become ciphertexts: loops and public factors for levels, levels for any chain, primitives for one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import inf

from latticework.compiler.codegen.emit_code import emit_code
from latticework.compiler.codegen.generate import generate
from latticework.compiler.keys import manifest, plan_keys
from latticework.compiler.layout_choice import CodeCost, least_ring_degree, vector_costs
from latticework.compiler.levels import (
    LevelPlan,
    decide_levels,
    keep_whole_origins,
    program_depth,
    public_factors,
    unroll,
    write_levels,
)
from latticework.compiler.options.techniques import UNPACKED, Techniques
from latticework.compiler.pass_order import UNROLLING_PASSES, OnPassEvent
from latticework.compiler.passes import dce
from latticework.compiler.stage_results import Lowered, Vectors
from latticework.ir import Module, run_passes
from latticework.plan.cost import CostModel
from latticework.plan.cost.block_maps import block_prices
from latticework.plan.cost.networks import LAN_BITS_A_SECOND
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec


def to_copies(
    module: Module,
    on_event: OnPassEvent | None = None,
    sizes: Sequence[float] = (),
    whole: Collection[int] = (),
    most: float = inf,
    *,
    fill: bool = False,
) -> Module:
    """Loops that spend levels as copies, and public factors where they spend the fewest levels.

    sizes  largest magnitude of every output, where some are small
    whole  numbers of outputs that are to have no scale of their own
    most   magnitude of their vectors;  fill  whether they are to be that large
    """
    copied = run_passes(module, UNROLLING_PASSES, on_event=on_event) if unroll.has_loops(module) else module
    factors = public_factors.factor_pass(sizes, whole=whole, most=most, fill=fill)
    flat = run_passes(copied, (factors, dce.PASS), on_event=on_event)
    keep_whole_origins(copied, flat)
    return flat


def to_loops(
    module: Module, on_event: OnPassEvent | None = None, sizes: Sequence[float] = (), whole: Collection[int] = ()
) -> Module:
    """Loops as they are, and public factors where they spend the fewest levels of an iteration.

    sizes  largest magnitude of every output, where some are small
    whole  numbers of outputs that are to have no scale of their own
    """
    placed = run_passes(
        module, (public_factors.factor_pass(sizes, in_loops=True, whole=whole), dce.PASS), on_event=on_event
    )
    keep_whole_origins(module, placed)
    return placed


def with_small_outputs(
    vectors: Vectors, sizes: Sequence[float], on_event: OnPassEvent | None = None, *, keep_loops: bool = False
) -> Vectors:
    """Vectors whose small outputs are computed larger, where that takes no level, and read by a larger scale.

    sizes  largest magnitude of every output;  keep_loops  as in `ArrayVectors`
    """
    if not any(0.0 < size < public_factors.SMALL for size in sizes):
        return vectors
    flat = (to_loops if keep_loops else to_copies)(vectors.module, on_event, sizes, vectors.feedback)
    return replace(vectors, flat=flat, depth=program_depth(flat, once=keep_loops))


def with_smaller_outputs(vectors: Vectors, sizes: Sequence[float], most: float, *, fill: bool = False) -> Vectors:
    """Vectors whose outputs are at most so large, and read by a smaller scale.

    sizes  largest magnitude of every output;  fill  whether smaller ones are made that large, and read by a larger one
    """
    flat = to_copies(vectors.module, None, sizes, vectors.feedback, most, fill=fill)
    return replace(vectors, flat=flat, depth=program_depth(flat))


def to_levels(vectors: Vectors, techniques: Techniques = UNPACKED, costs: CostModel | None = None) -> LevelPlan:
    """Decide about levels, for any chain: how many it has to have follows from that.

    costs  by which it is decided how low values are computed; typical ones if not given
    """
    degree = max(2 * vectors.slots, least_ring_degree(vectors.depth))
    priced = vector_costs(costs or CostModel.load(), degree, vectors.depth, LAN_BITS_A_SECOND, techniques)
    return decide_levels(
        vectors.flat or vectors.module,
        techniques,
        vectors.starts,
        vectors.residual,
        vectors.feedback,
        CodeCost(priced, 0.0),
        vectors.ends,
    )


def to_primitives(
    levels: LevelPlan,
    chain: ModulusChain,
    on_event: OnPassEvent | None = None,
    *,
    costs: CostModel | None = None,
    techniques: Techniques = UNPACKED,
    held: Sequence[KeySpec] = (),
) -> Lowered:
    """Write scales, primitives and keys for one chain, of any scheme.

    costs       by which linear maps are carried out in the cheapest way; typical ones if not given
    techniques  what expansion may use
    held        keys that are there: linear maps take no others where these are enough
    """
    managed = write_levels(levels, chain)
    made = expand_levels(managed, chain, on_event, costs=costs, techniques=techniques, held=held)
    return replace(made, levels=levels)


def expand_levels(
    managed: Module,
    chain: ModulusChain,
    on_event: OnPassEvent | None = None,
    *,
    costs: CostModel | None = None,
    techniques: Techniques = UNPACKED,
    held: Sequence[KeySpec] = (),
) -> Lowered:
    """Write primitives and keys of ciphertexts with their levels; arguments are as of `to_primitives`."""
    prices = None if costs is None else lambda level: block_prices(costs, chain, level.index, level.track)
    made = generate(managed, chain, prices=prices, techniques=techniques, held=held, on_event=on_event)
    return Lowered(managed, made.module, made.code, manifest(made.code, chain), made.choices)


def emit_primitives(primitives: Module, lowered: Lowered, chain: ModulusChain) -> Lowered:
    """Code and keys of other primitives in the place of those of a program."""
    code = emit_code(primitives, chain, plan_keys(primitives, chain))
    return replace(lowered, module=primitives, code=code, manifest=manifest(code, chain))
