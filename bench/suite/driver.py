"""`latticework bench suite`: workloads of the community's benchmark suite, each stage in a process of its own."""

from __future__ import annotations

import datetime
import json as json_text
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from bench.rows import report, show
from bench.suite.figures import rows_of
from bench.suite.mnist_workload import Mnist
from bench.suite.server_place import ServerPlace, without_secrets
from bench.suite.similarity_workload import Similarity
from bench.suite.stage_process import StageUsage, run_stage
from bench.suite.workload import Size, Workload
from latticework.commands.machine.machine_description import commit, describe_machine
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
WORKLOADS: dict[str, Callable[[Path | None], Workload]] = {"mnist": Mnist, "similarity": lambda _: Similarity()}


@app.command()
def suite(
    workload: Annotated[str, typer.Argument(help=", ".join(WORKLOADS))],
    sizes: Annotated[str, typer.Option(help="By commas: single,small,medium,large or toy,small; else the first.")] = "",
    digits: Annotated[Path | None, typer.Option(help="Of mnist: .npz with images (n, 28, 28) and labels (n).")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Inputs, one after the other, for the keys of a size.")] = 1,
    seed: Annotated[int, typer.Option(help="Of data; keys and encryption are always random.")] = 0,
    work: Annotated[Path | None, typer.Option(help="Folder to work in, and to keep; else one that is removed.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run all stages of some sizes, check results, and print what they take beside targets and published figures."""
    if workload not in WORKLOADS:
        raise UserError(f"bench suite: there is no workload {workload!r}; give one of {', '.join(WORKLOADS)}")
    chosen = WORKLOADS[workload](digits)
    rows = []
    with working_folder(work) as folder:
        for size in sizes_of(chosen, sizes):
            rows += rows_of(chosen, size, run_size(chosen, size, folder / chosen.name, runs, seed))
    conditions = {
        "seconds": "wall time of the stage's process, start included; the median of the runs",
        "without start": "what the stage's command tells of by -v: reading, work and writing",
        "threads": num_threads(),
        "runs": runs,
        "security": "128 bits",
    }
    show(report("suite", rows, conditions), json)


@contextmanager
def working_folder(given: Path | None) -> Iterator[Path]:
    """The folder that was given, or a temporary one."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given.resolve()
    else:
        with tempfile.TemporaryDirectory() as place:
            yield Path(place)


def sizes_of(workload: Workload, names: str) -> list[Size]:
    """The sizes of some names, by commas; the first one without any."""
    wanted = names.split(",") if names else [next(iter(workload.sizes))]
    for name in wanted:
        if name not in workload.sizes:
            listed = ", ".join(workload.sizes)
            raise UserError(f"bench suite {workload.name}: there is no size {name!r}; give one of {listed}")
    return [workload.sizes[name] for name in wanted]


def run_size(workload: Workload, size: Size, folder: Path, runs: int, seed: int) -> list[dict[str, Any]]:
    """Run all stages of a size, and write what they took to `measurements`, a file a run.

    folder   of the client's and the server's, where a submission that was built before is used again
    returns  what the files hold
    raises   StageError for a stage that fails; SecretKeyError for a secret key within the server's reach
    """
    client = folder / "client"
    build(workload, size, client)
    shutil.rmtree(client / "io" / size.name, ignore_errors=True)
    (client / "io" / size.name).mkdir(parents=True)
    server = ServerPlace(client, folder / "server")
    rng = np.random.default_rng([seed, size.number])
    workload.write_dataset(client, size, rng)
    once = {name: run_one(workload, size, server, name) for name in workload.once}
    measured = []
    for run in range(1, runs + 1):
        workload.write_input(client, size, rng)
        usages = once | {name: run_one(workload, size, server, name) for name in workload.each}
        measured.append(describe_run(workload, size, run, usages, client))
        place = client / "measurements" / size.measured
        place.mkdir(parents=True, exist_ok=True)
        begun = place / f"results-{run}.json.begun"
        begun.write_text(json_text.dumps(measured[-1], indent=1))
        begun.replace(place / f"results-{run}.json")
    return measured


def build(workload: Workload, size: Size, client: Path) -> None:
    """Copy the submission, complete it, and compile the plan of a size, unless there is one that is newer."""
    submission = client / "submission"
    shutil.copytree(
        workload.submission, submission, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "build")
    )
    with err.status(f"{workload.name}, {size.name}: building"):
        workload.complete(submission)
        run_stage([str(submission / "scripts" / "build_task.sh"), str(submission), size.name], client)


def run_one(workload: Workload, size: Size, server: ServerPlace, name: str) -> StageUsage:
    """Run a stage where it belongs: the server's where there is only what the client sends, and no secret anywhere."""
    command = [f"submission/build/{name}", str(size.number), *workload.options]
    io = f"io/{size.name}"
    with err.status(f"{workload.name}, {size.name}: {name}"):
        if not name.startswith("server_"):
            return run_stage(command, server.client)
        server.send(f"{io}/{folder}" for folder in workload.to_server)
        with without_secrets(server.client):
            usage = run_stage(command, server.root)
        server.fetch(f"{io}/{workload.from_server}")
        return usage


def describe_run(
    workload: Workload, size: Size, run: int, usages: dict[str, StageUsage], client: Path
) -> dict[str, Any]:
    """What a file of results holds."""
    io = client / "io" / size.name
    return {
        "workload": workload.name, "size": size.name, "count": size.count, "run": run,
        "date": datetime.datetime.now().isoformat(timespec="seconds"), "commit": commit(),
        "machine": describe_machine(), "threads": num_threads(),
        "stages": {name: usage.content() for name, usage in usages.items()},
        "bytes": {what: num_bytes(io / place) for what, place in workload.sent.items()},
        "quality": workload.check(client, size, usages),
    }  # fmt: skip


def num_bytes(place: Path) -> int:
    """Bytes of a file, or of all files in a folder; 0 for what is not there."""
    files = place.rglob("*") if place.is_dir() else [place]
    return sum(file.stat().st_size for file in files if file.is_file())


def num_threads() -> int:
    """Threads of a stage: as many as there are cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
