"""Bands of levels whose keys have special primes and digits of their own, chosen for a plan by its uses of keys.

Keys of low levels can have more special primes and fewer digits within the same security (`plan.parameters.gadgets`),
which makes each use of them quicker; but a key that is used in two bands is there twice. A plan tells how often each
level switches keys, and which. So its chain is cut into bands where predicted time and price of keys together are the
least: by the prices by which linear maps choose their keys, so many seconds a key and a gigabyte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, cached_property
from math import inf

from latticework.errors import LevelError
from latticework.plan.analysis.trip_counts import Once, TripCounts
from latticework.plan.cost import CostModel, Shape
from latticework.plan.cost.block_maps import key_seconds, stored_seconds
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind
from latticework.plan.instructions.value_shapes import level_shape
from latticework.plan.instructions.walk import Site
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.gadgets import Digits, cheapest_bands, gadgets_for, low_special_primes, with_gadgets
from latticework.plan.parameters.modulus_chain import Gadget
from latticework.plan.parameters.secrets import secret_limit_bits
from latticework.plan.schema.schema import Plan
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.sums import add_up

LEAST_GAIN = 0.03  # of a run's predicted seconds: plans that would gain less stay as they are
ENCODINGS = 0.1  # of each constant a run: its first has them all, others where memory does not hold what was encoded
BORDER = 0.001  # of the same: what a band has to gain at least
MOST_SPECIAL = 16  # primes that are weighed


class LevelUses(Once):
    """Operations of a run over QP or with digits, by level, and the levels at which it uses each key.

    switching  by the number of Q limbs: operations and their shapes, and how many of them a run has
    others     the other operations of a run
    keys       (kind, Galois element) -> levels
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, TripCounts(plan))
        self.switching: defaultdict[int, defaultdict[tuple[str, Shape], float]] = defaultdict(
            lambda: defaultdict(float)
        )
        self.others: defaultdict[tuple[str, Shape], float] = defaultdict(float)
        self.keys: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        self.follow()

    def visit(self, site: Site) -> None:
        """Note an instruction."""
        for part in site.record.parts(site.use):
            switches = part.shape.p_limbs or part.shape.digit_limbs
            found = self.switching[part.shape.q_limbs] if switches else self.others
            found[part.operation, part.shape] += part.number * (ENCODINGS if part.once else self.times)
        for place in site.record.keys(site.use):
            key = site.use.operands[place]
            at = next(kind for kind in site.use.operands if isinstance(kind, CipherKind | DigitsKind))
            self.keys[key.kind, key.galois_element].add(at.level)


def with_key_bands(plan: Plan, model: CostModel) -> ModulusChain | None:
    """The chain of a plan, its keys cut by level where that is cheapest; None where it would gain too little.

    plan  of CKKS without bootstraps, whose chain has no gadgets yet. All keys are as secure as the table asks; of a
          chain that is marked insecure none becomes larger
    """
    chain = plan.chain
    if chain.gadgets or chain.bootstrap is not None or chain.scheme != "ckks":
        return None
    bands = _Bands(chain, model, LevelUses(plan))
    made = bands.choose()
    gain = bands.cost(chain) - bands.cost(made)
    return made if gain >= LEAST_GAIN * bands.run_seconds else None


class _Bands:
    """Prices of bands of the levels of a chain."""

    def __init__(self, chain: ModulusChain, model: CostModel, uses: LevelUses) -> None:
        self.chain, self.model, self.uses = chain, model, uses
        self.levels = [chain.main.basis(level) for level in range(chain.main.top + 1)]
        self._seconds = cache(model.seconds)
        self._at_level = cache(self._price_level)
        self.used_at = [{key for key, used in uses.keys.items() if n in used} for n in range(len(self.levels))]

    def choose(self) -> ModulusChain:
        """The chain with the cheapest bands."""
        chain, top = self.chain, self.chain.main.top
        limit = None if chain.insecure else secret_limit_bits(chain)
        try:
            every = chain.special + low_special_primes(chain, MOST_SPECIAL)
        except LevelError:  # the ring has no more primes
            every = chain.special
        own = [*self._downwards(chain, top), 0.0]

        def price(band_top: int, special: int, digits: Digits) -> Iterator[float]:
            return self._downwards(_cut_alike(chain, every[:special], digits), band_top)

        best = cheapest_bands(
            chain, self.levels, price, lambda bottom: own[top - bottom], chain.log2_qp if limit is None else limit,
            len(every), top_too=True,
        )  # fmt: skip
        at_top = best.pop(len(chain.primes), None)
        if at_top is not None:
            chain = _cut_alike(chain, every[:at_top], dict(gadgets_for(chain, len(chain.primes), inf, at_top))[at_top])
        return with_gadgets(chain, best)

    def cost(self, chain: ModulusChain) -> float:
        """Seconds of a run that depend on how keys are cut, and what their stored bytes are worth."""
        levels = range(len(self.levels) - 1, -1, -1)
        highest: dict[tuple[tuple[str, int], Gadget], int] = {}
        for level in levels:
            for key in self.used_at[level]:
                highest.setdefault((key, chain.gadget_at(level)), level)
        keys = [KeySpec(*key, 0, level) for (key, _), level in highest.items()]
        worth = add_up(stored_seconds(self.model, key, chain) for key in keys)
        return worth + add_up(self._at_level(level_shape(chain, level)) for level in levels)

    @cached_property
    def run_seconds(self) -> float:
        """Predicted seconds of a run on the chain."""
        others = add_up(number * self._seconds(*part) for part, number in self.uses.others.items())
        return others + add_up(self._at_level(level_shape(self.chain, n)) for n in range(len(self.levels)))

    def _downwards(self, cut: ModulusChain, top: int) -> Iterator[float]:
        """Prices of a band from this level down to itself, to the next lower one, ...; `cut` is as it is cut."""
        total = BORDER * self.run_seconds
        there: set[tuple[str, int]] = set()
        for level in range(top, -1, -1):
            total += self._at_level(level_shape(cut, level))
            new = self.used_at[level] - there
            total += add_up(key_seconds(self.model, KeySpec(*key, 0, level), cut) for key in new)
            there |= new
            yield total

    def _price_level(self, shape: Shape) -> float:
        """Seconds of what a run does with digits and over QP at a level of this shape."""
        return add_up(
            number * self._seconds(op, _reshape(part, shape))
            for (op, part), number in self.uses.switching[shape.q_limbs].items()
        )


def _cut_alike(chain: ModulusChain, special: tuple[int, ...], digits: Digits) -> ModulusChain:
    """A chain that cuts the keys of all levels so; its highest levels may lie outside the digits."""
    return replace(chain, special=special, digits=digits, low_special=(), gadgets=())


def _reshape(part: Shape, level: Shape) -> Shape:
    """The shape of an operation with the special primes and digits of a level, where it has any."""
    special, digits = part.p_limbs and level.p_limbs, part.digit_limbs and level.digit_limbs
    return replace(part, p_limbs=special, digit_limbs=digits)
