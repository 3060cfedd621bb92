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
    encrypted = owner.encrypt(*positional, **named)
    encrypted.save(output)
    say(f"wrote {output} ({output.stat().st_size / 1e6:.2f} MB)")


def read_inputs(owner: Client, arguments: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and named inputs from command-line words.

    raises  TraceError for several arrays as one input; FileNotFoundError naming the inputs there are
    """
    names = [i.name for i in owner.spec.arguments or owner.spec.inputs]
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
        if is_named:
            named[name] = read
        elif isinstance(read, dict):
            named.update(read)
        else:
            positional.append(read)
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
