"""Assessment of a compiled program's accuracy on data: it runs the modes in order and makes the report."""

from __future__ import annotations

import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy import StandIn
from latticework.compiler.assessment.decisions import RowDecisions, decisions_of, finished_results
from latticework.compiler.assessment.degree_steps import DegreeSteps
from latticework.compiler.assessment.execution_modes import ModeRun, run_encrypted, simulate_runs
from latticework.compiler.assessment.function_arguments import Arguments
from latticework.compiler.assessment.given_rows import DataRows
from latticework.compiler.assessment.loss_by_line import EFFECT_RUNS, SeenRanges, effects_of, lines_of, relative
from latticework.compiler.assessment.mode_results import Compared, differences, first_off, largest_difference
from latticework.compiler.assessment.out_of_distribution import (
    calibrated_columns,
    find_refused,
    refusals,
    unlike_columns,
)
from latticework.compiler.assessment.reference_run import ReferenceRun
from latticework.errors import RangeError, UserError
from latticework.errors.rounded_numbers import write_value
from latticework.frontend.calibration.calibration_data import Sample, choose_evenly
from latticework.ir import Module, Value, interpret
from latticework.model import AccuracyRequest
from latticework.plan.cost import CostModel
from latticework.plan.schema.schema import Plan
from latticework.progress import PATIENCE, ProgressBar
from latticework.report.accuracy_data import (
    APPROXIMATED,
    ENCRYPTED,
    FLOAT,
    SIMULATED,
    AccuracyColumn,
    LineOff,
    UnlikeData,
)
from latticework.report.accuracy_report import AccuracyReport
from latticework.runtime.client.client import Client
from latticework.runtime.events import Event, OnEvent
from latticework.runtime.server.server import Server

Array = npt.NDArray[Any]


class Assessment:
    """The data that a compilation keeps of a program, to say later how accurate it is.

    program    as it was traced: what it computes itself
    placed, positions  the module that runs beside the plan, and which of its values the plan knows
    stand_ins  its functions, and the polynomials in their places
    samples    of calibration, of which the ranges of columns are kept; none where no data were given
    classes    of a classifier, by which labels are taken
    """

    def __init__(
        self,
        program: Module,
        placed: Module,
        positions: Mapping[Value, int],
        stand_ins: Sequence[StandIn],
        samples: Sequence[Sample],
        classes: Sequence[Any] = (),
    ) -> None:
        self.classes = classes
        self.program = program
        self.mirror = ReferenceRun(placed, positions, stand_ins)
        self.calibrated = calibrated_columns(samples) if samples else {}

    def report(self, plan: Plan, costs: CostModel, client: Client, request: AccuracyRequest) -> AccuracyReport:
        """Run the assessment, as `Model.accuracy` documents."""
        limits = _whole("encrypted", request.num_encrypted), _whole("simulated", request.num_simulated)
        given = DataRows(plan.client, request.data, request.named)
        refused = find_refused(given, client)
        with ProgressBar(after=PATIENCE) if request.progress else nullcontext() as bar:
            listener = _listeners(bar, request.on_event)
            run = _AssessmentRun(self, plan, client, given, refused, costs, listener)
            return run.report(request.labels, *limits, request.seed, request.server)


def _whole(name: str, value: Any) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise UserError(f"accuracy: {name}={write_value(value)}; give a number of rows, 0 or more")
    return number


def _listeners(*listeners: OnEvent | None) -> OnEvent:
    known = [listener for listener in listeners if listener is not None]

    def tell(event: Event) -> None:
        for listener in known:
            listener(event)

    return tell


class _AssessmentRun:
    """One assessment, column after column.

    rows   of which the program itself has a result;  whole  its outputs of these rows
    """

    def __init__(
        self,
        assessment: Assessment,
        plan: Plan,
        client: Client,
        given: DataRows,
        refused: Mapping[int, str],
        costs: CostModel,
        tell: OnEvent,
    ) -> None:
        self.kept, self.mirror, self.plan, self.client, self.given = assessment, assessment.mirror, plan, client, given
        self.arguments, self.ranges, self.costs = Arguments(assessment.mirror, plan.client), SeenRanges(), costs
        self.refused, self.tell, self.started = refused, tell, time.monotonic()
        self.unlike: list[UnlikeData] = refusals(refused)
        self.outputs: dict[str, tuple[Array, ...]] = {}  # of columns, as they are decrypted
        self.rows, self.whole = self.exact()
        known = set(self.rows)
        self.accepted = [row for row in range(given.count) if row in known and row not in refused]

    def exact(self) -> tuple[list[int], tuple[Array, ...]]:
        """The program itself, of all rows that are numbers."""
        rows = [row for row in range(self.given.count) if row not in self.refused or self._is_computable(row)]
        runs, outputs = self.given.runs(rows), []
        for number, run in enumerate(runs):
            with np.errstate(all="ignore"):
                outputs.append(interpret(self.kept.program, run.inputs))
            self.note(FLOAT, number + 1, len(runs))
        if not rows:
            raise RangeError(f"accuracy: no row of the data can be computed; the first: {self.refused[0]}")
        whole = self.given.join_outputs(runs, outputs)
        lacking = np.zeros(len(rows), dtype=bool)
        for number, array in enumerate(whole):
            by_row = np.moveaxis(array, self.given.axis(number), 0).reshape(len(rows), -1)
            lacking |= ~np.isfinite(by_row).all(axis=1)
        if lacking.any():
            wrong = tuple(row for row, is_lacking in zip(rows, lacking, strict=True) if is_lacking)
            self.unlike.append(UnlikeData("not finite", wrong, "the program itself gives NaN or infinity"))
            whole = self.part(whole, np.flatnonzero(~lacking))
            rows = [row for row in rows if row not in wrong]
        return rows, whole

    def _is_computable(self, row: int) -> bool:
        try:
            return bool(self.given.runs([row]))
        except RangeError:
            return False

    def part(self, whole: Sequence[Array], places: Sequence[int] | Array) -> tuple[Array, ...]:
        """Outputs of some of the rows."""
        return tuple(np.take(array, places, self.given.axis(n)) for n, array in enumerate(whole))

    def of(self, rows: Sequence[int]) -> tuple[Array, ...]:
        """Outputs of the program itself, of these rows."""
        return self.part(self.whole, np.searchsorted(self.rows, rows))

    def note(self, mode: str, done: int, total: int) -> None:
        """Tell who listens how far it is."""
        now = time.monotonic()
        self.tell(Event(f"accuracy, {mode}", mode, done, total, -1, self.started, now))
        self.started = now

    def report(
        self, labels: Any, num_encrypted: int, num_simulated: int, seed: int, server: Server | None
    ) -> AccuracyReport:
        """All columns, and what is said of the data."""
        spec, given = self.plan.client, self.given
        decisions = decisions_of(spec, given, self.whole, self.rows, labels, self.kept.classes)
        columns = [self.column(FLOAT, decisions, self.rows, self.whole, None, None)]
        seen: list[Compared | None] = []
        for name, runs in (
            (APPROXIMATED, self.run_approximated()),
            (SIMULATED, self.run_simulated(self.some(num_simulated), seed)),
            (ENCRYPTED, self.run_encrypted(self.some(num_encrypted), server)),
        ):
            compared = self.compare(runs)
            seen.append(compared if compared.runs else None)
            if compared.runs:
                rows = [row for each in compared.runs for row in each.run.rows]
                outputs = given.join_outputs(
                    [each.run for each in compared.runs], [each.outputs for each in compared.runs]
                )
                off = first_off(compared, self.mirror)
                columns.append(self.column(name, decisions, rows, outputs, columns[-1], off))
        noise = self.noise_effect(columns)
        effects, effect_runs = self.effects(seen[0])
        lines = lines_of(
            self.mirror, self.plan, self.ranges, self.arguments, seen, effects, noise,
            DegreeSteps(self.plan, self.costs),
        )  # fmt: skip
        whole = sum(effects) + noise
        self.unlike += self.arguments.unlike()
        if self.accepted:
            runs_of_all = given.runs(self.accepted, self.client)
            self.unlike += unlike_columns(runs_of_all, self.kept.calibrated, self.accepted)
        return AccuracyReport(
            spec.name, spec.precision_bits, given.count, given.unit, decisions.measure, decisions.words,
            decisions.tolerance, tuple(columns), lines, noise, noise / whole if whole > 0.0 else 0.0, effect_runs,
            tuple(self.unlike), seed,
        )  # fmt: skip

    def effects(self, approximated: Compared | None) -> tuple[list[float], int]:
        """Measure the effect of each polynomial on results, in some runs and the one most off; count these runs."""
        if approximated is None or approximated.worst is None:
            return [0.0] * len(self.mirror.functions), 0
        runs = [approximated.runs[i].run for i in choose_evenly(len(approximated.runs), EFFECT_RUNS)]
        worst = approximated.worst[0].run
        runs += [] if any(run is worst for run in runs) else [worst]
        return effects_of(self.mirror, self.plan, runs, lambda done: self.note("effects", done, len(runs))), len(runs)

    def noise_effect(self, columns: Sequence[AccuracyColumn]) -> float:
        """Return how far modelled noise moves results from those of polynomials without noise."""
        by_name = {column.name: column for column in columns}
        if SIMULATED not in by_name:
            return 0.0
        noisy, clean = by_name[SIMULATED], by_name[APPROXIMATED]
        places = np.searchsorted(clean.rows, noisy.rows)
        return relative(self.plan, differences(self.outputs[SIMULATED], self.part(self.outputs[APPROXIMATED], places)))

    def some(self, number: int) -> list[int]:
        """`number` of the accepted rows, evenly spaced."""
        return [self.accepted[i] for i in choose_evenly(len(self.accepted), number)] if number and self.accepted else []

    def run_approximated(self) -> Iterator[ModeRun]:
        """All accepted rows, with polynomials."""
        runs = self.given.runs(self.accepted, self.client)
        for number, run in enumerate(runs):
            _, values = self.mirror.run(run.inputs, on_argument=self.arguments.of(run, exact=True))
            self.ranges.note(values)
            on_argument = self.arguments.of(run, exact=False)
            yield ModeRun(run, *self.mirror.run(run.inputs, exact=False, on_argument=on_argument))
            self.note(APPROXIMATED, number + 1, len(runs))

    def run_simulated(self, rows: Sequence[int], seed: int) -> Iterator[ModeRun]:
        """Some rows, with noise; those that cannot be simulated are told."""
        runs = self.given.runs(rows, self.client)
        for run in simulate_runs(
            self.plan, runs, np.random.default_rng(seed), lambda done: self.note(SIMULATED, done, len(runs))
        ):
            if isinstance(run, ModeRun):
                yield run
            else:
                where = "" if run.error.at is None else f" at {run.error.at}"
                message = f"left out of the simulated column{where}: {run.error.message}"
                self.unlike.append(UnlikeData("overflow", run.run.rows, message))

    def run_encrypted(self, rows: Sequence[int], server: Server | None) -> Iterator[ModeRun]:
        """Some rows, by a client and a server, which is made with new keys if there is none."""
        if not rows:
            return iter(())
        if not self.client._encryptors:
            self.client.keygen()
        given = Server(self.plan, self.client.public_keys()) if server is None else server
        return run_encrypted(
            self.plan, self.client, given, self.given, rows, lambda done: self.note(ENCRYPTED, done, len(rows))
        )

    def compare(self, runs: Iterable[ModeRun]) -> Compared:
        """These runs beside the program with exact functions."""
        result = Compared(self.plan)
        for each in runs:
            result.add(each, *self.mirror.run(each.run.inputs))
        return result

    def column(
        self, name: str, decisions: RowDecisions, rows: Sequence[int], outputs_here: tuple[Array, ...],
        before: AccuracyColumn | None, off: LineOff | None,
    ) -> AccuracyColumn:  # fmt: skip
        """The report column of one execution mode.

        outputs_here  its outputs of these rows
        """
        ours = self.of(rows)
        magnitudes = [output.magnitude for output in self.plan.client.outputs]
        errors = [largest_difference(a, b) for a, b in zip(outputs_here, ours, strict=True)]
        relative = [e / m if m else inf * bool(e) for e, m in zip(errors, magnitudes, strict=True)]
        agreement, differing = self.agreement(decisions, rows, outputs_here, before)
        self.outputs[name] = outputs_here
        results = tuple(finished_results(self.plan.client, outputs_here))
        for array in results:
            array.setflags(write=False)
        score, float_score = (decisions.score(rows, decisions.read(outputs)) for outputs in (outputs_here, ours))
        return AccuracyColumn(
            name, tuple(rows), score, float_score, agreement, differing, max(errors), max(relative), off, results
        )

    def agreement(
        self, decisions: RowDecisions, rows: Sequence[int], found: tuple[Array, ...], before: AccuracyColumn | None
    ) -> tuple[float | None, tuple[int, ...]]:
        """The share of decisions that are those of the column before, and the rows of others."""
        if before is None:
            return None, ()
        places = {row: place for place, row in enumerate(before.rows)}
        both = [(number, places[row]) for number, row in enumerate(rows) if row in places]
        if not both:
            return None, ()
        ours, others = zip(*both, strict=True)
        alike = decisions.alike(
            decisions.read(self.part(found, ours)), decisions.read(self.part(self.outputs[before.name], others))
        )
        off = ~alike.all(axis=1)
        return float(np.mean(alike)), tuple(rows[ours[number]] for number in np.flatnonzero(off))
