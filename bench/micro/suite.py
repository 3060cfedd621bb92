"""`latticework bench micro`: kernels by ring degree and backend, and the IR."""

from __future__ import annotations

import platform
from typing import Annotated

import typer
from rich.console import Console

from bench.micro.cycles import Cycles
from bench.micro.fused import DIGITS, FUSED, LIMBS_A_DIGIT, fused_rows
from bench.micro.ir import ir_rows
from bench.micro.kernels import PRIME_BITS, SOURCES, TARGETS, TERMS, kernel_rows
from bench.micro.matmul import PRODUCT, product_rows
from bench.rows import Row, report, show
from latticework import _core
from latticework.plan.machine.timing import keep_memory

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
IR_OPS = 20_000
MOST_PRODUCTS = 9  # stretches of the largest product, a tenth of a second each
ALL = "all"


@app.command()
def micro(
    ring_degree: Annotated[str, typer.Option(help="log2 of ring degrees, separated by commas.")] = "12,13,14,15,16,17",
    backend: Annotated[str, typer.Option(help="Backends, separated by commas; cpu: by instruction set.")] = ALL,
    kernel: Annotated[str, typer.Option(help="Kernels, separated by commas; none: the IR alone.")] = ALL,
    threads: Annotated[int, typer.Option(min=1, help="Threads inside a kernel.")] = 1,
    repeat: Annotated[int, typer.Option(min=1, help="Timed stretches of each kernel; the best counts.")] = 31,
    ir: Annotated[bool, typer.Option("--ir/--no-ir", help="The IR too.")] = True,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time every kernel of the core at every ring degree on every backend, and the IR."""
    variants = [name for name, is_here in _core.backend_variants("cpu") if is_here]
    others = [name for name in _core.backend_names() if name not in ("cpu", "sim")]  # a simulation's time says nothing
    backends = variants if backend == "cpu" else _listed(backend, [*variants, *others], "backend")
    kernels = [] if kernel == "none" else _listed(kernel, [*_core.kernel_names(), FUSED], "kernel")
    keep_memory()
    cycles = Cycles(threads)
    rows: list[Row] = []
    with err.status("starting") as status:
        for log2_degree in (int(n) for n in ring_degree.split(",")):
            for name in backends:
                status.update(f"N=2^{log2_degree}, {name}")
                alone = [k for k in kernels if k != FUSED]
                rows += kernel_rows(log2_degree, name, threads, alone, repeat, cycles)
                if FUSED in kernels and name != "ref":
                    rows += fused_rows(log2_degree, name, threads, repeat, cycles)
        if PRODUCT in kernels and threads == 1:
            for name in (b for b in backends if b in variants):
                status.update(f"{PRODUCT}, {name}")
                rows += product_rows(name, min(repeat, MOST_PRODUCTS), cycles)
        if ir:
            status.update("IR")
            rows += ir_rows(IR_OPS)
    cycles.close()
    conditions = {
        "threads": threads,
        "prime_bits": PRIME_BITS,
        "best_of": repeat,
        "cycles": cycles.source,
        "python": platform.python_version(),
        "base_convert": f"{SOURCES} limbs to {TARGETS}; a term is a coefficient of one source for one target",
        PRODUCT: "matrices of weights of a byte; a mac is one product of one word",
        "dot": f"{TERMS} products, or as many as its name says, one mac each",
        FUSED: f"{DIGITS} digits of {LIMBS_A_DIGIT} limbs, {LIMBS_A_DIGIT} special limbs; inner product with "
        "one more key, turn, product with one plaintext",
    }
    show(report("micro", rows, conditions), json)


def _listed(text: str, allowed: list[str], what: str) -> list[str]:
    if text == ALL:
        return allowed
    for name in text.split(","):
        if name not in allowed:
            raise typer.BadParameter(f"{name} is no {what}; there are {', '.join(allowed)}")
    return text.split(",")
