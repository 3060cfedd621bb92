"""Lanes, exchanged operands, rotations and merges of given packs, all at once.

In:  a circuit and its packs (`asap_packs`, or those of a schedule, which is then also where the solver starts).
Out: a schedule of these packs, its price, and a proved bound on the price of any schedule of these packs on as many
     lanes whose operands are merges of rotated registers. Cleverer movement of data may be cheaper than both.
Cost: exponential at worst; `effort` limits it, and the best until then is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from bench.coyote.exact.exact_circuit import ExactCircuit, Pack, Schedule, asap_packs
from bench.coyote.exact.lower_bounds import rotation_cuts, rotations_needed, rotations_of_any
from bench.coyote.exact.placement_model import PlacementModel
from bench.exact_solver import solve
from latticework.errors import LayoutError
from latticework.values.extension import _core

_PARTS = 1000  # of a rotation, in which the solver counts


@dataclass(frozen=True)
class ExactPlacement:
    """A schedule and what it is proved to be worth.

    cost, bound       of all instructions, masks included; no placement of these packs on as many lanes is below `bound`
    rotations         distinct pairs of a register and a distance
    rotations_needed  of such a placement on any number of lanes, by counting (`bounds`)
    rotations_of_any  of any vector code with these packs, by counting
    merges, masks     additions of sources, and products with 0/1 vectors before them
    """

    schedule: Schedule
    cost: float
    bound: float
    is_optimal: bool
    rotations: int
    rotations_needed: int
    rotations_of_any: int
    merges: int
    masks: int


def place(
    circuit: ExactCircuit,
    weights: _core.lanes.InstructionWeights,
    start: Schedule | None = None,
    *,
    packs: Sequence[Pack] | None = None,
    num_lanes: int = 0,
    effort: float = 10.0,
    seed: int = 0,
) -> ExactPlacement | None:
    """The best placement that the solver finds with `effort` units of work (about seconds).

    packs      those of `start` if there is one, else `asap_packs`
    num_lanes  in which to place; 0: as many as the largest register needs, or the start if that is not twice as many
    returns    None if no placement was found
    raises     LayoutError if a register does not fit into so many lanes; MissingPackageError
    """
    packs = tuple(packs or (asap_packs(circuit) if start is None else start.packs))
    num_lanes = num_lanes or _lanes_for(circuit, packs, start)
    needed = _count_needed(circuit, packs)
    if not needed <= num_lanes <= circuit.width:
        raise LayoutError(
            f"place: {num_lanes} lanes where {needed} are needed and there are {circuit.width}; give num_lanes between"
        )
    model = PlacementModel(circuit, packs, num_lanes)
    prices = tuple(
        round(_PARTS * price / weights.rotate) for price in (weights.rotate, weights.mul_constant, weights.add)
    )
    model.minimize(*prices)
    if start is not None and start.packs == packs:
        model.hint(start)
    answer = solve(model.model, effort, seed)
    if answer.value is None:
        return None
    schedule, rotations, sources = model.read_solution(answer.solver.value)
    merged = [side for side in sources.values() if len(side) > 1]
    masks = sum(len(side - {None}) for side in merged)
    merges = sum(len(side) - 1 for side in merged)
    price = sum(map(mul, prices, (len(rotations), masks, merges)))  # less than the answer if that holds idle rotations
    computed, unit = sum(weights.of(code) for code, _ in packs), weights.rotate / _PARTS
    return ExactPlacement(
        schedule,
        cost=computed + unit * price,
        bound=computed + unit * min(price, answer.bound),
        is_optimal=price <= answer.bound,
        rotations=len(rotations),
        rotations_needed=rotations_needed(rotation_cuts(circuit, packs)),
        rotations_of_any=rotations_of_any(circuit, packs),
        merges=merges,
        masks=masks,
    )


def _count_needed(circuit: ExactCircuit, packs: Sequence[Pack]) -> int:
    groups = [
        max(lanes) + 1 if lanes else len(circuit.inputs(group)) if circuit.packing[group] else 1
        for group, lanes in enumerate(circuit.fixed)
    ]
    return max([*(len(nodes) for _, nodes in packs), *groups])


def _lanes_for(circuit: ExactCircuit, packs: Sequence[Pack], start: Schedule | None) -> int:
    needed = _count_needed(circuit, packs)
    if start is not None:
        lanes = [lane for lane in start.lanes if lane >= 0]
        spread = max(lanes) + 1 - (0 if any(circuit.fixed) else min(lanes))
        if needed < spread <= 2 * needed:
            return spread
    return needed
