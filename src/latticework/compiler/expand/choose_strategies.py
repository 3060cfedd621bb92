"""Choose strategies of a module's linear maps: for each the cheapest one, or for all together by what they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from latticework.compiler.expand.coeff_to_slot import maps_of_bootstrap
from latticework.compiler.expand.map_strategies import (
    LevelPrices,
    MapStrategies,
    choose_piece_strategy,
    choose_strategy,
    comparison_prices,
    mode_of,
)
from latticework.compiler.expand.primitive_builder import cipher
from latticework.compiler.expand.shared_keys import MapSite, elements, settle, site
from latticework.compiler.options.techniques import ITERATED, UNPACKED, Techniques
from latticework.ir import Block, Module, Op
from latticework.ir.dialects.rlwe_dialect import Level
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec, conjugation_element, galois_element, signed_steps
from latticework.values.packing.loop_nests.baby_giant import TYPICAL, Choice, Places, options, places
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.packed_constants import LinearMap, number_matrix

MATRICES_OF = "ckks.linear_transform"  # that may be products with matrices of numbers
LINEAR = (MATRICES_OF, "bfv.linear_transform")


def choose_strategies(
    module: Module,
    techniques: Techniques = UNPACKED,
    prices: LevelPrices | None = None,
    chain: ModulusChain | None = None,
    held: Sequence[KeySpec] = (),
) -> MapStrategies:
    """Choose a strategy for each linear map of a managed module that has diagonals.

    prices  typical ones if not given
    chain   of the module: then maps share keys where that is cheaper; if stored bytes have a price, those of bootstraps
            too, and how often each is run counts
    held    keys that are there already: maps take no others where these are enough
    """
    matrices = _matrices(module, techniques)
    if prices is not None and chain is not None and techniques.shared_keys and techniques.tuned_widths:
        return _Together(module, chain, techniques, prices, held, matrices).choose()
    choices: dict[Op, Choice] = {}
    for op in module.walk():
        if op.name in LINEAR and op not in matrices:
            at = TYPICAL if prices is None else prices(cipher(op.operands[0]).level)
            choice = choose_strategy(op.attrs["map"], techniques, at, real=op.attrs.get("real") is True)
            if choice is not None:
                choices[op] = choice
    return MapStrategies(choices, techniques, matrices=matrices)


def _matrices(module: Module, techniques: Techniques) -> dict[Op, MatrixChoice]:
    """The maps of a module that multiply whole vectors with numbers."""
    if not techniques.matrix_products:
        return {}
    found: dict[Op, MatrixChoice] = {}
    for op in module.walk():
        matrix = number_matrix(op.attrs["map"]) if op.name == MATRICES_OF else None
        if matrix is not None:
            found[op] = MatrixChoice(matrix, float(np.max(np.abs(matrix.evaluate(module.sources)))))
    return found


class _Together:
    """The maps of a module, and the keys that are there whatever is chosen for them."""

    def __init__(
        self,
        module: Module,
        chain: ModulusChain,
        techniques: Techniques,
        prices: LevelPrices,
        held: Sequence[KeySpec] = (),
        matrices: Mapping[Op, MatrixChoice] = {},
    ) -> None:
        self.held, self.matrices = held, matrices
        self.chain, self.techniques, self.prices = chain, techniques, cache(prices)
        self.fixed_keys: dict[int, float] = {}
        self.sites: dict[Op | tuple[LinearMap, Level], MapSite] = {}
        self.pieces: dict[tuple[LinearMap, Level], tuple[int, float]] = {}  # babies by the set, runs
        for op, runs in _runs(module.body, 1.0):
            self._look_at(op, runs)
        for (piece, level), (babies, runs) in self.pieces.items():
            self._look_at_piece(piece, level, babies, runs)

    def choose(self) -> MapStrategies:
        """Those of all."""
        chosen = dict(zip(self.sites, settle(list(self.sites.values()), self.fixed_keys), strict=True))
        maps = {of: choice for of, choice in chosen.items() if isinstance(of, Op)}
        return MapStrategies(
            maps,
            self.techniques,
            {of: choice for of, choice in chosen.items() if not isinstance(of, Op)},
            self.matrices,
        )

    def _look_at(self, op: Op, runs: float) -> None:
        if op in self.matrices:
            return
        if op.name in LINEAR:
            self._add(op, op.attrs["map"], cipher(op.operands[0]).level, runs, real=op.attrs.get("real") is True)
        elif op.name == "ckks.bootstrap":
            kind, times = cipher(op.operands[0]), runs * op.attrs["iterations"] * cipher(op.operands[0]).count
            for piece, level, babies in maps_of_bootstrap(self.chain, kind.slots, op.attrs["level"].index):
                _, before = self.pieces.get((piece, level), (babies, 0.0))
                self.pieces[piece, level] = babies, before + times
        elif op.name == "rlwe.rotate":
            slots = cipher(op.operands[0]).slots
            steps = signed_steps(op.attrs["steps"], slots)
            if steps:
                self._hold({galois_element(steps, self.chain.ring_degree)}, cipher(op.operands[0]).level)
        elif op.name == "rlwe.conjugate":
            self._hold({conjugation_element(self.chain.ring_degree)}, cipher(op.operands[0]).level)

    def _look_at_piece(self, piece: LinearMap, level: Level, babies: int, runs: float) -> None:
        """Weigh, if stored bytes have a price, strategies with at most the keys that widths of the set need."""
        usual = choose_piece_strategy(piece, babies, self.techniques)
        if usual is None:
            return
        if self.prices(level).stored:
            self._add((piece, level), piece, level, runs, most_keys=usual.counts.keys)
        else:
            self._hold(elements(places(piece), usual, self.chain.ring_degree), level)

    def _add(
        self,
        of: Op | tuple[LinearMap, Level],
        linear_map: LinearMap,
        level: Level,
        runs: float,
        *,
        real: bool = False,
        most_keys: int | None = None,
    ) -> None:
        where, parts, may = places(linear_map), self.prices(level), self.techniques
        if not where.steps.size:
            return
        by = comparison_prices(parts, may)
        may_iterate = (False, True) if parts.stored else (False,)
        choices = options(
            where, by, packing=real and may.complex_packing, mode=mode_of(may), horner=may.horner_giants,
            iterated=(True,) if may.rotation_keys == ITERATED else may_iterate,
        )  # fmt: skip
        few = [choice for choice in choices if most_keys is None or choice.counts.keys <= most_keys]
        self.sites[of] = site(
            where, self._with_held_keys(where, few, level), by, self.chain.ring_degree, runs if parts.stored else 1.0
        )

    def _with_held_keys(self, where: Places, choices: list[Choice], level: Level) -> list[Choice]:
        """Those of some strategies on an operand at a level that take no key which is not held; all where none does."""
        if not self.held:
            return choices
        at, covers = (level.track, level.index), self.chain.covers
        there = {key.galois_element for key in self.held if covers((key.track, key.level), at)}
        return [c for c in choices if elements(where, c, self.chain.ring_degree) <= there] or choices

    def _hold(self, keys: frozenset[int] | set[int], level: Level) -> None:
        """These are there up to a level."""
        parts = self.prices(level)
        for key in keys:
            self.fixed_keys[key] = max(self.fixed_keys.get(key, 0.0), parts.key + parts.stored)


def _runs(block: Block, times: float) -> Iterator[tuple[Op, float]]:
    """All operations, and how often each is run: of a trip count that is not known, as often as it may be, or once."""
    for op in block.ops:
        yield op, times
        trip_count = op.attrs.get("static_trip", op.attrs.get("at_most")) if op.name == "loop.for" else None
        for region in op.regions:
            yield from _runs(region.block, times * (1 if trip_count is None else trip_count))
