"""The order of stages: what `lw.compile` does with any program, from top to bottom.

Each front end lowers its programs to vectors in its own way; what it makes of one is a `Lowering`. The stages after it
are the same for all. They ask it for vectors, and plan them:

    vectors          arrays: `trace_arrays.py`, `array_vectors.py`; circuits: `circuits/circuit_pipeline.py`;
                     HEIR: `packed_programs.py`; queries: `slot_programs.py`. Passes on the way: `pass_order.py`
    levels           `vector_levels.to_levels`; before them, if the program bootstraps, `bootstrapping.with_bootstraps`
    parameters       `precision.py`, with plans of several scales; of integers `exact_plans.py`
    primitives       `vector_levels.to_primitives`: exact scales, key switches, code and keys for one modulus chain
    plan             `assemble.py`; error bounds by `levels/value_bounds.py` and `simulated_errors.py`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from typing import Any

from latticework.compiler.array_programs import lower_arrays
from latticework.compiler.bootstrap_options import with_remedy
from latticework.compiler.bootstrapping import BootstrapSearch
from latticework.compiler.circuits.real_circuits import lower_real_circuit
from latticework.compiler.circuits.wide_circuits import lower_integer_circuit
from latticework.compiler.levels.depth import UnknownTripCountError
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.option import Kind
from latticework.compiler.options.option_checks import kind_of
from latticework.compiler.outside_changes import OutsideChange, with_changes
from latticework.compiler.packed_programs import lower_packed
from latticework.compiler.program_lowering import Lowering
from latticework.compiler.recurrences import takes_longer_than, warn_again, with_warnings
from latticework.compiler.retraining.keep_client import keep_client
from latticework.compiler.slot_programs import lower_slots
from latticework.compiler.stage_results import Vectors
from latticework.errors import LevelError, PrecisionError, UserError
from latticework.frontend.recording.tracing import user_line
from latticework.ir import Module
from latticework.lazy_dataclass import dataclass
from latticework.model import Model
from latticework.plan.analysis.estimate import estimate
from latticework.plan.parameters import TooDeepError
from latticework.plan.schema.schema import Plan


@dataclass(frozen=True)
class Task:
    """A program to compile, and what is asked for.

    columns  names of columns by what the owner gives
    """

    program: Any
    options: CompileOptions
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Compilation:
    """A program with the best plan so far, and its vectors; None: there is none yet.

    changes  that came from outside
    """

    task: Task
    lowering: Lowering
    search: BootstrapSearch
    vectors: Vectors | None = None
    plan: Plan | None = None
    changes: tuple[OutsideChange, ...] = ()

    def silent(self) -> Compilation:
        """The compilation, without anybody who is told of its passes any more."""
        lowering = self.lowering.silent()
        task = replace(self.task, options=self.task.options.override(on_event=None))
        return replace(self, task=task, lowering=lowering, search=replace(self.search, lowering=lowering))

    def anew(self, lowering: Lowering) -> Compilation:
        """The compilation of another program in the place of this one, which is not planned yet."""
        return Compilation(self.task, lowering, BootstrapSearch(lowering))

    @property
    def seconds_a_row(self) -> float:
        """Predicted seconds of a run, for each row that it computes."""
        assert self.vectors is not None and self.plan is not None
        return estimate(self.plan, self.lowering.options.costs).warm_seconds / self.vectors.rows

    def is_quicker_than_loops(self, module: Module) -> bool:
        """Whether the plan is quicker than the products of the loops of a module, which need not be planned then."""
        assert self.vectors is not None and self.plan is not None
        return takes_longer_than(module, self.plan, self.lowering.options.costs, self.vectors.rows)

    def with_plan(self, made: tuple[Vectors, Plan]) -> Compilation:
        """The same with vectors and their plan."""
        return replace(self, vectors=made[0], plan=made[1])


def lower_program(task: Task) -> Compilation:
    """Read a program with its front end."""
    lowering = FRONT_ENDS[kind_of(task.program, task.options.parameters.scheme)](task.program, task.options)
    return Compilation(task, lowering, BootstrapSearch(lowering))


def plan_without_bootstraps(compilation: Compilation) -> Compilation:
    """Plan a program without bootstraps, on few levels where it fits no ring otherwise.

    There is no plan where the user named a bootstrapping set, or where only bootstraps help.
    """
    lowering, search = compilation.lowering, compilation.search
    if search.chosen is not None or (search.is_allowed and search.is_endless()):
        return compilation
    with _explaining(lowering):
        try:
            too_deep = lowering.find_too_deep()
            if too_deep is not None:
                raise too_deep
            return compilation.with_plan(_plan_plainly(lowering))
        except (TooDeepError, UnknownTripCountError) as error:
            if search.is_allowed:
                return compilation
            raise with_remedy(error, lowering.options, lowering.bootstrap_obstacle) from None


@contextmanager
def _explaining(lowering: Lowering) -> Iterator[None]:
    """Let a program say what it has to do with errors of its plans."""
    try:
        yield
    except (LevelError, PrecisionError) as error:
        raise lowering.explain(error) from None


def _plan_plainly(lowering: Lowering) -> tuple[Vectors, Plan]:
    vectors = lowering.to_vectors()
    try:
        return lowering.plan_rows(vectors)
    except LevelError:
        shallow = lowering.to_shallow_vectors()
        if shallow is None or shallow.depth >= vectors.depth:
            raise
        return lowering.plan_rows(shallow)


def plan_with_bootstraps(compilation: Compilation) -> Compilation:
    """Plan a program with bootstraps, where it has no plan yet or is predicted to be quicker so."""
    vectors, plan, search = compilation.vectors, compilation.plan, compilation.search
    if vectors is None or plan is None:
        with _explaining(compilation.lowering):
            return compilation.with_plan(search.best())
    lowering = compilation.lowering
    for_time = lowering.bootstraps_for_time and search.is_allowed and lowering.options.rows is None
    if not for_time or not search.may_be_quicker(vectors, plan):
        return compilation
    try:
        return compilation.with_plan(search.best())
    except UserError:
        return compilation


def finish_plan(compilation: Compilation) -> Compilation:
    """Add to the plan what the client does beside it."""
    assert compilation.plan is not None
    plan = compilation.lowering.finish(compilation.plan)
    plan = replace(plan, client=plan.client.with_columns(compilation.task.columns))
    lowering = compilation.lowering
    if lowering.old is not None and lowering.is_retrained and not compilation.changes:
        plan = keep_client(plan, lowering.old, lowering.kept_notes)
    return replace(compilation, plan=with_changes(plan, compilation.changes))


def make_model(compilation: Compilation) -> Model:
    """Put plan, reference and costs together."""
    lowering = compilation.lowering
    assert compilation.vectors is not None and compilation.plan is not None
    reference = lowering.reference(compilation.vectors)
    options = lowering.options
    return Model(compilation.plan, reference, options.costs, allow_insecure=options.allows_insecure)


FRONT_ENDS: dict[Kind, Callable[[Any, CompileOptions], Lowering]] = {
    Kind.ARRAYS: lower_arrays,
    Kind.CIRCUIT: lower_real_circuit,
    Kind.EXACT: lower_integer_circuit,
    Kind.HEIR: lower_packed,
    Kind.SLOTS: lower_slots,
}


def plan_program(task: Task) -> Compilation:
    """Take a program from its front end to its plan."""
    with user_line(task.program.loc):
        return plan_quickest(lower_program(task))


def plan_quickest(compilation: Compilation) -> Compilation:
    """Plan a program that its front end has read, with linear recurrences as matrices where that is quicker."""
    folded = compilation.lowering.fold_recurrences()
    if folded is None:
        return plan_lowered(compilation)
    other, warnings = with_warnings(lambda: plan_lowered(compilation.anew(folded)))
    if isinstance(other, UserError):
        return plan_lowered(compilation)
    if not other.is_quicker_than_loops(compilation.lowering.traced.module):
        kept, own = with_warnings(lambda: plan_lowered(compilation))
        if not isinstance(kept, UserError) and kept.seconds_a_row <= other.seconds_a_row:
            other, warnings = kept, own
    warn_again(warnings)
    return other


def plan_lowered(compilation: Compilation) -> Compilation:
    """Plan a program that its front end has read.

    What is too noisy on the parameters of an old model is tried with functions that leave more room for noise.
    """
    try:
        return plan_with_bootstraps(plan_without_bootstraps(compilation))
    except PrecisionError:
        narrow = compilation.lowering.narrow()
        if narrow is None:
            raise
        with suppress(UserError):
            return plan_lowered(compilation.anew(narrow))
        raise


def finish_model(compilation: Compilation) -> Model:
    """Make the model of a program that is planned."""
    with user_line(compilation.task.program.loc):
        return make_model(finish_plan(compilation))
