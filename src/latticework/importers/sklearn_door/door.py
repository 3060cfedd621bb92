"""lw.from_sklearn: a fitted estimator of scikit-learn as a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UnsupportedError, UserError
from latticework.importers.graph import Graph, GraphInput, Node, Ref
from latticework.importers.program import ImportedProgram
from latticework.importers.refusals import refuse
from latticework.importers.sklearn_door.finishing import FinishStep, finish
from latticework.importers.sklearn_door.fold import fold
from latticework.importers.sklearn_door.meanings import CONVERTERS
from latticework.importers.sklearn_door.steps import Assembly, FittedStep, StepRefusedError, StepResult
from latticework.importers.sklearn_door.table import build, methods
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


def from_sklearn(fitted: Any, method: str | None = None, *, rows: int = 1) -> SklearnProgram:
    """A method of a fitted estimator of scikit-learn as a program, with its weights.

    fitted  an estimator or a Pipeline; what it holds is read, scikit-learn is not run
    method  "predict", "predict_proba", "decision_function", "transform", ...; "predict" if not given, of transformers
            "transform"
    rows    how many are encrypted together; clients take any number, in runs of as many
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
    assembly = Assembly(build, methods, {"x": width})
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
