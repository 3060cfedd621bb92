"""lw.from_sklearn: a fitted estimator of scikit-learn as a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UnsupportedError, UserError
from latticework.frontend.plain import plain_array
from latticework.importers.evaluate import run
from latticework.importers.graph import Graph, GraphInput, Node, Ref
from latticework.importers.program import ImportedProgram
from latticework.importers.refusals import refuse
from latticework.importers.sklearn_door.finishing import FinishStep, finish
from latticework.importers.sklearn_door.fold import fold
from latticework.importers.sklearn_door.meanings import CONVERTERS
from latticework.importers.sklearn_door.steps import Assembly, FittedStep, Reals, StepRefusedError, StepResult
from latticework.importers.sklearn_door.table import build, methods
from latticework.importers.sklearn_door.tree_signs import MARGIN_OPTIONS, margins
from latticework.ir.location import Loc


class SklearnProgram(ImportedProgram):
    """A method of a fitted estimator as a program.

    Called with arrays (rows, features) it computes what is decrypted: scores, sums, features. `finished` makes of that
    what the method returns: classes by the largest score, probabilities by a softmax, and so on, which the owner of
    the data does exactly and for nothing.

    method  of the estimator
    finish  steps after decryption, as plain data: a name and public numbers each. They tell the names of the classes,
            and of some targets how they are scaled, and no weights
    """

    def __init__(self, graph: Graph, method: str, steps: tuple[FinishStep, ...], notes: Sequence[str]) -> None:
        super().__init__(graph, CONVERTERS, tuple(notes))
        self.method, self.finish = method, steps

    def finished(self, values: Any) -> npt.NDArray[Any]:
        """What the method of the estimator returns, of what this program computes or of what was decrypted."""
        found: npt.NDArray[Any] = finish(values, self.finish)
        return found

    def keeps_apart(self, x: Any, *, everywhere: bool = True) -> npt.NDArray[np.bool_]:
        """Which rows (n, features) keep the gap of signs from thresholds of trees; all where there are no trees.

        everywhere  from all thresholds, as data to calibrate with have to; or else from those on their own paths: then
                    results of these rows are right
        """
        given = plain_array(x, "keeps_apart")
        kept = np.ones(len(given), bool)
        nodes = self.graph.nodes
        for number, node in enumerate(nodes):
            if node.operator == "trees":
                source = GraphInput(self.graph.inputs[0].name, given.shape, self.loc)
                before = Graph("x", (source,), self.graph.constants, nodes[:number], (node.args[0],), self.loc)
                (values,) = run(before, CONVERTERS, {source.name: given})
                own, all_of_them = margins(values, *(self._option(node, name) for name in MARGIN_OPTIONS))
                kept &= (all_of_them if everywhere else own) >= self._option(node, "gap")
        return kept

    def _option(self, node: Node, name: str) -> Any:
        value = node.options[name]
        return self.graph.constants[value.name] if isinstance(value, Ref) else value


def from_sklearn(
    fitted: Any,
    method: str | None = None,
    *,
    rows: int = 1,
    trees: str | None = None,
    samples: Any = None,
    gap: float | None = None,
) -> SklearnProgram:
    """A method of a fitted estimator of scikit-learn as a program, with its weights.

    fitted  an estimator or a Pipeline; what it holds is read, scikit-learn is not run
    method  "predict", "predict_proba", "decision_function", "transform", ...; "predict" if not given, of transformers
            "transform"
    rows    how many are encrypted together; clients take any number, in runs of as many
    trees   "sign": trees compare by composite signs, approximately, with gaps that `samples` tell;
    samples (n, features) like those of training: signs are right for rows that keep as far from thresholds as these
    gap     of trees="sign", the distance from thresholds, as a part of a feature's range, from which on signs are
            right; as far as all samples keep if not given. `keeps_apart` tells the rows to calibrate with
    returns a program on (rows, features), whose steps after decryption are `finish`; docs/models.md lists estimators
    raises  UnsupportedError that names every step that cannot be computed encrypted, why, and what to do; UserError
            for what is no estimator
    """
    kind = type(fitted).__name__
    if isinstance(fitted, type) or not hasattr(fitted, "get_params"):
        raise UserError(f"from_sklearn: {kind} is no fitted estimator; give one of scikit-learn, after fit")
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1:
        raise UserError(f"from_sklearn: rows={rows!r}; give how many rows are encrypted together, 1 or more")
    loc = Loc(kind, 1)
    width = _width(fitted)
    if gap is not None and not 0 < gap < 1:
        raise UserError(f"from_sklearn: gap={gap!r}; give a part of the range of features, such as 2**-10")
    if trees not in (None, "sign"):
        raise UserError(f'from_sklearn: trees={trees!r}; give "sign"')
    assembly = Assembly(build, methods, {"x": width}, _samples_of(samples, width, loc), trees=trees, gap=gap)
    offered = methods(fitted)
    chosen = method or (offered[0] if offered else "predict")
    result = _read(fitted, loc, assembly, chosen)
    if assembly.refusals:
        raise refuse(Graph(kind, (), {}, (), (), loc), assembly.refusals)
    if not width:
        raise UnsupportedError(f"from_sklearn: {kind} has no n_features_in_; call fit first")
    nodes, constants = _with_names(fold(assembly.nodes, [result.value]))
    given = (GraphInput("x", (rows, width), loc),)
    graph = Graph(kind, given, constants, tuple(nodes), (result.value,), loc)
    return SklearnProgram(graph, chosen, result.finish, assembly.notes)


def _read(fitted: Any, loc: Loc, assembly: Assembly, method: str) -> StepResult:
    x = Ref("x")
    try:
        return build(FittedStep(fitted, loc, assembly), x, method)
    except StepRefusedError as error:
        assembly.refusals.append(error.refusal)
        return StepResult(x)


def _width(fitted: Any) -> int | None:
    """How many features an estimator takes; None where it does not say."""
    for _ in range(10):  # pipelines in pipelines
        steps = getattr(fitted, "steps", None)
        if type(fitted).__name__ != "Pipeline" or not steps:
            break
        fitted = next((part for _, part in steps if not (part is None or isinstance(part, str))), None)
    try:
        return int(fitted.n_features_in_)
    except (AttributeError, TypeError, ValueError):
        return None


def _samples_of(samples: Any, width: int | None, loc: Loc) -> Callable[[Ref, Sequence[Node]], Reals | None]:
    """What samples are at a value of a graph."""
    if samples is None:
        return lambda value, nodes: None
    given = plain_array(samples, "from_sklearn")
    if given.ndim != 2 or given.shape[1] != width or not len(given):
        raise UserError(f"from_sklearn: samples of shape {given.shape}; give (n, {width})")

    def at(value: Ref, nodes: Sequence[Node]) -> Reals:
        graph = Graph("samples", (GraphInput("x", given.shape, loc),), {}, tuple(nodes), (value,), loc)
        found: Reals = run(graph, CONVERTERS, {"x": given})[0]
        return found

    return at


def _with_names(nodes: Sequence[Node]) -> tuple[list[Node], dict[str, Any]]:
    """Nodes whose arrays have names: the weights of a model."""
    constants: dict[str, Any] = {}
    named = []
    for node in nodes:
        options = dict(node.options)
        for option, value in node.options.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                name = f"{node.results[0]}.{option}"
                constants[name], options[option] = value, Ref(name)
        named.append(Node(node.operator, node.args, options, node.results, node.loc, node.version))
    return named, constants
