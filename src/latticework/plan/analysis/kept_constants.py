"""Encoded constants under a budget: kept whole, kept as rounded coefficients, or made anew for every use.

What the core's provider keeps once it has seen every constant: first of all rounded coefficients, equal ones once, in
the order of first uses as far as they fit; then whole plaintexts of those, what a run uses most often first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.coefficient_widths import WIDTHS, WIDTHS_ON_DEVICE, SlotMeans, width_of
from latticework.plan.analysis.trip_counts import Once, TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.instructions.value_shapes import WORD_BYTES, row_bytes
from latticework.plan.instructions.walk import Site
from latticework.plan.instructions.work_units import Part
from latticework.plan.schema.schema import Plan

LEAST_BYTES = 512  # of any piece of memory, in the core's accounts


@dataclass(slots=True)
class Encoding:
    """A constant in one form; of a block map each product is a piece that is kept or not by itself.

    identity       of its coefficients, which other forms may share
    rounded_bytes  of the coefficients of a piece;  whole_bytes  of its plaintexts
    round_seconds  from values to coefficients, a piece;  lift_seconds  from there to plaintexts
    uses           in a run;  constants  that it is of, by number
    """

    identity: tuple[Any, ...]
    pieces: int
    rounded_bytes: int
    whole_bytes: int
    round_seconds: float
    lift_seconds: float
    uses: int = 0
    constants: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptConstants:
    """The constants that a budget keeps.

    whole, rounded, anew  how many pieces are kept in each mode; anew: not at all
    bytes    that are kept;  whole_bytes  of these, whole plaintexts
    seconds  of a run, for making what is not kept whole
    """

    whole: int
    rounded: int
    anew: int
    bytes: int
    whole_bytes: int
    seconds: float


def encodings(
    plan: Plan, trip_counts: TripCounts, model: CostModel, *, on_device: bool = False
) -> tuple[Encoding, ...]:
    """Every encoding of a run, in the order of first uses.

    on_device  what is kept is in the memory of a device, where coefficients of real slots are not halved
    """
    domain = _Encodings(plan, trip_counts, model, on_device=on_device)
    domain.follow()
    return tuple(domain.known.values())


def keep_constants(encodings: Sequence[Encoding], budget_bytes: int) -> KeptConstants:
    """Return which of `encodings` stay in memory under a budget."""
    free_bytes, rounded = budget_bytes, dict[tuple[Any, ...], int]()
    for one in encodings:
        if one.identity not in rounded:
            rounded[one.identity] = min(one.pieces, free_bytes // one.rounded_bytes)
            free_bytes -= rounded[one.identity] * one.rounded_bytes
    coefficients, seconds = budget_bytes - free_bytes, 0.0
    whole = lifted = anew = 0
    for one in sorted(encodings, key=lambda one: -one.uses):
        known = rounded[one.identity]
        num_whole = min(known, free_bytes // one.whole_bytes)
        free_bytes -= num_whole * one.whole_bytes
        whole, lifted, anew = whole + num_whole, lifted + known - num_whole, anew + one.pieces - known
        seconds += one.uses * (one.pieces - num_whole) * one.lift_seconds
        seconds += one.uses * (one.pieces - known) * one.round_seconds
    return KeptConstants(
        whole, lifted, anew, budget_bytes - free_bytes, budget_bytes - free_bytes - coefficients, seconds
    )


def all_bytes(encodings: Sequence[Encoding]) -> tuple[int, int]:
    """(bytes of all rounded coefficients, of all plaintexts)."""
    coefficients = {one.identity: one.pieces * one.rounded_bytes for one in encodings}
    return sum(coefficients.values()), sum(one.pieces * one.whole_bytes for one in encodings)


def often_used_bytes(encodings: Sequence[Encoding], most: int) -> list[tuple[int, int]]:
    """Return uses in a run that plaintexts have, the `most` largest such numbers above one, each with the bytes of all
    plaintexts that have as many or more."""
    counts = sorted({one.uses for one in encodings if one.uses > 1}, reverse=True)[:most]
    return [(count, sum(one.pieces * one.whole_bytes for one in encodings if one.uses >= count)) for count in counts]


def least_uses_kept(encodings: Sequence[Encoding], budget_bytes: int) -> int:
    """Return how often a run uses the plaintexts that are kept whole, at least."""
    counts = often_used_bytes(encodings, len(encodings))
    free_bytes = budget_bytes - all_bytes(encodings)[0]
    full = [count for count, whole in counts if whole >= free_bytes]
    return full[0] if full else 0


def uses_of_constants(plan: Plan, encodings: Sequence[Encoding], least: int = 0) -> list[float]:
    """Return how often a run encodes with each constant, by its number: what keeping it whole spares, by its bytes.

    least  uses, below which it counts as none
    """
    uses = [0.0] * len(plan.constants)
    for one in encodings:
        for number in one.constants:
            uses[number] = max(uses[number], float(one.uses) if one.uses >= least else 0.0)
    return uses


class _Encodings(Once):
    """Listens to instructions that encode."""

    def __init__(self, plan: Plan, trip_counts: TripCounts, model: CostModel, *, on_device: bool) -> None:
        super().__init__(plan, trip_counts)
        self.model = model
        self.is_ckks = plan.chain.scheme == "ckks"
        self.may_halve = not on_device and self.is_ckks
        self.widths = WIDTHS_ON_DEVICE if on_device else WIDTHS
        self.means = SlotMeans(plan)
        self.known: dict[tuple[Any, ...], Encoding] = {}

    def visit(self, site: Site) -> None:
        """Note the encodings of an instruction, as often as it runs."""
        for part in site.record.parts(site.use):
            if part.once:
                name = site.use.immediate, site.use.stated
                if name not in self.known:
                    is_map = site.record.signature.has_map
                    scale = site.use.stated.scale / (site.use.operands[0].scale if is_map else 1.0)
                    self.known[name] = self._encoding(name, part, scale, is_map=is_map)
                self.known[name].uses += self.times

    def _encoding(self, name: tuple[Any, ...], part: Part, scale: float, *, is_map: bool) -> Encoding:
        """Coefficients are those at one level as at another; there are N, or as many as the slots ask for.

        Of real slots one half is minus the other: a host keeps half of them and transforms a half.
        """
        immediate, kind = name
        of = immediate[:1] if is_map else immediate  # what else a map's say is no constant
        halves = 2 if self.may_halve and not any(self.plan.constants[number].is_complex for number in of) else 1
        chain, shape = self.plan.chain, part.shape
        width = width_of(scale * max(map(self.means.bound, of)), self.widths) if self.is_ckks else WORD_BYTES
        pieces, vectors = (part.number, 1) if is_map else (1, part.number)
        lift = self.model.work_seconds({"ntt": shape.rows, "pointwise": shape.rows}, chain.ring_degree)
        total = self.model.seconds(part.operation, shape)
        return Encoding(
            (immediate, replace(kind, level=0, track=0, basis=0)),
            pieces,
            vectors * max(LEAST_BYTES, min(chain.ring_degree, 2 * shape.slots) * width // halves),
            vectors * shape.rows * row_bytes(chain),
            vectors * max(0.0, total - lift),
            vectors * min(lift, total) / halves,
            constants=of,
        )
