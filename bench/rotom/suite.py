"""`latticework bench rotom`: the Rotom paper's programs, compiled, run encrypted, and compared with its counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.programs import facts, figures, layers
from bench.rotom.ablation import ablation, pivot
from bench.rotom.baselines import Faster, compared, means, prepare_baselines, run_rows
from bench.rotom.measuring import PRECISION_BITS, Limits, Measured, options, prepare, run_in_turns
from bench.rotom.network import network_rows
from bench.rotom.packings import packing_rows
from bench.rotom.tables import conversion_rows, product_rows
from bench.rotom.tuning import tuning
from bench.rotom.workloads import SLOTS, Workload, workloads
from bench.rows import PLAIN_WIDTH, Row, report, show
from latticework.errors import UserError
from latticework.plan.schema.amounts import parse_bytes

__all__ = ["app", "options"]
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
COMPILE_SECONDS = {"attention": 60.0}
COUNTED = {  # metric -> what the reference calls it
    "encrypted input vectors": "ciphertexts",
    "rotations, hoisted ones included": "rotations",
    "ciphertext products": "ct products",
    "plaintext products": "pt products",
}
LIMITS = ("rotations", "ciphertexts")  # not to be exceeded
MEASURED = "Rotom's public code, rolls on"


@app.command()
def rotom(
    n: Annotated[int, typer.Option(help=f"Slots: {' or '.join(map(str, SLOTS))}.")] = SLOTS[0],
    names: Annotated[str, typer.Option(help="Workloads, separated by commas; all if not given.")] = "",
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of each, after a first one; more of short ones.")] = 3,
    baselines: Annotated[bool, typer.Option(help="Also without what Rotom, and without what Fhelipe lacks.")] = True,
    without: Annotated[
        bool, typer.Option("--ablation", help="Instead: what each technique gives, as predicted.")
    ] = False,
    run: Annotated[bool, typer.Option("--run", help="With --ablation: also as measured.")] = False,
    tuned: Annotated[
        bool, typer.Option("--tuning", help="Instead: what the constants of the search for layouts do.")
    ] = False,
    tables: Annotated[
        bool, typer.Option("--tables", help="Instead: the paper's Tables 1 to 3, and packings of BOLT and THOR.")
    ] = False,
    limit: Annotated[float, typer.Option(help="Seconds of one run that a baseline may take, as predicted.")] = 180.0,
    threads: Annotated[int, typer.Option(min=0, help="Of a run; 0: one per core.")] = 1,
    memory: Annotated[
        str, typer.Option(help="Budget of a workload's servers; half of what is left if not given.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile and run the workloads encrypted; counts and times of one run each, beside baselines."""
    if n not in SLOTS:
        raise UserError(f"bench rotom: --n {n}; the workloads have sizes for {' and '.join(map(str, SLOTS))} slots")
    chosen = [w for w in workloads(n) if not names or w.name in [name.strip() for name in names.split(",")]]
    if not chosen:
        raise UserError(f"bench rotom: {names!r} names none of {', '.join(w.name for w in workloads(n))}")
    limits = Limits(run_seconds=limit, memory_bytes=parse_bytes(memory) if memory else None)
    conditions: dict[str, Any] = {"slots": n, "precision asked, bits": PRECISION_BITS, "threads": threads or "all"}
    if memory:
        conditions["memory of servers"] = memory
    if without:
        show_ablation(chosen, n, runs if run else 0, limits, conditions, json)
        return
    if tuned:
        with err.status("") as status:
            show(report("rotom tuning", list(tuning(chosen, n, status.update)), conditions), json)
        return
    if tables:
        show(report("rotom tables", [*conversion_rows(), *product_rows(), *packing_rows()], conditions), json)
        return
    rows: list[Row] = []
    lines: dict[str, list[dict[str, Any]]] = {}
    conditions["programs"] = {}
    found: dict[str, list[Faster]] = {}
    with err.status("") as status:
        for workload in chosen:
            status.update(workload.name)
            ours = prepare(workload, n)
            assert isinstance(ours, Measured), ours
            others = prepare_baselines(workload, n, limits, ours) if baselines else []
            ways = [ours, *(other for other in others if isinstance(other, Measured))]
            ours, *measured = run_in_turns(workload, ways, runs, limits, threads, watched=True)
            rows += figures_of(workload, ours, conditions["programs"], lines)
            if baselines:
                later = iter(measured)
                rows += compared(workload, ours, [o if isinstance(o, str) else next(later) for o in others], found)
    rows += means(found, [workload.name for workload in chosen])
    if not names:
        rows += [*conversion_rows(), *product_rows(), *packing_rows()]
    show(report("rotom", rows, conditions, lines), json)


def show_ablation(
    chosen: Sequence[Workload], slots: int, runs: int, limits: Limits, conditions: dict[str, Any], json: bool
) -> None:
    """Print what each technique gives."""
    with err.status("") as status:
        rows = list(ablation(chosen, slots, runs, limits, status.update))
    content = report("rotom ablation", rows, conditions)
    if json:
        show(content, json)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    console.print(pivot(content["rows"]))


def figures_of(
    workload: Workload, found: Measured, programs: dict[str, Any], tables: dict[str, list[dict[str, Any]]]
) -> Iterator[Row]:
    """Rows of one workload; facts about its plan and the table of its lines go to the dictionaries."""
    programs[workload.name] = facts(found.plan)
    tables[workload.name] = [layer.content() for layer in layers(found.plan, found.cost, found.by_place)]

    def row(metric: str, unit: str, ours: float | None, target: float | None = None) -> Row:
        golden = COUNTED.get(metric)
        reference = workload.measured.get(golden) if golden else None
        wanted = reference if golden in LIMITS else target
        return Row(
            workload.name, metric, unit, None if ours is None else float(ours), reference,
            None if reference is None else MEASURED, wanted, checked=found.is_right,
        )  # fmt: skip

    yield from (row(metric, unit, value) for metric, unit, value in figures(found.plan, found.cost))
    assert found.made is not None
    yield from found.made.rows(workload.name, COMPILE_SECONDS.get(workload.name, 10.0))
    yield row("first run", "s", found.times[0].wall)
    yield from run_rows(workload.name, found)
    yield from network_rows(workload.name, found)
    yield row("largest error, of the largest result", "", found.error, target=2.0**-PRECISION_BITS)
