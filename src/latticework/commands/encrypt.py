"""`encrypt`: the inputs of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from latticework.commands.arrays import read_values
from latticework.commands.console import Insecure, Target, Threads, prepare, reported, say
from latticework.errors import TraceError
from latticework.runtime import Client
from latticework.runtime.keys import PUBLIC_FILE


@reported
def encrypt(
    client: Annotated[Path, typer.Argument(help="Client file.")],
    inputs: Annotated[list[str], typer.Argument(help="INPUT.npy, or NAME=INPUT.npy, or NAME=3 for an integer.")],
    part: Annotated[
        bool, typer.Option("--part", help="Only some of the inputs, by name; `run` takes files with the others too.")
    ] = False,
    keys: Annotated[Path, typer.Option("--keys", "-k", help="Key folder, secret.lwkey or public.lwkey.")] = Path(
        "keys"
    ),
    output: Target = Path("inputs.lwct"),
    threads: Threads = 0,
    insecure: Insecure = False,
) -> None:
    """Encrypt the inputs of one run."""
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    positional, named = read_inputs(owner, inputs)
    prepare(output)
    load_encryption_key(owner, keys)
    if part and positional:
        raise TraceError(
            f"encrypt --part: {len(positional)} of the inputs given have no name; write NAME=INPUT.npy for one of "
            f"{', '.join(input_names(owner))}"
        )
    encrypted = owner.encrypt_part(**named) if part else owner.encrypt(*positional, **named)
    encrypted.save(output)
    others = [name for name in input_names(owner) if part and name not in named]
    rest = f"; holds {', '.join(named)}, not {', '.join(others)}" if others else ""
    say(f"wrote {output} ({output.stat().st_size / 1e6:.2f} MB){rest}")


def input_names(owner: Client) -> list[str]:
    """What users call the inputs."""
    return [i.name for i in owner.spec.arguments or owner.spec.inputs]


def read_inputs(owner: Client, arguments: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named inputs from command-line words.

    raises  TraceError for several arrays as one input, and for one name twice; FileNotFoundError naming the inputs
            there are
    """
    names = input_names(owner)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for word in arguments:
        name, equals, value = word.partition("=")
        is_named = bool(equals) and name in names
        read = _input(value if is_named else word, names)
        if is_named and isinstance(read, dict):
            raise TraceError(
                f"{word}: {value} is an .npz with the arrays {', '.join(read)}, which name their inputs themselves; "
                f"give it as {value} alone, or one array as {name}=INPUT.npy"
            )
        found = {name: read} if is_named else read
        if isinstance(found, dict):
            twice = [key for key in found if key in named]
            if twice:
                raise TraceError(f"{word}: {', '.join(twice)} was given before; give every input once")
            named.update(found)
        else:
            positional.append(found)
    return positional, named


def _input(word: str, names: list[str]) -> Any:
    if Path(word).is_file():
        return read_values(Path(word))
    try:
        return int(word)
    except ValueError:
        raise FileNotFoundError(
            f"{word!r} is neither a file nor a whole number; give INPUT.npy, NAME=INPUT.npy, or NAME=3 for a "
            f"run-time integer; the program has the inputs {', '.join(names)}"
        ) from None


def load_encryption_key(owner: Client, keys: Path) -> None:
    """The secret key of a folder, or the key a file holds."""
    if keys.name == PUBLIC_FILE:
        owner.load_public_key(keys)
    else:
        owner.load_keys(keys)
