"""`run`: a program on encrypted inputs, at the server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.console import Target, Threads, prepare, reported, say
from latticework.progress import ProgressBar
from latticework.runtime import Server
from latticework.runtime.server import DEFAULT_MEMORY


@reported
def run(
    plan: Annotated[Path, typer.Argument(help="Plan file.")],
    inputs: Annotated[list[Path], typer.Argument(help="Encrypted inputs: one file, or several that hold parts.")],
    keys: Annotated[
        Path, typer.Option("--keys", "-k", help="evaluation.lwkeys, or its folder without a secret key.")
    ] = Path("keys"),
    output: Target = Path("outputs.lwct"),
    memory: Annotated[str, typer.Option(help="Budget for encoded weights and what later runs need.")] = DEFAULT_MEMORY,
    key_memory: Annotated[
        str | None, typer.Option(help="Budget for keys, read from their file when needed; else all are in memory.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu")] = "cpu",
    threads: Threads = 0,
) -> None:
    """Evaluate a program on encrypted inputs. Needs no secret key, and refuses one."""
    prepare(output)
    server = Server.load(plan, keys, memory=memory, key_memory=key_memory, device=device, threads=threads)
    encrypted = [server.load_encrypted(file) for file in inputs]
    started = time.perf_counter()
    with ProgressBar("evaluating") as bar:
        result = server(*encrypted, on_event=bar)
    seconds = time.perf_counter() - started
    result.save(output)
    say(f"wrote {output} ({output.stat().st_size / 1e6:.2f} MB) after {seconds:.2f} s")
