"""One method of a fitted estimator as a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.frontend.plain import plain_array
from latticework.importers.evaluate import run
from latticework.importers.graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.importers.program import ImportedProgram
from latticework.importers.sklearn_door.finishing import Steps
from latticework.importers.sklearn_door.meanings import CONVERTERS
from latticework.importers.sklearn_door.tree_signs import MARGIN_OPTIONS, margins
from latticework.owner import Doubt, Finished, OwnerStages


class SklearnProgram(ImportedProgram):
    """A method of a fitted estimator as a program.

    Called with arrays (rows, features) it computes what the method returns. What is decrypted are scores, sums or
    features; classes by the largest score, probabilities by a softmax and so on are steps of the owner of the data,
    exact and for nothing (`owner`). They tell the names of the classes, and of some targets how they are scaled.

    method  of the estimator
    doubt   what the second output of the graph, where it has one, says of the first
    """

    def __init__(
        self, graph: ModelGraph, method: str, steps: Steps, notes: Sequence[str], doubt: Doubt | None = None
    ) -> None:
        super().__init__(graph, CONVERTERS, tuple(notes))
        self.method = method
        if steps or doubt:
            output, *more = self.output_shapes
            told = replace(doubt, output=more[0]) if doubt else None
            self.take_owner(OwnerStages(after=(Finished("result", output, steps, told),)))

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
                before = ModelGraph("x", (source,), self.graph.constants, nodes[:number], (node.args[0],), self.loc)
                (values,) = run(before, CONVERTERS, {source.name: given})
                own, all_of_them = margins(values, *(self._option(node, name) for name in MARGIN_OPTIONS))
                kept &= (all_of_them if everywhere else own) >= self._option(node, "gap")
        return kept

    def _option(self, node: ModelNode, name: str) -> Any:
        value = node.options[name]
        return self.graph.constants[value.name] if isinstance(value, Ref) else value
