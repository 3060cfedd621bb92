"""`run`: a program on encrypted inputs, at the server."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.files import Force, Threads, deliver, name, prepare_stream, source
from latticework.commands.keys import DEFAULT_FOLDER, key_file, key_files
from latticework.commands.talk import Outcome, Talk, report_outcome
from latticework.progress import ProgressBar
from latticework.runtime import Server
from latticework.runtime.keys import EVALUATION_FILE, refuse_secret_keys
from latticework.runtime.server import DEFAULT_MEMORY


@report_outcome
def run(
    talk: Talk,
    plan: Annotated[Path, typer.Argument(help="Plan file.")],
    inputs: Annotated[
        list[Path], typer.Argument(help="Encrypted inputs: one file, or several that hold parts; - for standard input.")
    ],
    keys: Annotated[
        Path | None,
        typer.Option("--keys", "-k", help="evaluation.lwkeys, or its folder without a secret key; else `keys`."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - for standard output.")] = Path(
        "outputs.lwct"
    ),
    force: Force = False,
    memory: Annotated[str, typer.Option(help="Budget for encoded weights and what later runs need.")] = DEFAULT_MEMORY,
    key_memory: Annotated[
        str | None, typer.Option(help="Budget for keys, read from their file when needed; else all are in memory.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu")] = "cpu",
    threads: Threads = 0,
) -> Outcome:
    """Evaluate a program on encrypted inputs. Needs no secret key, and refuses one."""
    prepare_stream(talk, output, force=force, inputs=[plan, *inputs, *key_files(keys)])
    refuse_secret_keys(keys or DEFAULT_FOLDER)
    with talk.step("load plan and keys"):
        server = Server.load(
            plan, key_file(keys, EVALUATION_FILE), memory=memory, key_memory=key_memory, device=device, threads=threads
        )
    with talk.step("load inputs"):
        encrypted = [server.load_encrypted(source(file)) for file in inputs]
    started = time.perf_counter()
    with ProgressBar("evaluating") as bar:
        result = server(*encrypted, on_event=talk.listener(bar))
    seconds = time.perf_counter() - started
    with talk.step("write outputs"):
        size, data = deliver(output, lambda: result.save(output), result.to_bytes)
    return Outcome(
        {"output": str(output), "bytes": size, "seconds": seconds},
        (f"wrote {name(output)} ({size / 1e6:.2f} MB) after {seconds:.2f} s",),
        data=data,
    )
