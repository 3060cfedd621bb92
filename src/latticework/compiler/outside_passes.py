"""Passes from outside, `lw.compile(passes={"after vectors": [a_pass]})`: run after a stage, and checked there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from latticework.compiler.compile_ir import change, model_of
from latticework.compiler.outside_changes import OutsideChange
from latticework.compiler.passes import dce
from latticework.compiler.pipeline import Compilation, Task, plan_program
from latticework.compiler.stage_modules import StageModules
from latticework.compiler.stage_table import STAGES, IrStage
from latticework.errors import IrError, UserError
from latticework.ir import Module, Pass, run_passes
from latticework.ir.core import is_known
from latticework.ir.module import source_hash
from latticework.ir.passes import ANY
from latticework.ir.printer import print_readable
from latticework.model import Model

MAY_CHANGE = "changes results"  # the key of names of passes that may
KEYS = (*(stage.after for stage in STAGES), MAY_CHANGE)


def check_passes(passes: Any) -> None:
    """UserError unless a value of `passes=` is one."""
    if passes is None:
        return
    lists = passes if isinstance(passes, Mapping) else {"": passes}
    steps = [step for key, several in lists.items() if key != MAY_CHANGE for step in _list_items(several)]
    names = [name for name in _list_items(lists.get(MAY_CHANGE, ()))]
    for step in steps:
        if isinstance(step, Pass):
            _check_operations(step)
    known = {step.name for step in steps if isinstance(step, Pass)}
    if set(lists) <= set(KEYS) and all(isinstance(step, Pass) for step in steps) and known.issuperset(names):
        return
    raise UserError(
        f"compile: passes={passes!r:.200}; give a dictionary of lists of lw.ir.Pass, by the stage that they run after: "
        f"{', '.join(map(repr, KEYS[:-1]))}; and names of those that may change results under {MAY_CHANGE!r}"
    )


def _check_operations(step: Pass[Any]) -> None:
    """UserError where a pass names an operation or dialect that there is not: it would never run."""
    for field in ("roots", "reads", "writes", "removes"):
        for name in getattr(step, field):
            if name not in ANY and not is_known(name):
                raise UserError(f"compile: pass {step.name}: {field} names {name!r}, and no operation is called so")


def _list_items(several: Any) -> Sequence[Any]:
    """The items of a list; what is none, as a list of it, which nothing then takes for a pass or a name."""
    return several if isinstance(several, list | tuple) else (object(),)


def compile_with_passes(task: Task) -> Model:
    """Compile a program, and run passes from outside after stages of it."""
    passes = task.options.expert.passes
    check_passes(passes)
    return model_of(run_outside_passes(plan_program(task), passes or {}))


def run_outside_passes(compilation: Compilation, passes: Mapping[str, Sequence[Any]]) -> Compilation:
    """The compilation with passes run after their stages, each checked before the next runs.

    raises  IrError that names the pass, for one that does what it does not declare, or changes results
    """
    may_change = passes.get(MAY_CHANGE, ())
    for stage in STAGES:
        for step in passes.get(stage.after, ()):
            compilation = _run_pass(compilation, stage, step, may_change)
    return compilation


def _run_pass(compilation: Compilation, stage: IrStage, step: Pass[Any], may_change: Collection[str]) -> Compilation:
    modules, who = StageModules(compilation), f"pass {step.name}"
    before = modules.find(stage)
    if before is None:
        raise IrError(
            f"{who} after {stage.name}: {modules.plan.client.name} has no such stage; its stages are "
            f"{', '.join(modules.names)}"
        )
    kept, held = print_readable(before), _hashes(before)
    try:
        after = run_passes(before, (replace(step, run=_guard(step)),), compilation.task.options.costs)
        after = after if after is before else run_passes(after, (dce.PASS,))  # which verifies it too
    except UserError as error:
        raise type(error)(f"{who} after {stage.name}: {error.message}", at=error.at) from None
    if print_readable(before) != kept or _hashes(before) != held:
        raise IrError(f"{who} after {stage.name}: changed the module that it was given; a pass returns another one")
    if any(name != found for name, found in _hashes(after).items()):
        raise IrError(
            f"{who} after {stage.name}: has constants under other names than lw.ir.source_hash(array) gives; add new "
            "ones by module.add_source"
        )
    if print_readable(after) == kept:
        idle = OutsideChange(who, stage.name, ())
        return replace(compilation, changes=(*compilation.changes, idle))
    try:
        return change(modules, stage, after, modules.chain, who, step.name in may_change)
    except UserError as error:
        if who in error.message:
            raise
        raise type(error)(f"{who} after {stage.name}: {error.message}", at=error.at) from None


def _hashes(module: Module) -> dict[str, str]:
    """Hash the constants anew, by name: nothing else tells that somebody wrote into an array."""
    return {name: source_hash(array) for name, array in module.sources.items()}


def _guard(step: Pass[Any]) -> Callable[[Module, Any], Module]:
    """The pass's function, whose faults and whose answers that are no module are refused: `run_passes` trusts ours."""

    def run(module: Module, cost: Any) -> Module:
        try:
            after = step.run(module, cost)
        except UserError:
            raise
        except Exception as error:
            raise IrError(f"raised {type(error).__name__}: {error}") from error
        if not isinstance(after, Module):
            raise IrError(
                f"returned {type(after).__name__}; a pass returns a module, the one that it was given or another"
            )
        return after

    return run
