"""lw.from_sklearn: a fitted estimator of scikit-learn as a program."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from latticework.errors import DtypeError, RangeError, UnsupportedError, UserError
from latticework.frontend.recording.plain import plain_array
from latticework.ir.location import Loc
from latticework.models.evaluate_graph import run
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref, with_names
from latticework.models.model_refusals import refuse
from latticework.models.sklearn.estimator_semantics import CONVERTERS
from latticework.models.sklearn.fitted_step import Assembly, FittedStep, Reals, StepRefusedError, StepResult
from latticework.models.sklearn.fold import fold
from latticework.models.sklearn.method_program import SklearnProgram
from latticework.models.sklearn.owner_front import OWNER, X, owner_front
from latticework.models.sklearn.sklearn_threshold_margins import bound_doubt, sum_node
from latticework.models.sklearn.table import build, methods
from latticework.models.sklearn.tree_ensembles import READERS
from latticework.models.sklearn.vectorizers import VECTORIZERS
from latticework.models.trees.grid import FeatureGrid
from latticework.models.trees.signs import is_by_signs
from latticework.models.trees.threshold_margin import UNMARKED, with_doubts
from latticework.models.trees.tree_circuits import SUMS, TreeCircuit, warn_of_grid
from latticework.models.trees.tree_options import GIVE_SAMPLES, NO_SAMPLES, TreeChoice, Ways
from latticework.plan.client_steps import Finished, Given, Numbers
from latticework.plan.client_steps.run_steps import raw_array
from latticework.values.inputs.column_names import Names, in_order, names_of
from latticework.values.inputs.keras_models import find_keras_way
from latticework.values.inputs.reading_budget import DEFAULTS, MOST_SECRET, ReadingLimits, reading, told_as_damage

_SAMPLES = "from_sklearn: samples"
_LISTS = {"Pipeline": "steps", "FeatureUnion": "transformer_list"}  # of compositions that hand rows on as they are


@overload
def from_sklearn(
    fitted: Any, method: str | None = None, *, rows: int = 1, trees: Literal["sign"] | None = None,
    samples: Any = None, gap: float | None = None, mark: bool = True, limits: ReadingLimits = DEFAULTS,
) -> SklearnProgram: ...  # fmt: skip
@overload
def from_sklearn(
    fitted: Any, method: str | None = None, *, trees: Literal["exact"], samples: Any, digits: int = 8,
    limits: ReadingLimits = DEFAULTS,
) -> TreeCircuit: ...  # fmt: skip
def from_sklearn(
    fitted: Any, method: str | None = None, *, rows: int = 1, trees: Ways | None = None, samples: Any = None,
    gap: float | None = None, mark: bool = True, digits: int = 8, limits: ReadingLimits = DEFAULTS,
) -> SklearnProgram | TreeCircuit:  # fmt: skip
    """A method of a fitted estimator of scikit-learn as a program, with its weights.

    fitted  an estimator or a Pipeline; what it holds is read, scikit-learn is not run
    method  "predict", "predict_proba", "decision_function", "transform", ...; "predict" if not given, of transformers
            "transform"
    rows    how many are encrypted together; clients take any number, in runs of as many
    trees   "sign": trees compare by composite signs, approximately; "exact": a circuit for scheme="bfv", on digits of
            features that the owner encrypts
    samples (n, features), or a frame, like those of training, for trees: how far they keep from thresholds, or between
            which limits they lie, is public
    gap     of trees="sign", the distance from thresholds, as a part of a feature's range, from which on signs are
            right; as far as all samples keep if not given. `keeps_apart` tells the rows to calibrate with
    mark    of trees="sign", whether a second output tells how far comparisons are decided, so that bounds are larger,
            and decisions not certain, for rows closer to a threshold on their paths. False saves about a twentieth of
            the time, and then NOTHING TELLS that such a row's result is wrong
    digits  binary ones of each feature, of trees="exact": 2^digits steps over the range of samples
    limits  of what importing may take: `fitted` may be of a file (`load_skops`) that is not trusted
    returns a program on (rows, features), or a circuit on their digits, whose steps after decryption are `finish`;
            docs/what-can-i-run.md lists estimators. Of one fitted on a frame, columns of frames are taken by its names
    raises  UnsupportedError that names every step that cannot be computed encrypted, why, and what to do; UserError
            for what is no estimator
    """
    kind = type(fitted).__name__
    if way := find_keras_way(fitted):
        raise UserError(f"from_sklearn: {way}")
    if isinstance(fitted, type) or not hasattr(fitted, "get_params"):
        raise UserError(f"from_sklearn: {kind} is no fitted estimator; give one of scikit-learn, after fit")
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise UserError(f"from_sklearn: rows={rows!r}; give how many rows are encrypted together, 1 or more")
    TreeChoice("from_sklearn", trees, gap, mark, digits)  # checks them
    with told_as_damage(f"from_sklearn: {kind}"), reading(limits):
        return _program(fitted, method, rows, trees, samples, gap, mark, digits)


def _program(
    fitted: Any, method: str | None, rows: int, trees: Ways | None, samples: Any, gap: float | None, mark: bool,
    digits: int,
) -> SklearnProgram | TreeCircuit:  # fmt: skip
    kind, loc = type(fitted).__name__, Loc(type(fitted).__name__, 1)
    width = _width(fitted)
    names = feature_names(fitted, width)
    given = None if samples is None else _Samples(samples, width, names, is_part=_is_by_name(fitted))
    at = (lambda value, nodes: None) if given is None else partial(given.at, loc=loc)
    assembly = Assembly(build, methods, {X: width}, at, trees=trees, gap=gap)
    offered = methods(fitted)
    chosen = method or (offered[0] if offered else "predict")
    if trees == "exact":
        made = _exact(FittedStep(fitted, loc, assembly), given, digits, chosen, names or names_of(samples, _SAMPLES))
        if made is not None:
            return made
    result = _read(fitted, loc, assembly, chosen)
    if assembly.refusals:
        raise refuse(ModelGraph(kind, (), {}, (), (), loc), assembly.refusals)
    if not width:
        raise UnsupportedError(f"from_sklearn: {kind} has no n_features_in_; call fit first")
    by_name = bool(names) and _is_by_name(fitted)
    front = owner_front(assembly.nodes, [result.value], assembly.widths, by_name=by_name)
    nodes, outputs = (assembly.nodes, [result.value]) if front is None else (front.nodes, front.outputs)
    width = width if front is None else front.width
    if front is not None and outputs == [Ref(X)]:
        assembly.notes.append(f"{loc}: the owner computes all of it in the clear, and nothing is left for the server")
    if not 0 < rows * width <= MOST_SECRET:
        raise UserError(f"from_sklearn: {kind} takes {width} features in {rows} rows; at most {MOST_SECRET} numbers")
    nodes, doubt = fold(nodes, outputs), None
    if mark:
        marked = with_doubts("from_sklearn", nodes, outputs, bound_doubt, sum_node)
        nodes, doubt = list(marked.nodes), marked.doubts.get(outputs[0].name)
        outputs = [*outputs, marked.told] if marked.told else outputs
    elif any(map(is_by_signs, nodes)):
        assembly.notes.append(f"{loc}: {UNMARKED}")
    named, constants = with_names(nodes)
    graph = ModelGraph(kind, (GraphInput(X, (rows, width), loc),), constants, named, tuple(outputs), loc)
    names = names or names_of(samples, _SAMPLES)
    program = SklearnProgram(graph, chosen, result.finish, assembly.notes, doubt, names, front, by_name=by_name)
    program.classes = _classes(fitted)
    return program


def _exact(step: FittedStep, samples: _Samples | None, digits: int, method: str, names: Names) -> TreeCircuit | None:
    """A circuit of trees; None, with the refusals noted, where an estimator is no sum of trees."""
    if step.kind not in READERS:
        return None
    try:
        if samples is None:
            step.refuse(NO_SAMPLES, GIVE_SAMPLES)
        if method not in methods(step.estimator):
            step.refuse(f"its {method} cannot be imported", f"take {' or '.join(methods(step.estimator))}")
        read, finish = READERS[step.kind]
        trees = read(step)
        steps = finish(step, Ref("x"), method).finish
        results = (Finished("result", SUMS, steps),)
        circuit = TreeCircuit(step.kind, trees, FeatureGrid(samples.numbers, digits), results, step.loc, names)
    except StepRefusedError as error:
        step.assembly.refusals.append(error.refusal)
        raise refuse(ModelGraph(step.kind, (), {}, (), (), step.loc), step.assembly.refusals) from None
    warn_of_grid(circuit, samples.numbers, "from_sklearn")
    return circuit


def _read(fitted: Any, loc: Loc, assembly: Assembly, method: str) -> StepResult:
    x = Ref("x")
    try:
        return build(FittedStep(fitted, loc, assembly), x, method)
    except StepRefusedError as error:
        assembly.refusals.append(error.refusal)
        return StepResult(x)


def _innermost(fitted: Any) -> Any:
    """The estimator that is given the rows as they are: the first one of pipelines, unions and searches."""
    for _ in range(10):  # one in another
        listed = getattr(fitted, _LISTS.get(type(fitted).__name__, ""), None)
        found = getattr(fitted, "best_estimator_", None)
        if isinstance(listed, list) and listed:
            found = next((part for _, part in listed if not (part is None or isinstance(part, str))), None)
        if found is None:
            break
        fitted = found
    return fitted


def _is_by_name(fitted: Any) -> bool:
    """Whether an estimator takes columns of a frame by name, whatever others it has: all that reads the frame does."""
    kind, listed = type(fitted).__name__, getattr(fitted, _LISTS.get(type(fitted).__name__, ""), None)
    if kind == "FeatureUnion" and isinstance(listed, list):
        parts = [part for _, part in listed if part != "drop"]
        return bool(parts) and all(map(_is_by_name, parts))
    first = _first_part(fitted) if kind == "Pipeline" else getattr(fitted, "best_estimator_", None)
    return kind == "ColumnTransformer" if first is None else _is_by_name(first)


def _width(fitted: Any) -> int | None:
    """The number of features that an estimator takes; None where it does not say."""
    fitted = _innermost(fitted)
    if type(fitted).__name__ in VECTORIZERS:
        return 1
    try:
        return int(fitted.n_features_in_)
    except (AttributeError, TypeError, ValueError):
        return None


def feature_names(fitted: Any, width: int | None) -> Names:
    """Names of the features of an estimator that was fitted on a frame, in order; () where it does not say.

    Compositions that do not say it themselves have a part that is given the same features.
    """
    for _ in range(10):
        try:
            names = tuple(map(str, fitted.feature_names_in_))
        except (AttributeError, TypeError):
            names = ()
        part = _first_part(fitted)
        if part is None or (names and len(names) == width):
            return names if len(names) == width else ()
        fitted = part
    return ()


def _classes(fitted: Any) -> tuple[Any, ...]:
    """The classes of a classifier with one output; () of anything else."""
    classes = getattr(fitted, "classes_", None)
    return tuple(classes.tolist()) if isinstance(classes, np.ndarray) and classes.ndim == 1 else ()


def _first_part(fitted: Any) -> Any:
    """A part that is given what the whole is given; None where there is none."""
    steps = getattr(fitted, "steps", None) if type(fitted).__name__ == "Pipeline" else None
    if steps:
        return next((part for _, part in steps if not (part is None or isinstance(part, str))), None)
    for name in ("best_estimator_", "regressor_"):
        part = getattr(fitted, name, None)
        if hasattr(part, "get_params"):
            return part
    parts = getattr(fitted, "estimators_", None)
    first = parts[0] if isinstance(parts, list) and parts else None
    return first if hasattr(first, "get_params") else None


class _Samples:
    """Rows like those of training, checked: numbers, or cells for an estimator that encodes them."""

    def __init__(self, samples: Any, width: int | None, names: Names, *, is_part: bool) -> None:
        ordered = in_order(samples, names, _SAMPLES, is_part=is_part)
        self._error: UserError | None = None
        try:
            self._rows = plain_array(ordered, "from_sklearn")
        except (DtypeError, RangeError) as error:
            self._error = error
            self._rows = raw_array("from_sklearn", Given("samples", (1, width or 1), names), ordered)
        if self._rows.ndim == 1 and width == 1:
            self._rows = self._rows[:, None]
        if self._rows.ndim != 2 or self._rows.shape[1] != width or not len(self._rows):
            raise UserError(f"from_sklearn: samples of shape {self._rows.shape}; give (n, {width})")

    @property
    def numbers(self) -> Reals:
        """The rows, which have to be numbers."""
        if self._error is not None:
            raise self._error
        return self._rows

    def at(self, value: Ref, nodes: Sequence[ModelNode], loc: Loc) -> Reals:
        """Carry the rows to a value of a graph."""
        rows = self._rows if any(node.operator == OWNER for node in nodes) else self.numbers
        graph = ModelGraph("samples", (GraphInput(X, rows.shape, loc),), {}, tuple(nodes), (value,), loc)
        return Numbers().apply(run(graph, CONVERTERS, {X: rows})[0])
