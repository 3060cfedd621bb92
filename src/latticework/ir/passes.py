"""Passes: named functions from module to module, run in order, verified around each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from latticework.ir.module import Module
from latticework.ir.verify import verify as verify_module

LARGE = 20_000  # operations


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass.

    run     the function; it changes nothing it is given, and returns that where there is nothing to change
    reads   dialect it understands, "any" if it does not care
    writes  dialect of what it returns, "any" if that of what it is given
    """

    name: str
    run: Callable[[Module], Module]
    reads: str = "any"
    writes: str = "any"


@dataclass(frozen=True, slots=True)
class PassEvent:
    """One pass has run: its name, the ops before and after, and when it started and ended, in seconds of `clock`."""

    name: str
    num_ops_before: int
    num_ops_after: int
    start: float
    end: float


def run_passes(
    module: Module,
    passes: Iterable[Pass],
    verify: bool = True,
    on_event: Callable[[PassEvent], None] | None = None,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> Module:
    """Run passes in order.

    verify    check the module before the first pass and after each that changed it; a large one only at the end, since
              checks take as long as passes
    on_event  told of every pass when it has run
    """
    is_large = len(module.body.ops) > LARGE
    if verify and not is_large:
        verify_module(module)
    for step in passes:
        start = clock()
        result = step.run(module)
        if verify and not is_large and result is not module:
            verify_module(result)
        if on_event is not None:
            before, after = (sum(1 for _ in m.walk()) for m in (module, result))
            on_event(PassEvent(step.name, before, after, start, clock()))
        module = result
    if verify and is_large:
        verify_module(module)
    return module
