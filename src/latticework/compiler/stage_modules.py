"""The modules of a compilation by stage, and compilations that go on from another module in the place of one.

What the user does not ask for is not computed: levels and primitives are found again, as the compiler made them, and
are those of the plan, for their code is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from latticework.compiler.batch_rows import with_rows
from latticework.compiler.levels import LevelPlan, program_depth
from latticework.compiler.pipeline import Compilation, plan_lowered, plan_quickest
from latticework.compiler.program_lowering import Way
from latticework.compiler.stage_results import Lowered, Vectors
from latticework.compiler.stage_table import STAGES, IrStage
from latticework.compiler.vector_levels import emit_primitives, expand_levels, to_loops
from latticework.errors import IrError
from latticework.ir import Module
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import Plan


@dataclass(frozen=True)
class StageModules:
    """The modules of a compilation that is planned."""

    compilation: Compilation

    @property
    def vectors(self) -> Vectors:
        """The vectors of the plan, for all rows that a run computes."""
        assert self.compilation.vectors is not None
        return self.compilation.vectors

    @property
    def plan(self) -> Plan:
        """The plan."""
        assert self.compilation.plan is not None
        return self.compilation.plan

    @property
    def chain(self) -> ModulusChain:
        """The parameters of the plan."""
        return self.plan.chain

    @property
    def row(self) -> Vectors:
        """The vectors for one row."""
        return self.vectors.one_row or self.vectors

    @cached_property
    def way(self) -> Way:
        """The way in which the vectors were planned."""
        for way in self.compilation.lowering.list_ways(self.vectors, self.chain):
            if way.lowered.is_code_of(self.plan):
                return way
        raise IrError(f"ir: the levels of {self.plan.client.name} are not found again")

    @property
    def levels(self) -> LevelPlan:
        """Decisions about levels."""
        assert self.way.lowered.levels is not None
        return self.way.lowered.levels

    def find(self, stage: IrStage) -> Module | None:
        """The module of a stage; None where a program of its kind has none."""
        return _MODULES[stage.name](self)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the stages that the program has."""
        lacking = {"traced"} if self.compilation.lowering.traced_module is None else set()
        if self.polynomials is None:
            lacking.add("polynomials")
        if self.row.lower is None:
            lacking.add("layouts")
        return tuple(stage.name for stage in STAGES if stage.name not in lacking)

    @property
    def polynomials(self) -> Module | None:
        """The program on arrays whose functions are polynomials."""
        traced = self.compilation.lowering.traced_module
        is_on_arrays = traced is not None and isinstance(traced.body.terminator.operands[0].type, TensorType)
        return self.compilation.lowering.traced.module if is_on_arrays else None

    # -- going on --------------------------------------------------------------------------------

    def go_on(self, stage: IrStage, module: Module, chain: ModulusChain, *, is_same: bool) -> Compilation:
        """Compile on from another module in the place of that of a stage, as the compiler did.

        chain    of stages by which it is chosen
        is_same  whether the module is what was there: what was recorded of it then stays
        raises   as compiling does
        """
        lowering, task = self.compilation.lowering, self.compilation.task
        match stage.name:
            case "traced":
                return plan_quickest(self.compilation.anew(lowering.retrace(module, task.options)))
            case "polynomials":
                traced = replace(lowering.traced, module=module)
                return plan_lowered(self.compilation.anew(replace(lowering, traced=traced)))
            case "layouts":
                return self._plan_row(self._lower(module, is_same=is_same))
            case "vectors":
                return self._plan_row(self._with_depth(self._flatten(replace(self.row, module=module))))
            case "levels":
                return self._plan_flat(module)
            case "ciphertexts":
                options = task.options
                code = expand_levels(module, chain, costs=options.costs, techniques=options.techniques)
                return self._plan_code(replace(code, levels=self.way.lowered.levels))
            case _:
                return self._plan_code(emit_primitives(module, self.way.lowered, chain))

    @property
    def _is_bootstrapped(self) -> bool:
        return self.vectors.residual is not None

    def _lower(self, placed: Module, *, is_same: bool) -> Vectors:
        """Vectors of tensors with other layouts; why they lie so is not known then."""
        row = self.row
        assert row.lower is not None
        made = row.lower(placed)
        return replace(
            row, placed=placed, module=made.module, tensors=made.tensors, positions=made.positions, flat=made.flat,
            depth=made.depth, inputs=made.inputs, outputs=made.outputs, placing=row.placing if is_same else None,
            residual=None,
        )  # fmt: skip

    def _flatten(self, vectors: Vectors) -> Vectors:
        """Vectors with the module from which levels are managed, before there are bootstraps."""
        if self._is_bootstrapped:
            return replace(vectors, flat=to_loops(vectors.module, whole=vectors.feedback))
        return replace(vectors, flat=self.compilation.lowering.flatten(vectors))

    def _with_depth(self, vectors: Vectors) -> Vectors:
        """Vectors with the levels that they spend."""
        flat = vectors.flat or vectors.module
        if self._is_bootstrapped:
            return replace(vectors, depth=program_depth(flat, once=True), residual=None)
        return replace(vectors, depth=program_depth(flat, vectors.starts))

    def _plan_row(self, row: Vectors) -> Compilation:
        """Plan vectors of one row for as many as there were, on the chain that was chosen if they are to bootstrap."""
        vectors = with_rows(row, self.vectors.rows)
        if not self._is_bootstrapped:
            return self._with_plan(vectors, self.compilation.lowering.plan(vectors))
        search = self.compilation.search
        return self._plan_on_chain(search.place_on(search.option_of(self.vectors, self.chain), vectors))

    def _plan_flat(self, module: Module) -> Compilation:
        """Plan vectors from which levels are managed."""
        if self._is_bootstrapped:
            return self._plan_on_chain(replace(self.vectors, flat=module))
        vectors = self.vectors
        vectors = replace(vectors, module=module) if self.chain.plain_modulus else replace(vectors, flat=module)
        vectors = self._with_depth(vectors)
        return self._with_plan(vectors, self.compilation.lowering.plan_flat(vectors))

    def _plan_on_chain(self, vectors: Vectors) -> Compilation:
        """Plan vectors with their bootstraps."""
        way = next(iter(self.compilation.lowering.list_ways(vectors, self.chain)))
        return self._with_plan(vectors, way.plan(way.lowered))

    def _plan_code(self, lowered: Lowered) -> Compilation:
        return self._with_plan(self.vectors, self.way.plan(lowered))

    def _with_plan(self, vectors: Vectors, plan: Plan) -> Compilation:
        """The compilation with another plan; which chains and ways were weighed is as it was."""
        return replace(
            self.compilation,
            vectors=vectors,
            plan=replace(plan, weighed=self.plan.weighed, rows_choice=self.plan.rows_choice),
        )


_MODULES: dict[str, Callable[[StageModules], Module | None]] = {
    "traced": lambda of: of.compilation.lowering.traced_module,
    "polynomials": lambda of: of.polynomials,
    "layouts": lambda of: of.row.placed if of.row.lower is not None else None,
    "vectors": lambda of: of.row.module,
    "levels": lambda of: of.levels.module,
    "ciphertexts": lambda of: of.way.lowered.managed,
    "primitives": lambda of: of.way.lowered.module,
}
