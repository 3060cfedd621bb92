"""`run`: a program on encrypted inputs, at the server."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from latticework.commands.command_files import STANDARD, deliver, name, prepare, prepare_stream, source
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.command_table import RUN_OUTPUT
from latticework.commands.key_files import DEFAULT_FOLDER, key_file, key_files
from latticework.commands.named_words import split_name
from latticework.commands.profile_file import ProfileFile
from latticework.errors import DtypeError, TraceError, UserError
from latticework.errors.shown import count_noun
from latticework.plan.files.serialise import read_client
from latticework.plan.schema.schema import ClientSpec, IndexInput
from latticework.progress import ProgressBar
from latticework.runtime.exchange.encrypted import Encrypted, read_extent
from latticework.runtime.keys.key_sets import EVALUATION_FILE, refuse_secret_keys
from latticework.runtime.server.checkpoint import Checkpoint
from latticework.runtime.server.server import ONCE, Server

ALL_KEYS = "all"  # word of --key-memory


def run(
    talk: CommandOutput,
    plan: Path,
    inputs: list[str],
    keys: Path | None,
    writing: Mapping[str, Any],
    profile: Path | None,
    saving: Mapping[str, Any],
    serving: Mapping[str, Any],
) -> Outcome:
    """Evaluate a plan on encrypted inputs and write the outputs; see the table of commands."""
    output, force, each = writing["output"], writing["force"], writing["each"]
    checkpoint = saving["checkpoint"]
    read = [plan, *(Path(word) for word in inputs), *key_files(keys)]
    if each is None:
        prepare_stream(talk, output, force=force, inputs=read)
    elif checkpoint is not None or output != Path(RUN_OUTPUT):
        raise UserError(
            "--each takes neither --output nor --checkpoint: every file has its run, and its result its name"
        )
    is_kept = output != STANDARD
    until_written = None if checkpoint is None else Checkpoint(checkpoint, every=saving["every"], keep=is_kept)
    if checkpoint is not None and checkpoint.resolve() in [file.resolve() for file in (output, *read)]:
        raise UserError(f"--checkpoint {checkpoint}: another file of this command has that name; give one of its own")
    others = [file for file in (output, checkpoint) if file is not None]
    kernels = ProfileFile(talk, profile, serving["device"], force=force, inputs=read, others=others)
    refuse_secret_keys(keys or DEFAULT_FOLDER)
    with talk.step("load plan and keys"):
        serving = {**serving, "key_memory": _choose_key_memory(plan, inputs, serving, each)}
        server = Server.load(plan, _keys_of(plan, keys), **serving)
    with talk.step("load inputs"):
        files, integers = split_integers(server.plan.client, inputs)
        results = [] if each is None else results_in(talk, each, files, force=force, inputs=read)
        if each is not None:
            members = [server.load_encrypted(source(file)) for file in files]
            return _run_each(talk, server, members, integers, results, kernels)
        has_many = (_count_runs(server.plan.client, files) or 1) > 1
        encrypted = [server.open_encrypted(f) if has_many else server.load_encrypted(source(f)) for f in files]
    started = time.perf_counter()
    with ProgressBar("evaluating") as bar, kernels:
        result = server.run(*encrypted, on_event=talk.listener(bar), integers=integers, checkpoint=until_written)
    seconds = time.perf_counter() - started
    with talk.step("write outputs"):
        size, data = deliver(output, lambda: result.save(output), result.to_bytes)
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
    return Outcome(
        {"output": str(output), "bytes": size, "seconds": seconds, "key_traffic": _traffic(server), **kernels.facts},
        (f"wrote {name(output)} ({size / 1e6:.2f} MB) after {seconds:.2f} s",),
        kernels.text,
        data,
    )


def _keys_of(plan: Path, given: Path | None) -> Path | None:
    """The evaluation keys; None where there are none, and the plan needs none."""
    try:
        return key_file(given, EVALUATION_FILE)
    except FileNotFoundError:
        if given is not None or read_client(plan).manifest.uses:
            raise
        return None


def _choose_key_memory(plan: Path, words: list[str], serving: Mapping[str, Any], each: Path | None) -> str | None:
    """Choose the server's memory for keys; for one run on the host, where none is named, they are read as they are
    used."""
    given: str | None = serving["key_memory"]
    is_asked = given is not None or serving["memory"] is not None or serving["device"] != "cpu"
    if is_asked or each is not None:
        return None if given == ALL_KEYS else given
    spec = read_client(plan)
    files, _ = split_integers(spec, words)
    return ONCE if _count_runs(spec, files) == 1 else None


def _count_runs(spec: ClientSpec, files: list[Path]) -> int | None:
    """Runs of the plan that files of inputs are for; None where not all are files, or are missing."""
    if not all(file != STANDARD and file.is_file() for file in files):
        return None
    extents = (read_extent(file) for file in files)
    return max((spec.runs_for(extent.runs) for extent in extents if extent is not None), default=1)


def _traffic(server: Server) -> dict[str, float] | None:
    """Traffic of keys that stay in their file; None where all are in memory."""
    return None if server.key_traffic is None else asdict(server.key_traffic)


def _run_each(
    talk: CommandOutput,
    server: Server,
    encrypted: list[Encrypted],
    integers: dict[str, int],
    results: list[Path],
    kernels: ProfileFile,
) -> Outcome:
    """A run for each of the inputs, all together, and their results written."""
    started = time.perf_counter()
    with ProgressBar("evaluating") as bar, kernels:
        found = server.run_many(encrypted, on_event=talk.listener(bar), integers=integers)
    seconds = time.perf_counter() - started
    with talk.step("write outputs"):
        for path, result in zip(results, found, strict=True):
            result.save(path)
    sizes = [path.stat().st_size for path in results]
    return Outcome(
        {"outputs": [str(path) for path in results], "bytes": sizes, "seconds": seconds,
         "key_traffic": _traffic(server), **kernels.facts},
        (f"wrote {count_noun(len(results), 'result')} ({sum(sizes) / 1e6:.2f} MB) to {results[0].parent} after "
         f"{seconds:.2f} s",),
        kernels.text,
    )  # fmt: skip


def results_in(talk: CommandOutput, folder: Path, files: list[Path], *, force: bool, inputs: list[Path]) -> list[Path]:
    """Choose the result file of each input file, in a folder that is there.

    raises  UserError for standard input and pipes, which have no name; what `prepare` raises
    """
    nameless = [file for file in files if file == STANDARD or file.is_fifo()]
    if nameless or not files:
        reason = f"{nameless[0]} has no name" if nameless else "there are only integers"
        raise UserError(f"--each gives every result the name of its file, and {reason}: name files of encrypted inputs")
    results = [folder / file.name for file in files]
    prepare(talk, *results, force=force, inputs=inputs)
    return results


def split_integers(spec: ClientSpec, words: list[str]) -> tuple[list[Path], dict[str, int]]:
    """Files, and run-time integers by name, from words such as `in.lwct` and `n=60`.

    raises  UsageError for an unknown name, TraceError for one that is given twice, DtypeError for no whole number
    """
    names = [i.name for i in spec.inputs if isinstance(i, IndexInput)]
    files: list[Path] = []
    integers: dict[str, int] = {}
    for word in words:
        name, value = split_name(word, names, "run-time integer")
        if not name:
            files.append(Path(value))
        elif name in integers:
            raise TraceError(f"{word}: {name} was given before; give every input once")
        elif not re.fullmatch(r"[-+]?\d+", value):
            raise DtypeError(f"{word}: {name} is a whole number that everybody may see; write {name}=60")
        else:
            integers[name] = int(value)
    return files, integers
