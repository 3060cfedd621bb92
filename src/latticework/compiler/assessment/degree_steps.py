"""The cost and the gain of a polynomial of a higher degree."""

from __future__ import annotations

from functools import lru_cache
from math import log2

from latticework.compiler.accuracy import StandIn
from latticework.compiler.accuracy.effects import stages_of
from latticework.compiler.expand.paterson_stockmeyer import num_products
from latticework.functions.approximation.chebyshev import interpolate
from latticework.functions.approximation.degree_limits import MAX_DEGREE
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.cost.weights import LEVEL_SHARE, ckks_weights
from latticework.plan.parameters import ModulusChain, Need, build_chain
from latticework.plan.parameters.security import modulus_limit_bits
from latticework.plan.schema.schema import Plan
from latticework.report.accuracy_data import DegreeStep
from latticework.values.packing.packed_constants import IntervalPolynomial


class DegreeSteps:
    """Higher degrees for the functions of one plan, priced by one cost model."""

    def __init__(self, plan: Plan, costs: CostModel) -> None:
        self.chain, self.costs = plan.chain, costs
        levels = max(plan.client.levels_spent, 1)
        self.level_seconds = LEVEL_SHARE * estimate(plan, costs).warm_seconds / levels

    def of(self, stand_in: StandIn, level: int, vectors: int) -> DegreeStep | None:
        """The highest degree for as many levels as now, or if it has that, for one more.

        level    at which the function's result lies;  vectors  that it is computed on
        """
        use, degree = stand_in.use, stand_in.degree
        now = stand_in.levels
        then = now if degree < (1 << now) - 1 and not use.function.gap else now + 1
        most = use.curve.most_levels
        if then > most or (1 << then) - 1 > MAX_DEGREE:
            return None
        higher = (1 << then) - 1
        products = self._products(stand_in, higher) - self._products(stand_in, degree)
        middle = min(max(level + now // 2, self.chain.floor + 1), self.chain.main.top)
        seconds = products * vectors * ckks_weights(self.chain, middle, self.costs).mul
        return DegreeStep(
            higher, use.estimate(higher), then - now, products, seconds + (then - now) * self.level_seconds,
            self._needs_larger_ring(then - now),
        )  # fmt: skip

    def _products(self, stand_in: StandIn, degree: int) -> int:
        use = stand_in.use
        if use.function.gap:
            stages = stages_of(use.polynomial(degree))
            return sum(num_products(each, _any_chain()) for each in stages if isinstance(each, IntervalPolynomial))
        return num_products(interpolate(use.function.finite, use.interval, degree), _any_chain())

    def _needs_larger_ring(self, levels: int) -> bool | None:
        chain = self.chain
        limit = None if chain.insecure else modulus_limit_bits(chain.ring_degree, chain.security_bits)
        if limit is None:
            return None
        each = (log2(chain.modulus(chain.main.top)) - log2(chain.modulus(0))) / max(chain.main.top, 1)
        return chain.log2_qp + levels * each > limit


@lru_cache(maxsize=1)
def _any_chain() -> ModulusChain:
    """A chain with levels for any degree: how many products there are depends on nothing else of it."""
    return build_chain(1 << 15, Need(MAX_DEGREE.bit_length(), 1, 40, 10), 1, insecure=True)
