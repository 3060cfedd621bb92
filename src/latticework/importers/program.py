"""An imported model as a program: callable on arrays, traced like any other, with its weights bound."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from latticework.errors import TraceError
from latticework.frontend.annotations import Parameter, Secret
from latticework.frontend.program import Program, trace
from latticework.importers.converters import Converters
from latticework.importers.evaluate import check_operators, run
from latticework.importers.graph import Graph
from latticework.importers.meanings.values import is_secret


class ImportedProgram(Program):
    """What a trained model computes; made by `from_torch`, `from_onnx` and `from_sklearn`.

    Called with NumPy arrays it computes in NumPy what the model computes, in float64.

    graph       the model
    converters  the meanings of its operators
    notes       what importing changed, for reports: "weights of 8 bits restored to numbers", one line each
    raises      UnsupportedError that names all operators, arguments and options that cannot be computed encrypted, and
                why, before anything is compiled; TraceError where no output depends on an input
    """

    def __init__(self, graph: Graph, converters: Converters, notes: tuple[str, ...] = ()) -> None:
        self.graph, self.converters, self.notes = graph, converters, notes
        self.name = self.__name__ = identifier(graph.name)
        self.__doc__ = f"{graph.name}, imported."
        self.loc = graph.loc
        names = _distinct([identifier(given.name) for given in graph.inputs])
        self.parameters = tuple(
            Parameter(name, Secret(given.shape), inspect.Parameter.empty, given.loc)
            for name, given in zip(names, graph.inputs, strict=True)
        )
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
        self.function: Callable[..., Any] = self._compute
        check_operators(graph, converters)
        trace(self)  # what depends on shapes, and on what is encrypted, is refused here as well

    def _compute(self, *arrays: Any) -> Any:
        given = {i.name: array for i, array in zip(self.graph.inputs, arrays, strict=True)}
        found = run(self.graph, self.converters, given)
        if is_secret(*arrays):
            public = [r.name for r, value in zip(self.graph.outputs, found, strict=True) if not is_secret(value)]
            if public:
                raise TraceError(
                    f"{self.graph.name}: output {', '.join(public)} depends on no input; leave it out", at=self.loc
                )
        if self.graph.labels:
            return dict(zip(self.graph.labels, found, strict=True))
        return found[0] if len(found) == 1 else tuple(found)


def identifier(name: str) -> str:
    """A name as Python's own: "input.1" becomes input_1."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII) or "x"
    return cleaned if not cleaned[0].isdigit() else f"x{cleaned}"


def _distinct(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        made, number = name, 2
        while made in found:
            made, number = f"{name}_{number}", number + 1
        found.append(made)
    return found
