"""Decisions made of results, row by row, and their scores: by the owner's steps where they decide, else by numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.accuracy.class_labels import number_labels
from latticework.compiler.accuracy.judging import ACCURACY, R2, Judge, judge_of, judge_without_labels
from latticework.compiler.assessment.given_rows import DataRows
from latticework.errors import RangeError, ShapeError
from latticework.errors.rounded_numbers import write_value
from latticework.errors.shown import count_noun
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.run_steps import finish
from latticework.plan.client_steps.stages import Finished
from latticework.plan.schema.schema import ClientSpec
from latticework.values.inputs.foreign_arrays import in_numpy, is_tensor

Array = npt.NDArray[Any]
Joined = Sequence[Array]  # every output, of all rows


@dataclass(frozen=True)
class RowDecisions:
    """The rule by which the results of rows are read and compared.

    measure    of the score; None without labels
    words      what is compared
    tolerance  within which numbers agree; None where classes are compared
    read       from all outputs to an array (rows, ...) of decisions, or numbers
    score      of decisions of rows with these labels
    labels     (rows, ...)
    """

    measure: str | None
    words: str
    tolerance: float | None
    read: Callable[[Joined], Array]
    scored: Callable[[Array, Array], float | None] | None = None
    labels: Array | None = None

    def score(self, rows: Sequence[int], decided: Array) -> float | None:
        """Score of the decisions of these rows of the data."""
        if self.scored is None or self.labels is None:
            return None
        return self.scored(self.labels[list(rows)], decided)

    def alike(self, one: Array, other: Array) -> npt.NDArray[np.bool_]:
        """Return which decisions of the same rows are equal, (rows, decisions of one)."""
        a, b = (each.reshape(len(each), -1) for each in (one, other))
        return np.asarray(a == b if self.tolerance is None else np.abs(a - b) <= self.tolerance)


def decisions_of(
    spec: ClientSpec, given: DataRows, exact: Joined, rows: Sequence[int], labels: Any, classes: Sequence[Any] = ()
) -> RowDecisions:  # fmt: skip
    """Choose how this program's results become decisions, by its owner's steps, its labels or its results.

    exact   results of the program itself, of these rows
    labels  one or more a row of all the data; None
    classes of the estimator, whose labels are taken as it has them
    raises  ShapeError, DtypeError or RangeError for labels that do not fit
    """
    deciding = None if spec.owner is None else next((r for r in spec.owner.after if _decides(r)), None)
    labels = labels if deciding is not None else number_labels(labels, classes)
    known = None if labels is None else _by_row(given, np.asarray(in_numpy(labels) if is_tensor(labels) else labels))
    if deciding is not None:
        return _by_owner(spec, given, deciding, exact, known)
    finished = None if spec.owner is None or not spec.owner.after else spec.owner.after[0]

    def number(outputs: Joined) -> Array:
        if finished is None:
            return np.moveaxis(outputs[0], given.axis(0), 0)
        return _finish_result(spec, given, finished, outputs)

    results = number(exact)
    if known is None:
        judge = judge_without_labels(results)
    else:
        ours = known[list(rows)]
        judge, _ = judge_of(ours.reshape(-1, *ours.shape[2:]), results)
    tolerance = None
    if judge.measure == R2:
        largest = spec.outputs[0].magnitude if finished is None else float(np.max(np.abs(results), initial=0.0))
        tolerance = 2.0**-spec.precision_bits * largest
    per_row = results[0].size // judge.each if len(results) else 1

    def read(outputs: Joined) -> Array:
        numbers = number(outputs)
        return judge.decide(numbers).reshape(len(numbers), per_row, -1)

    def score(labels: Array, decided: Array) -> float | None:
        return judge.score_decisions(labels.reshape(-1, *labels.shape[2:]), decided)

    return RowDecisions(
        None if known is None else judge.measure, _words(judge, tolerance, spec), tolerance, read,
        None if known is None else score, known,
    )  # fmt: skip


def _by_owner(spec: ClientSpec, given: DataRows, result: Finished, exact: Joined, known: Array | None) -> RowDecisions:
    """Classes by their names, as the owner's steps give them."""
    names = np.unique(_finish_result(spec, given, result, exact).astype(str))
    if known is not None and not np.isin(known.astype(str), names).any():
        raise RangeError(
            f"labels hold {write_value(known.reshape(-1)[0].item())}, and none of the classes that the program gives "
            f"on these data ({', '.join(map(str, names[:8]))}); give labels by those names"
        )

    def read(outputs: Joined) -> Array:
        return _finish_result(spec, given, result, outputs)

    def score(labels: Array, decided: Array) -> float:
        return float(np.mean(labels.reshape(-1).astype(str) == decided.reshape(-1).astype(str)))

    words = f"{result.name} of the owner's steps ({result.steps[-1].words()})"
    has_labels = known is not None
    return RowDecisions(ACCURACY if has_labels else None, words, None, read, score if has_labels else None, known)


def finished_results(spec: ClientSpec, outputs: Joined) -> list[Array]:
    """Apply the owner's steps to decrypted outputs: numbers, or classes by their names."""
    if spec.owner is None or not spec.owner.after:
        return list(outputs)
    by_name = dict(zip((o.name for o in spec.outputs), outputs, strict=True))
    return [np.array(finish(result, by_name[result.output], 0.0).value) for result in spec.owner.after]


def _decides(result: Finished) -> bool:
    return any(step.DECIDES for step in result.steps)


def _finish_result(spec: ClientSpec, given: DataRows, result: Finished, outputs: Joined) -> Array:
    """A result of the owner's, its rows first."""
    number = [o.name for o in spec.outputs].index(result.output)
    values = np.asarray(finish(result, outputs[number], 0.0).value)
    return np.moveaxis(values, given.axis(number), 0) if given.axis(number) < values.ndim else values


def _by_row(given: DataRows, labels: Array) -> Array:
    """Labels as (rows, labels of a row, ...)."""
    if labels.ndim == 0 or not len(labels) or len(labels) % given.count:
        raise ShapeError(
            f"labels have shape {labels.shape}, and the data have {count_noun(given.count, given.unit)}: give one "
            "label, or equally many, for each"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.argwhere(~np.isfinite(labels))[0, 0]) * given.count // len(labels)
        raise RangeError(
            f"labels hold NaN or infinity, first for {given.unit} {row}: leave such rows out, of the data too"
        )
    return labels.reshape(given.count, len(labels) // given.count, *labels.shape[1:])


def _words(judge: Judge, tolerance: float | None, spec: ClientSpec) -> str:
    if tolerance is not None:
        return f"numbers within {tolerance:.2g} of each other, 2^-{spec.precision_bits:g} of the largest"
    if judge.threshold is not None:
        return f"whether a number is above {judge.threshold:g}"
    return f"the place of the largest of {judge.each} numbers"
