"""`Lowering`: a program that its front end has read. All programs take the same stages from there (`pipeline.py`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar

from latticework.compiler.batch_rows import planned_for_rows
from latticework.compiler.batch_ways import WORTH_OF_KEYS, plan_rows_best, price_plan
from latticework.compiler.bootstrap_options import obstacle
from latticework.compiler.levels import program_depth
from latticework.compiler.like_plans import is_laid_out_like, plan_like
from latticework.compiler.options.compile_options import FILL, LATENCY, CompileOptions
from latticework.compiler.plan_without_keys import lower_without_keys, plan_code_without_keys, plan_without_keys
from latticework.compiler.precision import PrecisionSearch
from latticework.compiler.retraining.old_model import OldModel
from latticework.compiler.stage_results import Lowered, TracedProgram, Vectors
from latticework.compiler.vector_levels import to_copies, to_loops, with_small_outputs
from latticework.errors import UserError
from latticework.frontend import Circuit, Program
from latticework.frontend.calibration.calibration_data import Sample
from latticework.ir import Module
from latticework.lazy_dataclass import dataclass
from latticework.model import Reference
from latticework.plan.analysis.estimate import estimate
from latticework.plan.parameters import BootstrapSet, ModulusChain, find_set
from latticework.plan.schema.schema import ClientSpec, Plan


@dataclass(frozen=True)
class Way:
    """A way to plan vectors on a chain: their primitives, and what makes a plan of these, or of others for them."""

    lowered: Lowered
    plan: Callable[[Lowered], Plan]


@dataclass
class Lowering(ABC):
    """A program that its front end has read: how it becomes vectors, and what its plan and model have beside them.

    traced   what runs beside a plan as its reference
    samples  of its inputs
    """

    bootstraps_for_time: ClassVar[bool] = True  # also where it fits without them, if it is predicted to be quicker
    bootstraps_rows: ClassVar[bool] = False  # rows of a batch side by side

    program: Program | Circuit
    traced: TracedProgram
    samples: list[Sample]
    options: CompileOptions

    @abstractmethod
    def to_vectors(self) -> Vectors:
        """Lower the program to vectors, without bootstraps.

        raises  LayoutError if it fits no ring
        """

    def to_shallow_vectors(self) -> Vectors | None:
        """Lower the program to vectors that spend as few levels as can be found; None if there are no others."""
        return None

    def to_vectors_of(self, ring_degree: int, residual: int) -> Vectors:
        """Lower the program to vectors for a ring, with its loops, in which bootstraps are to be placed.

        residual  levels that they leave, as a rule
        """
        vectors = self.to_vectors()
        flat = to_loops(vectors.module, self.options.on_event)
        return replace(vectors, flat=flat, depth=program_depth(flat, once=True))

    def find_too_deep(self) -> UserError | None:
        """The error for a program of which it is plain, before it becomes vectors, that it fits no ring allowed."""
        return None

    @property
    def bootstrap_obstacle(self) -> str | None:
        """Reason why nothing can be bootstrapped, with what would help; None if it can."""
        if self.options.rows is not None and not self.bootstraps_rows:
            return "rows of a batch are bootstrapped in programs on arrays alone: leave batch= out"
        return obstacle(self.options.parameters)

    @property
    def bootstrap_samples(self) -> tuple[list[Sample], str]:
        """Samples on which values that bootstraps take are measured, and what a message calls them."""
        return self.samples, "on the calibration data"

    @property
    def least_ring_degree(self) -> int | None:
        """Ring degree that one row of a batch takes in any case, where more is known than its levels."""
        return None

    def fits_ring(self, ring_degree: int) -> bool:
        """Whether the program can be laid out for a ring."""
        return True

    def plan(self, vectors: Vectors) -> Plan:
        """Choose scale and parameters of vectors without bootstraps; errors are as those of `PrecisionSearch.best`.

        Those of the old model, if there is one: errors are as those of `plan_like` then.
        """
        if self.old is not None:
            return plan_like(self.search(vectors), self.old, self.describe_client)
        return self._plan_either(self.search(vectors), enlarging=True)

    def _plan_either(self, search: PrecisionSearch, *, enlarging: bool) -> Plan:
        """The better of the plans with keys and without; errors are as those of `PrecisionSearch.best`."""
        other = plan_without_keys(search)
        try:
            plan = search.best(enlarging=enlarging)
        except UserError:
            if other is None:
                raise
            return other
        if other is None:
            return plan
        costs = [estimate(each, self.options.costs) for each in (other, plan)]
        if self.options.objective == LATENCY:  # what is sent, a polynomial more or less, is left out
            return other if costs[0].warm_seconds <= WORTH_OF_KEYS * costs[1].warm_seconds else plan
        prices = [price_plan(each, cost, self.options) for each, cost in zip((other, plan), costs, strict=True)]
        return other if prices[0] <= prices[1] else plan

    @property
    def old(self) -> OldModel | None:
        """The model whose parameters this one has (`like=`); None: it has its own."""
        like = self.options.like
        return None if like is None else OldModel(like.plan)

    @property
    def is_retrained(self) -> bool:
        """Whether it takes the place of the old model; else it goes on with results of that."""
        return self.old is not None

    @property
    def kept_notes(self) -> tuple[str, ...]:
        """Sentences on what was relaxed so that the program fits the old parameters."""
        return ()

    @property
    def chosen_set(self) -> BootstrapSet | None:
        """The only set to bootstrap by, if there is one: the user's, or that of the old model.

        raises  UserError for an old model whose set nobody knows
        """
        if self.options.chosen_set is not None or self.old is None or self.old.chain.bootstrap is None:
            return self.options.chosen_set
        found = find_set(self.old.chain)
        if found is None:
            raise UserError(
                f"compile: the model given as like= bootstraps by a set of its own: give bootstrap_set= as for "
                f"{self.old.client.name}",
                at=self.program.loc,
            )
        return found

    def describe_client(self, client: ClientSpec) -> ClientSpec:
        """The client's part with what the program says of it apart from its plan."""
        return client

    def search(self, vectors: Vectors) -> PrecisionSearch:
        """Measure plans of vectors."""
        return PrecisionSearch(self.program, self.traced, vectors, self.samples, self.options)

    def plan_rows(self, vectors: Vectors) -> tuple[Vectors, Plan]:
        """Plan vectors for the rows that one run is to have, which lie side by side in others than those given."""
        if self.options.rows is None:
            return vectors, self.plan(vectors)
        options, ways = self.options, vectors.row_ways
        if self.old is not None:
            options = options.override(ring_degree=self.old.chain.ring_degree)
            ways = tuple(each for each in ways if is_laid_out_like(each, self.old.client)) or ways[:1]
        elif options.rows == FILL and options.objective == LATENCY:
            ways = ways[:1]  # a run is the shorter the fewer rows it has
        plan_of = partial(
            planned_for_rows, self.program, options=options, plan_of=self.plan, least_degree=self.least_ring_degree
        )
        return plan_rows_best(ways, options, plan_of)

    def fold_recurrences(self) -> Lowering | None:
        """The same with linear recurrences as matrices; None if it has none."""
        return None

    def narrow(self) -> Lowering | None:
        """The same with functions that leave more of the errors for noise, where parameters are given; else None."""
        return None

    def silent(self) -> Lowering:
        """The same, without anybody who is told of passes."""
        return replace(self, options=self.options.override(on_event=None))

    @property
    def traced_module(self) -> Module | None:
        """The program as it was traced; None: it came as vectors."""
        return None

    def retrace(self, module: Module, options: CompileOptions) -> Lowering:
        """Lower another program in the place of the one that was traced.

        options  of the compilation
        """
        raise NotImplementedError

    def list_ways(self, vectors: Vectors, chain: ModulusChain) -> Iterator[Way]:
        """Ways in which vectors may have been planned on a chain."""
        first = self.search(vectors)
        without = lower_without_keys(first, chain) if self.options.rows is not None and not chain.special else None
        if without is not None:
            yield Way(without, partial(plan_code_without_keys, first))
        if chain.bootstrap is not None:
            first = replace(first, samples=self.bootstrap_samples[0])
        searches = [first]
        if chain.bootstrap is None:
            enlarged = with_small_outputs(vectors, first.magnitudes)
            searches += [replace(first, vectors=enlarged)] if enlarged is not vectors else []
            searches += [search.late for search in searches]
        for search in searches:
            alone = chain.bootstrap is None and not self.shares_parameters
            lowered = search.lower(chain)
            yield Way(lowered, partial(search.plan_of, before=lowered, alone=alone))

    @property
    def shares_parameters(self) -> bool:
        """Whether the parameters are those of another program."""
        return self.old is not None

    def flatten(self, vectors: Vectors) -> Module | None:
        """The module from which levels of vectors are managed, without bootstraps; None: their own."""
        return None if vectors.flat is None else to_copies(vectors.module, whole=vectors.feedback)

    def plan_flat(self, vectors: Vectors) -> Plan:
        """Plan vectors whose module for levels is as it is to be."""
        if self.old is not None:
            return plan_like(self.search(vectors), self.old, self.describe_client)
        return self._plan_either(self.search(vectors), enlarging=False)

    def explain(self, error: UserError) -> UserError:
        """Add to an error of a plan what this program has to do with it."""
        return error

    def finish(self, plan: Plan) -> Plan:
        """Add to a plan what its client does beside it."""
        return plan

    def reference(self, vectors: Vectors) -> Reference | None:
        """Make the reference that runs beside the plan of vectors; None: there is none but the plan itself."""
        return Reference(vectors.placed, vectors.positions)
