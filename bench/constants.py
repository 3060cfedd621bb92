"""`latticework bench constants`: runs of networks whose encoded constants do not fit their memory, by memory.

Each run is that of a process of its own, on one thread, whose processor time counts: a first run, and later ones. With
`--old` the sources of another checkout run the same plan on the same keys and inputs in turns with these, and its times
are the reference; its results must be the same bytes. Plans and keys stay in `--folder`, and are found there again.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

import latticework as lw
from bench.rows import Row, report, show
from latticework.commands.benchmarks import ROOT

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
WIDTH = 2048  # of the dense layers

# A process imports the library alone, of whichever checkout: arguments are folder, memory, runs, prepared file or "".
RUN = """
import hashlib, json, sys, time
from pathlib import Path
import latticework as lw
folder, memory, runs, prepared = sys.argv[1:]
options = {"prepared": prepared} if prepared else {}
start = time.process_time()
place = Path(folder)
server = lw.Server.load(place / "plan.lwplan", place / "server", memory=memory or None, threads=1, **options)
sent = server.load_encrypted(place / "input.lwct")
times = [time.process_time() - start]
for _ in range(int(runs)):
    start = time.process_time()
    answer = server(sent)
    times.append(time.process_time() - start)
lines = Path("/proc/self/status").read_text().splitlines()  # `getrusage` counts what the starting process held
peak = 1024 * int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
print(json.dumps([times, peak, hashlib.sha256(answer.to_bytes()).hexdigest()]))
"""


class Network(NamedTuple):
    """A network, and the budgets of memory that it runs in.

    made    returns the model, and one row for each of its inputs; given a file of digits or None
    """

    made: Callable[[Path | None], tuple[lw.Model, tuple[Any, ...]]]
    memory: tuple[str, ...]


class Times(NamedTuple):
    """Processor seconds of loading, of the first run and of later ones, the peak of the process, and what came out."""

    load: float
    first: float
    later: float
    peak: float
    result: str


def _dense(_digits: Path | None) -> tuple[lw.Model, tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    weights = tuple(rng.normal(size=(WIDTH, WIDTH)) / 30 for _ in range(2))
    rows = rng.uniform(-1, 1, (8, WIDTH))

    @lw.program
    def dense(x: lw.Secret[WIDTH], w1: Any, w2: Any) -> Any:
        return w2 @ ((w1 @ x) ** 2 + x) ** 2

    return lw.compile(dense, ring_degree=1 << 16, calibrate=rows, weights=weights), (rows[0],)


def _of_zoo(name: str) -> Callable[[Path | None], tuple[lw.Model, tuple[Any, ...]]]:
    def made(digits: Path | None) -> tuple[lw.Model, tuple[Any, ...]]:
        from bench.zoo.cases import ENTRIES
        from bench.zoo.measure import as_input

        entry = ENTRIES[name]
        found = entry.made(entry.prepare(digits) if entry.of_digits else entry.prepare())
        model = lw.compile(found.program, calibrate=found.calibrate, **found.options)
        rows = found.rows if isinstance(found.rows, tuple) else (found.rows,)
        return model, tuple(as_input(model, place, each[0]) for place, each in enumerate(rows))

    return made


NETWORKS = {
    "dense": Network(_dense, ("0.6GB", "0.9GB", "")),
    "icalabel": Network(_of_zoo("icalabel"), ("8GB",)),
    "resnet20": Network(_of_zoo("resnet20"), ("7GB",)),
    "minilm": Network(_of_zoo("minilm"), ("6GB",)),
}


@app.command()
def constants(
    only: Annotated[str, typer.Option(help=f"Networks, by comma, of {', '.join(NETWORKS)}.")] = "dense",
    memory: Annotated[str, typer.Option(help="Budgets instead of those of the networks, by comma.")] = "",
    old: Annotated[Path | None, typer.Option(help="The `src` of another checkout, built.")] = None,
    prepared: Annotated[bool, typer.Option(help="Run with a prepared file as well.")] = False,
    digits: Annotated[Path | None, typer.Option(help="Images and labels, for resnet20.")] = None,
    folder: Annotated[Path, typer.Option(help="For plans and keys.")] = Path("bench-constants"),
    rounds: Annotated[int, typer.Option(min=1, help="Processes of each kind, in turns; medians count.")] = 3,
    runs: Annotated[int, typer.Option(min=2, help="Of each process.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time networks whose encoded constants do not fit their memory."""
    rows: list[Row] = []
    for name in only.split(","):
        place = folder / name
        _make(NETWORKS[name], place, digits, prepared)
        for budget in memory.split(",") if memory else NETWORKS[name].memory:
            rows += _measure(name, place, budget, old, prepared, rounds, runs)
    conditions = {"clock": "processor", "threads": 1, "rounds": rounds, "runs of a process": runs}
    show(report("constants", rows, conditions), as_json)


def _make(network: Network, place: Path, digits: Path | None, prepared: bool) -> None:
    """Compile, make keys and encrypt a row, as far as that is not there."""
    place.mkdir(parents=True, exist_ok=True)
    if not (place / "input.lwct").exists():
        if not (place / "rows").exists():
            model, rows = network.made(digits)
            model.save(place / "plan.lwplan")
            (place / "rows").write_bytes(pickle.dumps(rows))
        model, rows = lw.Model.load(place / "plan.lwplan"), pickle.loads((place / "rows").read_bytes())
        client = model.client(threads=1)
        client.keygen(place / "keys")
        (place / "server").mkdir(exist_ok=True)
        os.link(place / "keys" / "evaluation.lwkeys", place / "server" / "evaluation.lwkeys")
        client.encrypt(*rows).save(place / "input.lwct")
    if prepared:
        lw.Model.load(place / "plan.lwplan").prepare(place / "constants.lwprepared", threads=1)


def _measure(
    name: str, place: Path, budget: str, old: Path | None, prepared: bool, rounds: int, runs: int
) -> list[Row]:
    ways = {"new": (ROOT / "src", ""), **({"old": (old, "")} if old else {})}
    if prepared:
        ways["prepared"] = (ROOT / "src", str(place / "constants.lwprepared"))
    taken: dict[str, list[Times]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (source, file) in ways.items():
            taken[way].append(_run(source, place, budget, runs, file))
    results = {times.result for way in taken.values() for times in way}
    if len(results) > 1:
        raise RuntimeError(f"{name} within {budget or 'all memory'} gives other bytes in one way than in another")
    return rows_of(f"{name}, {budget or 'no budget'}", {way: _median(found) for way, found in taken.items()})


def _run(source: Path, place: Path, budget: str, runs: int, prepared: str) -> Times:
    around = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, "-c", RUN, str(place), budget, str(runs), prepared]
    told = subprocess.run(command, env=around, capture_output=True, text=True, check=False)
    if told.returncode != 0:
        raise RuntimeError(f"a run within {budget or 'all memory'} failed: {told.stderr.strip()[-500:]}")
    (load, first, *later), peak, result = json.loads(told.stdout)
    return Times(load, first, median(later), peak, result)


def _median(found: list[Times]) -> Times:
    numbers = [median(column) for column in list(zip(*found, strict=True))[:-1]]
    return Times(*numbers, found[0].result)


def rows_of(case: str, found: dict[str, Times]) -> list[Row]:
    """Later runs by those of the other checkout, first runs by later ones, and peaks."""
    new, old = found["new"], found.get("old")
    rows = [
        Row(case, "later run", "s", new.later, old and old.later, "the other checkout", checked=old is not None),
        Row(case, "first run by a later one", "x", new.first / new.later, target=1.5),
        Row(case, "peak memory", "MB", new.peak / 1e6, old and old.peak / 1e6, "the other checkout"),
    ]
    if "prepared" in found:
        first = found["prepared"].first / found["prepared"].later
        rows.append(Row(case, "first run by a later one, prepared", "x", first, target=1.1, checked=True))
    return rows


if __name__ == "__main__":
    app()
