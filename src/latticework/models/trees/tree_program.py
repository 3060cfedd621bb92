"""Programs with trees by signs: which rows they are right for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UserError
from latticework.models.imported_program import ImportedProgram
from latticework.models.model_graph import ModelNode, Ref
from latticework.models.trees.leaves import Reals
from latticework.models.trees.signs import MARGIN_OPTIONS, is_by_signs, margins
from latticework.models.trees.tree_inputs import rows_of, values_at
from latticework.plan.client_steps.run_steps import prepare


class TreeProgram(ImportedProgram):
    """A model that may have sums of trees by composite signs."""

    def keeps_apart(self, x: Any, *, everywhere: bool = True) -> npt.NDArray[np.bool_]:
        """A mask (n,) of the rows (n, features) that keep the gap from trees' thresholds; all without trees.

        x           what the owner gives: a tuple of such rows where there are several inputs
        everywhere  from all thresholds, as data to calibrate with have to; or else from those on their own paths: then
                    results of these rows are right
        """
        rows = self._encrypted_rows(x)
        kept: npt.NDArray[np.bool_] = np.ones(len(next(iter(rows.values()))), bool)
        for node in self.graph.nodes:
            if is_by_signs(node):
                values = values_at(self.graph, self.converters, rows, node.args[0].name)
                own, all_of_them = margins(values, *(self._option(node, name) for name in MARGIN_OPTIONS))
                kept = kept & ((all_of_them if everywhere else own) >= self._option(node, "gap"))
        return kept

    def _encrypted_rows(self, x: Any) -> dict[str, Reals]:
        """Rows of every input of the graph, from what the owner gives."""
        x = self.with_columns_in_order(x)
        owner = self.owner
        if owner is None or not owner.before:
            return rows_of(self.graph.inputs, x, "keeps_apart")
        names = owner.given_for(p.name for p in self.parameters)
        arrays = x if isinstance(x, tuple) else (x,)
        if len(arrays) != len(names):
            raise UserError(f"keeps_apart: {len(arrays)} arrays; give {', '.join(names)}", at=self.loc)
        made = prepare(owner, self.name, dict(zip(names, arrays, strict=True)))
        return rows_of(self.graph.inputs, tuple(made[p.name] for p in self.parameters), "keeps_apart")

    def _option(self, node: ModelNode, name: str) -> Any:
        value = node.options[name]
        return self.graph.constants[value.name] if isinstance(value, Ref) else value
