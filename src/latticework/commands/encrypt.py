"""`encrypt`: the inputs of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.array_files import read_values
from latticework.commands.command_files import deliver, name, prepare, prepare_stream
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.key_files import key_files, load_encryption_key
from latticework.commands.named_words import split_name
from latticework.commands.table_files import type_cells
from latticework.errors import TraceError, UserError
from latticework.runtime.client.client import Client
from latticework.runtime.client.input_check import InputCheck
from latticework.runtime.exchange.clipped import ClippedRows


def encrypt(
    talk: CommandOutput,
    client: Path,
    inputs: list[str],
    part: bool,
    outside: Mapping[str, Any],
    keys: Path | None,
    writing: Mapping[str, Any],
    opening: Mapping[str, Any],
) -> Outcome:
    """Encrypt the inputs of one run and write them; see the table of commands."""
    clip, keep, record = outside["clip"], outside["keep"], outside["record"]
    output, force = writing["output"], writing["force"]
    read = [client, *(Path(word.rpartition("=")[2]) for word in inputs), *key_files(keys)]
    prepare_stream(talk, output, force=force, inputs=read)
    if clip and keep:
        raise UserError("encrypt: --clip changes rows and --keep leaves them out; give one of them")
    if record is not None:
        if not clip:
            raise UserError("encrypt: --record is of --clip, which changes rows; give both")
        prepare(talk, record, force=force, inputs=[*read, output])
    owner = Client.load(client, **opening)
    positional, named = read_inputs(owner, inputs)
    load_encryption_key(owner, keys)
    if part and positional:
        raise TraceError(
            f"encrypt --part: {len(positional)} of the inputs given have no name; write NAME=INPUT.npy for one of "
            f"{', '.join(input_names(owner))}"
        )
    with talk.step("look at the inputs"):
        check = owner.check_part(**named) if part else owner.check(*positional, **named)
        chosen = check.clipped() if clip else check.kept() if keep else check.inputs()
        if chosen.clipped is not None:
            keep_record(owner, chosen.clipped, record)
    with talk.step("encrypt"):
        encrypted = owner.encrypt(chosen)
    with talk.step("write inputs"):
        size, data = deliver(output, lambda: encrypted.save(output), encrypted.to_bytes)
    missing = [n for n in input_names(owner) if part and n not in named]
    held = [n for n in input_names(owner) if n not in missing]
    rest = f"; holds {', '.join(held)}, not {', '.join(missing)}" if missing else ""
    return Outcome(
        {"output": str(output), "bytes": size, "inputs": held, "missing": missing, **_outside(check, clip, keep)},
        (*_describe_misfits(check, clip), f"wrote {name(output)} ({size / 1e6:.2f} MB){rest}"),
        data=data,
    )


def keep_record(owner: Client, clipped: ClippedRows, record: Path | None) -> None:
    """Save the record of clipped rows; UserError if it would be lost with this command."""
    if record is not None:
        clipped.save(record)
    elif not owner.keeps_clipped:
        raise UserError(
            "encrypt --clip: which rows are clipped is kept beside the secret key, and this is the public one; write "
            "it with --record FILE, and give that to whoever decrypts"
        )


def _outside(check: InputCheck, clip: bool, keep: bool) -> dict[str, Any]:
    """Facts that --json tells of rows that were changed, or left out."""
    rows = {"clipped_rows": list(check.rows)} if clip else {"left_out_rows": list(check.rows)} if keep else {}
    return {**rows, **({"findings": [str(finding) for finding in check.findings]} if rows else {})}


def _describe_misfits(check: InputCheck, clip: bool) -> tuple[str, ...]:
    if check.fits:
        return ()
    first, *more = str(check).splitlines()
    return (f"{'clipped' if clip else 'left out'}: {first}", *more)


def input_names(owner: Client) -> list[str]:
    """Names of the inputs, as users know them."""
    return owner.spec.given_names


def read_inputs(owner: Client, arguments: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named inputs from command-line words.

    raises  UsageError for an unknown name; TraceError for several arrays as one input, and for one name twice;
            FileNotFoundError naming the inputs there are
    """
    names = input_names(owner)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for word in arguments:
        name, value = split_name(word, names, "input")
        read = _input(value, names)
        if name and isinstance(read, dict):
            raise TraceError(
                f"{word}: {value} is an .npz with the arrays {', '.join(read)}, which name their inputs themselves; "
                f"give it as {value} alone, or one array as {name}=INPUT.npy"
            )
        wanted = name or (names[min(len(positional), len(names) - 1)] if names else "")
        read = type_cells(read, owner.spec.owner, wanted, owner.spec.columns_of(wanted))
        found = {name: read} if name else read
        if isinstance(found, dict):
            twice = [key for key in found if key in named]
            if twice:
                raise TraceError(f"{word}: {', '.join(twice)} was given before; give every input once")
            named.update(found)
        else:
            positional.append(found)
    return positional, named


def _input(word: str, names: list[str]) -> Any:
    if word == "-" or Path(word).is_file() or Path(word).is_fifo():
        return read_values(Path(word))
    try:
        return int(word)
    except ValueError:
        raise FileNotFoundError(
            f"{word!r} is neither a file nor a whole number; give INPUT.npy, INPUT.csv, NAME=INPUT.npy, or NAME=3 for "
            f"a run-time integer; the program has the inputs {', '.join(names)}"
        ) from None
