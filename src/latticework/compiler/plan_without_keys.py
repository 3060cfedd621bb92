"""Plans of rows that need no evaluation key: products with public matrices, and squares that keep their degree.

Where a program of a batch is such, its plan is on a smaller ring, its keys are none, and nothing is switched.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import inf, isfinite, log2

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels import LevelPlan, decide_without_keys
from latticework.compiler.precision import PrecisionSearch
from latticework.compiler.stage_results import Lowered
from latticework.compiler.vector_levels import to_primitives
from latticework.errors import PrecisionError, UserError
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.parameters import ModulusChain, modulus_limit_bits
from latticework.plan.parameters.chain_without_keys import chain_without_keys, ring_without_keys
from latticework.plan.schema.schema import Plan

FIRST_SCALE_BITS, LEAST_SCALE_BITS = 24, 16
COARSER_BITS = 6  # that weights have fewer than inputs, whose noise in slots is so much larger than a rounding
ROOMY_BITS, ROOMY_DEGREE = 420.0, 1 << 14  # of trials
MARGIN_BITS = 2  # a sign, and noise
ATTEMPTS = 5
MOST_LEVELS = 5  # that such a program spends with keys: of two squares, and of products with matrices around them


def plan_without_keys(search: PrecisionSearch) -> Plan | None:
    """The plan of a search's program without evaluation keys; None where it needs one, is not of
    rows, or is not precise enough so."""
    is_of_rows = search.options.rows is not None and search.vectors.circuit is None
    if not (is_of_rows and search.techniques.matrix_products):
        return None
    scale_bits, least = FIRST_SCALE_BITS, LEAST_SCALE_BITS
    with suppress(UserError):
        for _ in range(ATTEMPTS):
            trial = _Trial.of(search, scale_bits)
            if trial is None:
                return None
            missing = trial.missing_bits()
            if missing in (-1, 0) or (missing < 0 and scale_bits == least):
                ring_degree = trial.ring_for(trial.bits)
                if ring_degree is None:
                    return None
                plan, missing = trial.on(trial.bits, ring_degree)
                if missing <= 0:  # a bit to spare may be missing at a smaller scale
                    return plan
            if missing > 0:
                least = max(least, scale_bits + 1)
            scale_bits = max(least, scale_bits + missing)
    return None


def lower_without_keys(search: PrecisionSearch, chain: ModulusChain) -> Lowered | None:
    """The primitives of a search's program on a chain without special primes; None where it needs a key."""
    trial = _Trial.of(search, round(log2(chain.main.scales[0])))
    return None if trial is None else trial.lower(chain)


def plan_code_without_keys(search: PrecisionSearch, lowered: Lowered) -> Plan:
    """The plan of primitives that are given, on their chain.

    raises  PrecisionError if it is not precise enough
    """
    trial = _Trial.of(search, FIRST_SCALE_BITS)
    if trial is not None:
        trial.missing_bits()  # settles on which samples plans are measured, as when the chain was chosen
    plan, bounds = search.plan_lowered(lowered)
    measured, missing = search.measure_missing(plan, bounds)
    if missing > 0:
        raise PrecisionError(
            f"compile: precision_bits={search.precision_bits:g} is not reached by code that was changed: "
            f"{missing} bits are missing",
            at=search.program.loc,
        )
    return search.add_error_bounds(plan, measured, bounds)


class _Trial:
    """A plan at one scale: first on a chain with room for anything, which tells how much it needs."""

    def __init__(self, search: PrecisionSearch, levels: LevelPlan, scale_bits: int) -> None:
        self.search, self.levels, self.scale_bits = search, levels, scale_bits
        self.bits = inf  # of Q, with room for all that accepted inputs can give

    @staticmethod
    def of(search: PrecisionSearch, scale_bits: int) -> _Trial | None:
        """The trial at a scale; None where the program needs a key."""
        vectors = search.vectors
        levels = decide_without_keys(vectors.flat or vectors.module, scale_bits - COARSER_BITS)
        return None if levels is None else _Trial(search, levels, scale_bits)

    def lower(self, chain: ModulusChain) -> Lowered:
        """The primitives on a chain."""
        options = self.search.options
        return to_primitives(
            self.levels, chain, options.on_event, costs=options.costs, techniques=self.search.techniques
        )

    def missing_bits(self) -> int:
        """Bits of precision that are missing; negative: to spare. Notes how large values are.

        raises  UserError where that cannot be told
        """
        degree = max(ROOMY_DEGREE, 2 * self.search.vectors.slots)
        chain = chain_without_keys(ROOMY_BITS, self.scale_bits, degree, insecure=True)
        plan, bounds = self.search.plan_lowered(self.lower(chain))
        largest = [0.0]
        measured = self.search.measure.measure(plan, _noting(plan, largest))
        above = log2(chain.modulus(chain.main.top)) - log2(chain.modulus(0))
        proved = log2(max(bounds.size, 1e-300)) + self.scale_bits + above if isfinite(bounds.size) else inf
        self.bits = max(proved, log2(max(largest[0], 1.0))) + MARGIN_BITS
        return max(self.search.missing_bits(measured, chain), bounds.short_bits)

    def ring_for(self, bits: float) -> int | None:
        """The smallest ring for so many bits of Q, or the one that was asked for; None if it does not hold them."""
        wanted, slots = self.search.options.parameters, self.search.vectors.slots
        degree = ring_without_keys(bits + 1, slots, wanted.security_bits) if isfinite(bits) else None
        if wanted.ring_degree is None:
            return degree
        fits = slots <= wanted.ring_degree // 2 and (
            wanted.insecure or (degree is not None and degree <= wanted.ring_degree)
        )
        return wanted.ring_degree if fits and isfinite(bits) else None

    def on(self, bits: float, ring_degree: int) -> tuple[Plan | None, int]:
        """The plan on its own chain, with error bounds, and bits of precision that are missing; None for it if any
        are, or if it does not withstand noise.

        raises  UserError for values that do not fit
        """
        wanted, search = self.search.options.parameters, self.search
        chain = chain_without_keys(bits, self.scale_bits, ring_degree, wanted.security_bits)
        limit = modulus_limit_bits(ring_degree, wanted.security_bits)
        chain = replace(chain, insecure=limit is None or chain.log2_qp > limit)
        plan, bounds = search.plan_lowered(self.lower(chain))
        measured, missing = search.measure_missing(plan, bounds)
        if missing > 0 or not search.withstands_noise(plan, measured):
            return None, missing
        return search.add_error_bounds(plan, measured, bounds), missing


def _noting(plan: Plan, largest: list[float]) -> Callable[[int, npt.NDArray[np.float64]], None]:
    """A listener that keeps the largest coefficient that a value may have."""

    def note(register: int, value: npt.NDArray[np.float64]) -> None:
        kind = plan.kind(register)
        if isinstance(kind, CipherKind):
            largest[0] = max(largest[0], float(np.max(np.abs(value))) * kind.scale)

    return note
