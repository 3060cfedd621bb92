"""`latticework bench threads`: what a second thread gives a run, beside two runs at once of one thread each.

Two runs on one thread each share keys and constants and wait for each other nowhere, so they show what cores and memory
of this machine reach together: a run on two threads is held to 1.8 where they reach it, else to 0.95 of theirs. Times
are those of the clock on the wall, so nothing else may run beside; three measurements follow each other in every round.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from bench.rows import Row, report, show
from latticework import _core
from latticework.commands.machine.bootstrap_timing import EncryptedBootstrap
from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan
from latticework.plan.parameters import bootstrap_chain

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
TARGET, SHARE = 1.8, 0.95  # of one thread's pace, and of that of two runs at once
THREADS = 2
Run = Callable[[], Any]


class Case(NamedTuple):
    """One run on one thread, which may be called from several threads at once, and the same on two."""

    name: str
    alone: Run
    together: Run


class Paces(NamedTuple):
    """Seconds of one run: on one thread, on two threads, and of two runs at once, that is half of what both take."""

    one: float
    two: float
    at_once: float


@app.command()
def threads(
    sets: Annotated[str, typer.Option("--set", help="Sets of bootstraps, by comma.")] = "T12L16,A14",
    real: Annotated[bool, typer.Option(help="Real slots: one EvalMod instead of two.")] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the three measurements; medians count.")] = 5,
    backend: str = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time bootstraps on one thread, on two, and two of them at once."""
    rows: list[Row] = []
    found: dict[str, Paces] = {}
    for name in sets.split(","):
        case = bootstrap_case(name, real, backend)
        found[case.name] = paces(case, rounds)
        rows += rows_of(case.name, found[case.name])
        del case  # keys of the next set are made without those of this one
    conditions = {"rounds": rounds, "clock": "wall", "backend": backend, "seconds of one run": found}
    show(report("threads", rows, conditions), as_json)


def bootstrap_case(name: str, real: bool, backend: str) -> Case:
    """Bootstraps of a set to all its levels, with one set of keys for all runs; both ways give the same bytes."""
    chain = bootstrap_chain(name)
    plan = bootstrap_plan(chain, chain.slots, chain.main.top - chain.floor, real=real)
    alone = EncryptedBootstrap(chain, plan, threads=1, backend=backend)
    together = alone.on_threads(THREADS)
    x = alone.encrypt(np.linspace(-1, 1, chain.slots).astype(np.complex128))
    if _bytes_of(alone.run(x)) != _bytes_of(together.run(x)):
        raise RuntimeError(f"a bootstrap of {name} on {THREADS} threads gives other bytes than on one")
    label = f"bootstrap of {name}, {'real' if real else 'complex'}"
    return Case(label, lambda: alone.run(x), lambda: together.run(x))


def paces(case: Case, rounds: int) -> Paces:
    """Medians over rounds, after one run of each kind that is not counted."""
    taken: list[Paces] = []
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(rounds + 1):
            at_once = _seconds(lambda: [run.result() for run in [pool.submit(case.alone) for _ in range(THREADS)]])
            taken.append(Paces(_seconds(case.alone), _seconds(case.together), at_once / THREADS))
    return Paces(*(median(column) for column in zip(*taken[1:], strict=True)))


def rows_of(name: str, found: Paces) -> list[Row]:
    """How many times the pace of one thread both ways give."""
    reached = found.one / found.at_once
    target = min(TARGET, SHARE * reached)
    source = "two runs at once, one thread each"
    return [
        Row(name, "two threads over one", "x", found.one / found.two, reached, source, target, "higher", checked=True),
        Row(name, "one run, one thread", "s", found.one),
        Row(name, "one run, two threads", "s", found.two),
    ]


def _bytes_of(x: _core.Ciphertext) -> bytes:
    return _core.save_ciphertexts(None, [x], ["x"])


def _seconds(work: Run) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


if __name__ == "__main__":
    app()
