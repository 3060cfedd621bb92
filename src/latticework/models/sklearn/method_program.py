"""One method of a fitted estimator as a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.models.model_graph import ModelGraph
from latticework.models.sklearn.estimator_semantics import CONVERTERS
from latticework.models.sklearn.finishing import Steps
from latticework.models.sklearn.owner_front import Front, named_columns
from latticework.models.trees.tree_program import TreeProgram
from latticework.plan.client_steps import Doubt, Finished, Given, OwnerStages, Piece, Prepared
from latticework.values.inputs.column_names import Names


class SklearnProgram(TreeProgram):
    """A method of a fitted estimator as a program.

    Called with arrays (rows, features) it computes what the method returns. What is decrypted are scores, sums or
    features; classes by the largest score, probabilities by a softmax and so on are steps of the owner of the data,
    exact and for nothing (`owner`). They tell the names of the classes, and of some targets how they are scaled.

    method  of the estimator
    doubt   what the second output of the graph, where it has one, says of the first
    names   of the features, where the estimator was fitted on a frame that has them
    front   what the owner computes of them before encryption, where that is something
    by_name whether frames may have other columns, too, which nothing reads
    """

    is_fitted = True

    def __init__(
        self,
        graph: ModelGraph,
        method: str,
        steps: Steps,
        notes: Sequence[str],
        doubt: Doubt | None = None,
        names: Names = (),
        front: Front | None = None,
        *,
        by_name: bool = False,
    ) -> None:
        super().__init__(graph, CONVERTERS, tuple(notes))
        self.method = method
        given, before, after = tuple[Given, ...](), tuple[Prepared, ...](), tuple[Finished, ...]()
        name = self.parameters[0].name
        if front is not None:
            rows = graph.inputs[0].shape[0]
            read = named_columns(names, front.columns)
            given = (Given(name, (rows, len(front.columns)), read, by_name),)
            before = (Prepared(name, (Piece(name, front.steps),)),)
        elif by_name:
            given = (Given(name, graph.inputs[0].shape, names, by_name),)
            before = (Prepared(name, (Piece(name, ()),)),)
        elif names:
            self.columns = {name: names}
        if steps or doubt:
            output, *more = self.output_shapes
            told = replace(doubt, output=more[0]) if doubt else None
            after = (Finished("result", output, steps, told),)
        if before or after:
            self.take_owner(OwnerStages(given, before, after))
