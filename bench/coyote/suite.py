"""`latticework bench coyote`: the Coyote paper's kernels, compiled and run encrypted beside scalar code."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatch
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.coyote.cases import Case, cases
from bench.coyote.means import Means
from bench.coyote.measuring import IN_A_ROW, PLAIN_BITS, RING_DEGREE, How, compiled, measure
from bench.coyote.outcomes import Outcome, rows_of
from bench.coyote.published import LARGE
from bench.coyote.studies import STUDIES
from bench.coyote.tables import table
from bench.rows import PLAIN_WIDTH, Row, report, show
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
EFFORTS, ALGORITHMS = ("fast", "normal", "max"), ("search", "annealing")


@app.command()
def coyote(
    effort: Annotated[str, typer.Option(help=f"Of the search: {', '.join(EFFORTS)}.")] = "normal",
    algorithm: Annotated[str, typer.Option(help="Ours, or annealing as the paper has it.")] = "search",
    only: Annotated[str, typer.Option(help="Cases, as names or patterns separated by commas; all if not given.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Seeds that `--study seeds` compiles with.")] = 5,
    runs: Annotated[int, typer.Option(min=1, help="Timed runs of either side, after a first one.")] = 5,
    threads: Annotated[int, typer.Option(min=0, help="Of both sides; 0: one per core.")] = 1,
    encrypt: Annotated[bool, typer.Option(help="Run encrypted; else results are simulated.")] = True,
    study: Annotated[str, typer.Option(help=f"Instead: one of {', '.join(STUDIES)}.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile the paper's kernels, count vector instructions, and time them encrypted beside scalar code."""
    for given, known in ((effort, EFFORTS), (algorithm, ALGORITHMS), (study, ("", *STUDIES))):
        if given not in known:
            raise UserError(f"bench coyote: {given!r} is none of {', '.join(filter(None, known))}")
    chosen = [case for case in cases() if is_chosen(case, only)]
    if not chosen:
        raise UserError(f"bench coyote: {only!r} names none of {', '.join(case.name for case in cases())}")
    clock = "processor time" if threads == 1 else "time"
    how = How(effort, algorithm, runs=runs if encrypt else 0, threads=threads)
    conditions: dict[str, Any] = {
        "ring degree": RING_DEGREE,
        "plaintext modulus, bits": PLAIN_BITS,
        "effort": effort,
        "algorithm": algorithm,
        "threads": threads or "all",
        "time": f"{clock}, median of at least {runs} turns of up to {IN_A_ROW} runs each" if encrypt else "not run",
        "scalar code": "one value a ciphertext, every product relinearised, same parameters",
        "checked": "results equal those of Python's integers modulo the plaintext modulus, on both sides",
    }
    with err.status("") as status:
        if study:
            rows = list(STUDIES[study](chosen if only else None, replace(how, seed=0), seeds, status.update))
            show(report(f"coyote {study}", rows, conditions), json)
            return
        found = []
        if algorithm == "annealing" and not only:  # it is not meant for circuits of that size
            chosen = [case for case in chosen if case.name != LARGE]
            conditions["left out"] = f"{LARGE}, which takes minutes: name it with --only"
        warm_up(how)
        for case in chosen:
            status.update(case.name)
            found.append(measure(case, how))
    show_all(found, how, conditions, json)


def warm_up(how: How) -> None:
    """Compile something, so that the first case does not pay for imports."""
    compiled(Outcome(next(case for case in cases() if case.name == "dot.3.un")), replace(how, effort="fast"))


def is_chosen(case: Case, only: str) -> bool:
    """Whether a case matches one of the patterns, in which brackets are brackets."""
    patterns = [pattern.strip().replace("[", "[[]") for pattern in only.split(",")]
    return not only or any(fnmatch(case.name, pattern) or case.table == pattern for pattern in patterns)


def show_all(found: list[Outcome], how: How, conditions: dict[str, Any], json: bool) -> None:
    """Print a table with a line for each case and the figures over all; or everything as JSON."""
    means = list(Means(found).rows())
    rows: list[Row] = [row for outcome in found for row in rows_of(outcome, how.effort)]
    content = report("coyote", [*rows, *means], conditions)
    if json:
        show(content, json)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    console.print(table(found, f"coyote, commit {content['commit']}, {content['date']}"))
    show(content | {"rows": [row.content() for row in means]}, as_json=False)
