"""Bootstraps on real ciphertexts: precision by kind of data, time, page faults, memory, keys.

latticework bench boot --set A14 [--real] [--target 8] [--iterations 2] [--kinds random,constant] [--json]
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from bench.compiling import peak_bytes
from bench.rows import Row, report, show
from bench.usage import Usage, usage
from bench.usage import rows as usage_rows
from latticework.commands.machine.bootstrap_timing import CONSTANT_BYTES, EncryptedBootstrap
from latticework.compiler.codegen.bootstrap_plans import (
    Precision,
    bootstrap_plan,
    failure_probability_log2,
    precision,
    predict_precision,
)
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrap_chain

Slots = npt.NDArray[np.complex128]
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
RMS_TARGET = {"A14": 24.0, "A17": 24.0, "A11": 24.0, "T11": 24.5, "T12": 24.5, "T12L16": 24.5}  # bits
WORST_TARGET = {"A14": 21.5}
SECONDS_TARGET = {"A14": 8.0, "T12": 0.5, "T12L16": 0.6, "T11": 0.2}
REAL_SHARE = 0.75  # of the time with complex slots
KEY_BYTES_TARGET = {"A14": 2.8e9}


def _parts(draw: Callable[[], npt.NDArray[np.float64]], real: bool) -> Slots:
    """A vector with independent real and imaginary parts."""
    first = draw()
    return np.asarray(first if real else first + 1j * draw(), dtype=np.complex128)


def kinds(slots: int, random: np.random.Generator, real: bool) -> dict[str, Slots]:
    """The vectors by name: what bootstraps of other designs treat differently."""
    return {
        "random": _parts(lambda: random.uniform(-1, 1, slots), real),
        "constant": _parts(lambda: np.ones(slots), real),
        "signs": _parts(lambda: random.choice([-1.0, 1.0], slots), real),
        "one-hot": np.asarray(np.arange(slots) == slots // 3, dtype=np.complex128),
    }


@app.command()
def main(
    name: Annotated[str, typer.Option("--set", help=f"one of {', '.join(BOOTSTRAP_SETS)}")] = "T12",
    real: Annotated[bool, typer.Option(help="real slots: one EvalMod instead of two")] = False,
    target: Annotated[int, typer.Option(help="levels above the floor; 0: all")] = 0,
    slots: Annotated[int, typer.Option(help="0: all of the ring")] = 0,
    iterations: Annotated[int, typer.Option(help="2: the error is bootstrapped too")] = 1,
    which: Annotated[str, typer.Option("--kinds", help="kinds of data, by comma")] = "random,constant,signs,one-hot",
    repeats: Annotated[int, typer.Option(help="timed runs, each of fresh data of the first kind")] = 3,
    threads: Annotated[int, typer.Option(help="0: as many as there are CPUs")] = 0,
    constant_bytes: Annotated[int, typer.Option(help="memory for encoded matrices")] = CONSTANT_BYTES,
    backend: str = "auto",
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Run one parameter set."""
    chain = bootstrap_chain(name)
    reached = target or chain.main.top - chain.floor
    start = usage()
    plan = bootstrap_plan(chain, slots or chain.slots, reached, real=real, iterations=iterations)
    case = EncryptedBootstrap(
        chain, plan, slots=slots or None, threads=threads, constant_bytes=constant_bytes, backend=backend
    )
    setup = usage() - start
    vectors = kinds(case.slots, np.random.default_rng(0), real)
    found: dict[str, Precision] = {}
    runs: list[Usage] = []
    fresh_bytes: list[int] = []
    for number, kind in enumerate([*which.split(","), *["random"] * repeats]):
        x = case.encrypt(vectors[kind])
        start, fresh = usage(), case.context.memory.fresh
        result = case.run(x)
        runs.append(usage() - start)
        fresh_bytes.append(case.context.memory.fresh - fresh)
        if number < len(which.split(",")):
            found[kind] = precision(case.decrypt(result), vectors[kind], real=real)
    predicted = predict_precision(chain, reached, slots=case.slots, real=real, iterations=iterations)
    conditions: dict[str, Any] = {
        "set": name, "target": reached, "slots": case.slots, "real": real, "iterations": iterations,
        "threads": threads, "backend": case.context.backend, "insecure": chain.insecure,
        "log2 QP": round(chain.log2_qp, 2), "levels left": reached, "setup and keys, s": round(setup.seconds, 1),
        "first run, s": round(runs[0].seconds, 3), "runs, s": [round(run.seconds, 3) for run in runs[1:]],
        "first run and runs, system time, s": [round(run.system_seconds, 3) for run in runs],
        "first run and runs, page faults": [run.faults for run in runs],
        "failure probability, log2": round(failure_probability_log2(chain, slots=case.slots, real=real), 1),
        "predicted rms and worst, bits": [round(predicted.rms_bits, 2), round(predicted.worst_bits, 2)],
    }  # fmt: skip
    top = chain.main.top - chain.floor
    parts = [
        name,
        "real" if real else "",
        f"target {reached}" if reached < top else "",
        f"{iterations} iterations" if iterations > 1 else "",
    ]
    label = ", ".join(filter(None, parts))
    wanted = SECONDS_TARGET.get(name)
    if wanted and real:
        wanted *= REAL_SHARE
    rows = _rows(name, label, case, found, [run.seconds for run in runs[1:]], wanted, predicted)
    show(report("boot", rows + usage_rows(label, runs, fresh_bytes), conditions), as_json)


def _rows(
    name: str,
    label: str,
    case: EncryptedBootstrap,
    found: dict[str, Precision],
    seconds: list[float],
    wanted: float | None,
    predicted: Precision,
) -> list[Row]:
    """One row a figure.

    label   the set and how it was run
    wanted  seconds that a bootstrap may take
    """
    manifest = case.plan.client.manifest
    rows = []
    for kind, bits in found.items():
        target, source = RMS_TARGET.get(name), "noise model"
        rows.append(
            Row(
                f"{label}, {kind}",
                "precision rms",
                "bits",
                bits.rms_bits,
                predicted.rms_bits,
                source,
                target,
                "higher",
                True,
            )
        )
        target = WORST_TARGET.get(name)
        rows.append(
            Row(
                f"{label}, {kind}",
                "precision worst",
                "bits",
                bits.worst_bits,
                predicted.worst_bits,
                source,
                target,
                "higher",
                True,
            )
        )
    peak = peak_bytes()
    rows += [
        Row(label, "time, median", "s", statistics.median(seconds), target=wanted, checked=True),
        Row(label, "peak memory of the process", "bytes", float(peak)),
        Row(label, "keys stored", "bytes", float(manifest.total_stored_bytes), target=KEY_BYTES_TARGET.get(name),
            checked=True),
        Row(label, "keys resident", "bytes", float(case.keys.num_bytes)),
        Row(label, "number of keys", "", float(len(case.plan.keys))),
    ]  # fmt: skip
    return rows


if __name__ == "__main__":
    app()
