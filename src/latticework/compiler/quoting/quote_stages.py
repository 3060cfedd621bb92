"""Quote a program: sketched at three precisions, then compiled on few rows as far as the time goes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from latticework.compiler.array_programs import sample_program
from latticework.compiler.compile import read_options
from latticework.compiler.levels import spending
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.option_checks import check_options
from latticework.compiler.pipeline import Compilation, Task, lower_program, plan_lowered
from latticework.compiler.quoting.layer_costs import LayerCost, Place, name_dearest
from latticework.compiler.quoting.rows_taken import take_rows
from latticework.compiler.quoting.sketch import ProgramSketch, place_of
from latticework.compiler.quoting.time_limit import run_within
from latticework.errors import UserError
from latticework.frontend import Circuit, Program
from latticework.frontend.recording.tracing import user_line
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.machine.shown_prices import shown_costs
from latticework.report.notes import table_text
from latticework.report.quoted import COMPILED, SCALED, SKETCHED, Quote, QuotedPrice
from latticework.report.time_by_line import lines_of

SECONDS = 5.0
RESERVE = 0.1  # of the time, for what is under way when it is over
COMPILED_SKETCHES = 2.0  # times as long as a sketch compiling takes at least
LANELESS = 0.4  # of the time left, for a sketch of a circuit
LEAST_SECONDS = 0.1  # for a price by levels alone, when the time is over
APART_BITS, LEAST_BITS = 4, 3  # between precisions; of the lowest
Layers = dict[Place, LayerCost]
Draw = Callable[[ProgramSketch, float], tuple[QuotedPrice, Layers] | None]


def quote_program(
    program: Program | Circuit,
    options: dict[str, Any],
    *,
    seconds: float = SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> Quote:
    """Say what compiling a program with some options is expected to find.

    options  keywords of `lw.compile`
    seconds  that it may take, by the clock
    raises   UserError for options, and for programs that cannot be compiled whatever they cost
    """
    started = clock()
    given, _ = read_options(program, check_options(program, options))
    asked = take_rows(given)
    costs = shown_costs(asked.costs)

    with warnings.catch_warnings(), user_line(program.loc):
        warnings.simplefilter("ignore")
        quoting = _Quoting(program, asked, costs, seconds, started, clock)
        quoting.quote_asked()
        quoting.quote_others()
    prices, layers, rows = quoting.list_prices(), quoting.layers, quoting.rows
    operator_of = _operators(program)
    named = name_dearest(
        layers, operator_of, has_pools_option=hasattr(program, "graph"), rows=rows if asked.rows is None else 1
    )
    return Quote(program.name, prices, named, _notes(program, prices), table_text(costs), clock() - started)


def _precisions(options: CompileOptions) -> tuple[float, ...]:
    """The precision that is asked for, then a lower and a higher one."""
    bits = options.precision_bits
    lower = max(min(bits, LEAST_BITS), bits - APART_BITS)
    return tuple(dict.fromkeys((bits, lower, bits + APART_BITS)))


@dataclass
class _Quoting:
    """A quote in the making: sketches and prices by bits, and what is left of the time."""

    program: Program | Circuit
    options: CompileOptions
    costs: CostModel
    seconds: float
    started: float
    clock: Callable[[], float]
    layers: Layers = field(default_factory=dict)
    rows: int = 1
    sketches: dict[float, QuotedPrice] = field(default_factory=dict)
    prices: dict[float, QuotedPrice] = field(default_factory=dict)
    problem: UserError | None = None

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return (1.0 - RESERVE) * self.seconds - (self.clock() - self.started)

    @cached_property
    def _drawn(self) -> ProgramSketch:
        assert isinstance(self.program, Program), "circuits are not sketched"
        return ProgramSketch(sample_program(self.program, self.options), self.options, self.costs)

    def quote_asked(self) -> None:
        """Sketch the precision that is asked for; then compile at it, if that is done in time."""
        bits = self.options.precision_bits
        glances = [self._sketch(each, ProgramSketch.glance) for each in _precisions(self.options)]
        self.layers = self._sketch(bits) or glances[0]
        took = self.clock() - self.started
        if isinstance(self.program, Program) and self.sketches and COMPILED_SKETCHES * took > self.left:
            return
        found = self._compile(bits)
        if found is not None:
            self.layers, self.rows = found

    def quote_others(self) -> None:
        """Price the other precisions, by as much as the time allows; the sketches first, which others are scaled by."""
        first = self.options.precision_bits
        others = _precisions(self.options)[1:]
        for bits in others:
            self._sketch(bits)
        for bits in others:
            if first in self.prices:
                self._compile(bits)

    def list_prices(self) -> tuple[QuotedPrice, ...]:
        """All prices, that of the precision asked for first.

        raises  UserError where there is none, with the reason if it is known
        """
        first = self.options.precision_bits
        known, base = self.prices.get(first), self.sketches.get(first)
        found = []
        for bits in _precisions(self.options):
            sketch = self.sketches.get(bits)
            is_open = bits not in self.prices and (sketch is None or (sketch.seconds is None and not sketch.problem))
            if base is not None and is_open and isinstance(self.program, Program):
                sketch = self._extrapolate(bits, base) or sketch
            price = self.prices.get(bits) or (None if sketch is None else _scale(sketch, known, base))
            found += [] if price is None else [_with_reason(price, self.seconds)]
        if found:
            return tuple(found)
        raise self.problem or UserError(
            f"quote: {self.program.name} is neither sketched nor compiled in {self.seconds:g} s, so nothing is known "
            "of its cost; lw.quote(..., seconds=60) takes a longer look",
            at=self.program.loc,
        )

    def _extrapolate(self, bits: float, base: QuotedPrice) -> QuotedPrice | None:
        """A price by the levels alone that functions take; time, memory and keys grow as their square."""
        levels = run_within(LEAST_SECONDS, lambda: self._drawn.more_levels(base.precision_bits, bits), self.clock)
        if levels is None or base.levels is None or not (base.seconds and base.memory_bytes and base.key_bytes):
            return None
        grown = ((base.levels + levels + 2) / (base.levels + 2)) ** 2
        return replace(
            base, precision_bits=bits, how=SCALED, levels=base.levels + levels, seconds=grown * base.seconds,
            memory_bytes=round(grown * base.memory_bytes), key_bytes=round(grown * base.key_bytes),
        )  # fmt: skip

    def _sketch(self, bits: float, draw: Draw = ProgramSketch.price) -> Layers:
        """Sketch a program at a precision, or glance at it, which no circuit has layers for."""
        if self.left <= 0:
            return {}
        if not isinstance(self.program, Program):
            return self._sketch_circuit(bits) if draw is ProgramSketch.price else {}
        try:
            found = run_within(self.left, lambda: draw(self._drawn, bits), self.clock)
        except UserError as error:
            self.problem = error
            return {}
        if found is None:
            return {}
        self.sketches[bits] = found[0]
        return found[1]

    def _sketch_circuit(self, bits: float) -> Layers:
        """Compile a circuit without a search for lanes, which takes a fifth of the time."""
        if self.options.expert.algorithm != "search":
            return {}
        task = Task(self.program, self.options.override(precision_bits=bits, algorithm="scalar"))
        try:
            made = run_within(LANELESS * self.left, lambda: plan_lowered(lower_program(task)), self.clock)
        except UserError as error:
            self.problem = error
            return {}
        if made is None:
            return {}
        price, layers, _ = _read_plan(made, bits, self.costs)
        self.sketches[bits] = replace(price, how=SKETCHED)
        return layers

    def _compile(self, bits: float) -> tuple[Layers, int] | None:
        """Compile a program at a precision; its layers, and rows that fit beside each other."""
        if self.left <= 0:
            return None
        options = self.options.override(precision_bits=bits)
        task = Task(self.program, options)
        try:
            made = run_within(self.left, lambda: plan_lowered(lower_program(task)), self.clock)
        except UserError as error:
            if not self.sketches:  # it is no question of cost
                raise
            self.prices[bits] = replace(self.sketches.get(bits) or QuotedPrice(bits, SKETCHED), problem=error.message)
            return None
        if made is None:
            return None
        self.prices[bits], layers, rows = _read_plan(made, bits, self.costs)
        return layers, rows


def _read_plan(made: Compilation, bits: float, costs: CostModel) -> tuple[QuotedPrice, Layers, int]:
    """The price of a plan, its lines, and rows of it that fit beside each other."""
    plan, vectors = made.plan, made.vectors
    assert plan is not None and vectors is not None
    cost, chain, keys = estimate(plan, costs), plan.chain, plan.client.manifest
    levels = chain.main.top if chain.bootstrap is None else chain.main.top - chain.floor
    price = QuotedPrice(
        bits, COMPILED, levels, cost.counts.bootstraps, chain.ring_degree, cost.warm_seconds, cost.memory.total,
        keys.total_stored_bytes,
    )  # fmt: skip
    layers: Layers = {}
    for line in lines_of(plan, cost):
        layers.setdefault((line.where, line.text.strip()), LayerCost()).seconds += line.seconds
    for spent in spending(vectors.flat or vectors.module):
        name = str(spent.loc.file).replace(chr(92), "/").rsplit("/", 1)[-1]
        place = f"{name}:{spent.loc.line}", spent.loc.text.strip()
        if place in layers:
            layers[place].levels += spent.levels
    for stand_in in made.lowering.traced.stand_ins:
        place = place_of(stand_in.use.op)
        if place in layers:
            layers[place].functions.append(stand_in.use.function.name)
            layers[place].has_kinks |= stand_in.use.function.pieces is not None or bool(stand_in.use.function.gap)
    return price, layers, max(1, chain.slots // vectors.slots)


def _with_reason(price: QuotedPrice, seconds: float) -> QuotedPrice:
    """A price that says why it has no time."""
    if price.seconds is not None or price.problem:
        return price
    said = f"the layouts of its layers were not found in {seconds:g} s; lw.quote(..., seconds=60) takes a longer look"
    return replace(price, problem=said)


def _scale(sketched: QuotedPrice, first: QuotedPrice | None, base: QuotedPrice | None) -> QuotedPrice:
    """A sketch, brought to what was compiled at another precision as the sketch of that is."""
    if first is None or first.how != COMPILED or base is None or not base.seconds or not sketched.seconds:
        return sketched
    assert first.seconds is not None and first.memory_bytes is not None and first.key_bytes is not None
    assert base.memory_bytes and sketched.memory_bytes
    keys = sketched.key_bytes  # of programs that need none 0, in some of these sketches or in all
    return replace(
        sketched,
        how=SCALED,
        seconds=first.seconds * sketched.seconds / base.seconds,
        memory_bytes=round(first.memory_bytes * sketched.memory_bytes / base.memory_bytes),
        key_bytes=round(first.key_bytes * keys / base.key_bytes) if keys and base.key_bytes else keys,
    )


def _operators(program: Program | Circuit) -> Callable[[Place], str]:
    """A function that tells the operator of an imported model at a place."""
    graph = getattr(program, "graph", None)
    nodes = () if graph is None else graph.nodes
    names = {(f"{str(n.loc.file).rsplit('/', 1)[-1]}:{n.loc.line}", n.loc.text.strip()): n.operator for n in nodes}
    return lambda place: names.get(place, "")


def _notes(program: Program | Circuit, prices: tuple[QuotedPrice, ...]) -> tuple[str, ...]:
    """Notes on how good the numbers are."""
    notes = ["Later runs are quoted: the first also encodes constants. Compiling on all rows may find other ranges."]
    if isinstance(program, Circuit) and prices[0].how == SKETCHED:
        notes.append(
            "Compiling the circuit was stopped. What is marked with about holds each number in ciphertexts of its own "
            '(algorithm="scalar"); compiling searches for less, and may find several times less.'
        )
    elif any(price.how != COMPILED for price in prices):
        notes.append("What is marked with about was not compiled, and may be off by a factor of two.")
    if prices[0].seconds is None:
        notes.append("Only levels are known in the time there was: shares are of levels.")
    if any(price.bootstraps for price in prices):
        notes.append("It bootstraps, which takes seconds each and keys of gigabytes; docs/bootstrapping.md.")
    return tuple(notes)
