"""Prices as a domain: every instruction once, with all its runs together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.trip_counts import Once, TripCounts
from latticework.plan.analysis.weighted_sums import weighted_sums
from latticework.plan.cost import CostModel, Shape, Work, work
from latticework.plan.cost.operation_work import WEIGHTED_SUM
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, KeyKind, Kind, PlainKind
from latticework.plan.instructions.walk import Site
from latticework.plan.instructions.work_units import Part
from latticework.plan.schema.bootstraps import bootstraps_of
from latticework.plan.schema.schema import Plan
from latticework.values.sums import add_up

ENCODE = "encode"  # what steps are called that only the first run has


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of the code in the order it first runs, with all its runs together.

    op       its name; encodings that it makes have another step before it
    level    of its result; None where it has none
    seconds  predicted for all runs; an encoding is counted once, for it is cached
    location  of the instruction, or of the call that it is run by
    counts   operations of all runs, by the names of `OperationCounts`;  keys  products with each key, by its number
    trips    iterations of the loops around it
    bootstrap  number of the block of the bootstrap that it is a step of, or calls
    """

    block: int
    index: int
    op: str
    location: int
    level: int | None
    seconds: float
    work: Work
    counts: Mapping[str, int]
    keys: Mapping[int, int]
    trips: int = 1
    bootstrap: int | None = None

    @property
    def is_encoding(self) -> bool:
        """Whether only the first run has it."""
        return self.op == ENCODE


class StepPrices(Once):
    """Prices each instruction by how often it runs, and a bootstrap as a whole; of two branches it counts the slower.

    constants  rows of all different encodings, by number and type
    """

    def __init__(self, plan: Plan, trip_counts: TripCounts, model: CostModel) -> None:
        super().__init__(plan, trip_counts)
        self.model = model
        self.steps: list[Step] = []
        self.constants: dict[tuple[tuple[int, ...], Kind], int] = {}
        self._prices: dict[tuple[str, Shape], tuple[float, Work]] = {}
        self._encoded: set[tuple[tuple[int, ...], Kind]] = set()
        self._bootstraps = bootstraps_of(plan, plan.chain)
        self._known_calls: dict[tuple[Any, ...], tuple[list[Step], list[Any]]] = {}  # (block, times, operands) -> steps
        self._sums = weighted_sums(plan)
        self._line: int | None = None  # location of the call that is followed, the outermost one

    def visit(self, site: Site) -> None:
        """One instruction, priced; its encodings before it."""
        record, use = site.record, site.use
        parts = record.parts(use)
        terms = self._sums.get((site.block, site.index))
        if terms is not None:  # the last step of a linear combination computes all of it
            parts = [replace(p, operation=WEIGHTED_SUM, shape=replace(p.shape, terms=terms)) for p in parts if terms]
        encodings = [part for part in parts if part.once]
        if encodings:
            paid = self._first(site, encodings)
            counts = {"encodes": paid * sum(part.number for part in encodings)}
            self.steps.append(self._step(site, ENCODE, encodings, paid, counts, {}))
        repeated = [part for part in parts if not part.once]
        if repeated or not encodings:
            counts = {name: number * self.times for name, number in record.counts(use).items()}
            keys: Counter[int] = Counter()
            for place, number in record.keys(use).items():
                key = self.plan.kind(site.instruction.operands[place].register)
                assert isinstance(key, KeyKind)
                keys[key.key] += number * self.times
            self.steps.append(self._step(site, record.name, repeated, self.times, counts, keys))

    def branch(
        self, site: Site, _condition: int | None, then: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]
    ) -> Sequence[None]:
        """Follow both branches, and keep the slower one."""
        before, taken = self.steps, []
        for follow in (then, otherwise):
            self.steps = []
            follow()
            taken.append(self.steps)
        self.steps = before + max(taken, key=lambda steps: add_up(s.seconds for s in steps))
        return [None] * len(site.instruction.results)

    def call(self, site: Site, operands: Sequence[Any], follow: Callable[[], list[Any]]) -> Sequence[Any]:
        """Book what a call spends to its caller. The block is followed until all constants in it are encoded; later
        calls repeat what it took then."""
        number, start = site.instruction.immediate[0], len(self.steps)
        key, outside = (number, self.times, tuple(operands)), self._line
        line = site.instruction.location if outside is None else outside
        if key in self._known_calls:
            inside, results = self._known_calls[key]
            inside = [replace(step, location=line) for step in inside]
        else:
            self._line = line
            results = follow()
            self._line = outside
            inside = self._price_call(number, self.steps[start:])
            if not any(step.is_encoding and step.counts["encodes"] for step in inside):
                self._known_calls[key] = inside, results
        self.steps[start:] = inside
        if number in self._bootstraps:
            counts = {"bootstraps": self._bootstraps[number].count * self.times}
            self.steps[start - 1] = replace(self.steps[start - 1], counts=counts, bootstrap=number)
        return results

    def _price_call(self, number: int, inside: list[Step]) -> list[Step]:
        """The steps of a called block, those of a bootstrap at its own price: it takes longer than they add up to."""
        kind = self._bootstraps.get(number)
        if kind is None:
            return inside
        added_up = add_up(step.seconds for step in inside if not step.is_encoding)
        factor = 1.0
        if added_up > 0:
            one = added_up / (self.times * kind.count * kind.iterations)
            factor = self.times / added_up * self.model.bootstrap_seconds(
                self.plan.chain, kind.target, kind.slots, lambda: one, real=kind.real, count=kind.count,
                iterations=kind.iterations, in_proportion=True,
            )  # fmt: skip
        factors = [1.0 if step.is_encoding else factor for step in inside]
        return [
            replace(step, seconds=by * step.seconds, bootstrap=number) for step, by in zip(inside, factors, strict=True)
        ]

    def _first(self, site: Site, encodings: Sequence[Part]) -> int:
        """1 if this is where a constant is encoded first."""
        constant = (site.use.immediate, site.use.stated)
        self.constants[constant] = sum(part.shape.rows * part.number for part in encodings)
        if self.times == 0 or constant in self._encoded:
            return 0
        self._encoded.add(constant)
        return 1

    def _step(
        self, site: Site, op: str, parts: Sequence[Part], times: int, counts: Mapping[str, int], keys: Mapping[int, int]
    ) -> Step:
        """Return the step of an instruction that runs `times` times and consists of these parts."""
        units: defaultdict[str, float] = defaultdict(float)
        seconds = 0.0
        for part in parts:
            number = part.number * times
            price, needed = self._price(part.operation, part.shape)
            seconds += number * price
            for unit, count in needed.items():
                units[unit] += count * number
        location = site.instruction.location if self._line is None else self._line
        place = site.block, site.index, op, location, _level(site)
        return Step(*place, seconds, dict(units), counts, keys, self.times)

    def _price(self, op: str, shape: Shape) -> tuple[float, Work]:
        """Seconds of one operation, and its units."""
        if (op, shape) not in self._prices:
            self._prices[op, shape] = self.model.seconds(op, shape), work(op, shape)
        return self._prices[op, shape]


def _level(site: Site) -> int | None:
    """Level of the result."""
    for kind in site.use.results:
        if isinstance(kind, CipherKind | DigitsKind | PlainKind):
            return kind.level
    return None
