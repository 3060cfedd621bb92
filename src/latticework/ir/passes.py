"""Passes: functions from module to module by one contract, run in order and held to what they declare.

A pass is `run(module, cost)`. It changes nothing that it is given and keeps the value of every output. Whether and
what it asks of `cost` is said by its type: `Pass[object]` asks nothing and runs beside any other. What else a pass goes
by (a chain, the sizes of outputs) is known to the `run` that it is made with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Generic, TypeVar, overload

from latticework.errors import IrError
from latticework.ir.attributes import attribute_key
from latticework.ir.core import Op
from latticework.ir.module import Module
from latticework.ir.verify import verify as verify_module
from latticework.lazy_dataclass import dataclass

LARGE = 20_000  # operations
ANY = ("any",)  # a pass that reads these may be given every dialect

C_contra = TypeVar("C_contra", contravariant=True)
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Pass(Generic[C_contra]):
    """One pass. Names in the last four are those of ops ("vec.take"), or of dialects ("vec") for all their ops.

    run      the function; it returns what it is given where there is nothing to change
    roots    the ops that its rewriting begins at: a module without any of them is left as it is
    reads    what it knows: it is given nothing else
    writes   what it may make: everything else that it returns is an op that it was given, or a copy of one (the same
             attributes; operands and places may be others)
    removes  what is gone when it has run
    """

    name: str
    run: Callable[[Module, C_contra], Module]
    roots: tuple[str, ...] = ANY
    reads: tuple[str, ...] = ANY
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassEvent:
    """One pass has run: its name, the ops before and after, and when it started and ended, in seconds of `clock`."""

    name: str
    num_ops_before: int
    num_ops_after: int
    start: float
    end: float


@overload
def run_passes(
    module: Module,
    passes: Iterable[Pass[object]],
    cost: None = None,
    *,
    verify: bool = True,
    on_event: Callable[[PassEvent], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Module: ...
@overload
def run_passes(
    module: Module,
    passes: Iterable[Pass[C]],
    cost: C,
    *,
    verify: bool = True,
    on_event: Callable[[PassEvent], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Module: ...
def run_passes(
    module: Module,
    passes: Iterable[Pass[Any]],
    cost: Any = None,
    *,
    verify: bool = True,
    on_event: Callable[[PassEvent], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Module:
    """Run passes in order, each where its roots occur.

    cost      what passes ask for prices
    verify    check the module before the first pass and after each that changed it (a large one only at the end, since
              checks take as long as passes), and each pass against what it declares
    on_event  told of every pass when it has run
    raises    IrError if a module is not valid, or a pass did what it does not declare
    """
    is_due = verify
    for step in passes:
        if is_due and len(module.body.ops) <= LARGE:
            verify_module(module)
            is_due = False
        start = clock()
        result = step.run(module, cost) if _has_roots(step, module) else module
        if on_event is not None:
            before, after = (sum(1 for _ in m.walk()) for m in (module, result))
            on_event(PassEvent(step.name, before, after, start, clock()))
        if verify:
            check_declared(step, module, result)
        is_due = is_due or (verify and result is not module)
        module = result
    if is_due:
        verify_module(module)
    return module


def _has_roots(step: Pass[Any], module: Module) -> bool:
    """Whether a module has what a pass rewrites."""
    return step.roots == ANY or any(_is_named(op, step.roots) for op in module.walk())


def check_declared(step: Pass[Any], before: Module, after: Module) -> None:
    """IrError if a pass was given what it does not read, made what it does not write, or left what it removes."""
    for op in before.walk() if step.reads != ANY else ():
        if not _is_named(op, step.reads):
            raise IrError(f"pass {step.name}: was given {op.name}, reads only {_list(step.reads)}", at=op.loc)
    if after is before:
        return
    same: set[Hashable] = {_identity(op) for op in before.walk()}
    equal: set[Hashable] = set()
    for op in after.walk():
        if _is_named(op, step.removes):
            raise IrError(f"pass {step.name}: left {op.name}, which it declares to remove", at=op.loc)
        if _is_named(op, step.writes) or _identity(op) in same:
            continue
        equal = equal or {_semantics_key(op) for op in before.walk()}
        if _semantics_key(op) not in equal:
            raise IrError(
                f"pass {step.name}: made {op.name}, or changed an attribute of one; it writes only "
                f"{_list(step.writes)}",
                at=op.loc,
            )


def _is_named(op: Op, names: Collection[str]) -> bool:
    return op.name in names or op.name.partition(".")[0] in names


def _identity(op: Op) -> Hashable:
    """Equal for an op and what copies make of it, and quick to find: while both modules are there, ids tell objects."""
    return op.spec, *map(id, op.attrs.values())


def _semantics_key(op: Op) -> Hashable:
    """Equal for ops of one kind with equal attributes."""
    return op.spec, tuple((key, attribute_key(op.attrs[key])) for key in sorted(op.attrs))


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"
