"""Passes: named functions from module to module, run in order, verified around each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from latticework.ir.module import Module
from latticework.ir.verify import verify as verify_module


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass.

    run     the function; it changes nothing it is given
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

    verify    check the module before the first pass and after each
    on_event  told of every pass when it has run
    """
    if verify:
        verify_module(module)
    for step in passes:
        start = clock()
        result = step.run(module)
        if verify:
            verify_module(result)
        if on_event is not None:
            before, after = (sum(1 for _ in m.walk()) for m in (module, result))
            on_event(PassEvent(step.name, before, after, start, clock()))
        module = result
    return module
