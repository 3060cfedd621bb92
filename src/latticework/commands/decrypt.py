"""`decrypt`: the outputs of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from latticework.commands.arrays import write_arrays
from latticework.commands.console import Insecure, Threads, prepare, reported, say
from latticework.runtime import Client, OwnerValue


@reported
def decrypt(
    client: Annotated[Path, typer.Argument(help="Client file.")],
    outputs: Annotated[Path, typer.Argument(help="Encrypted outputs.")],
    keys: Annotated[Path, typer.Option("--keys", "-k", help="Key folder, or secret.lwkey.")] = Path("keys"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=".npy (or .npz for several outputs); else printed.")
    ] = None,
    threads: Threads = 0,
    insecure: Insecure = False,
) -> None:
    """Decrypt the outputs of a run, for the key owner: the low bits of a result reveal the key if published."""
    if output is not None:
        prepare(output)
    owner = Client.load(client, threads=threads, allow_insecure=insecure)
    owner.load_keys(keys)
    values = owner.decrypt(owner.load_encrypted(outputs))
    arrays = named_arrays(values)
    if output is None:
        for name, value in arrays.items():
            say(f"{name} =")
            print(np.array2string(value, precision=6, suppress_small=True))
        return
    write_arrays(output, arrays)
    say(f"wrote {output}, readable by you only; do not publish it")


def named_arrays(values: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Decrypted values by output name."""
    if isinstance(values, OwnerValue):
        return {"result": values.reveal()}
    if isinstance(values, tuple):
        values = {f"result{i}": value for i, value in enumerate(values)}
    nested = {name: named_arrays(value) for name, value in values.items()}  # of circuits, whose results may be nested
    return {
        name if inner == "result" else f"{name}.{inner}": array
        for name, arrays in nested.items()
        for inner, array in arrays.items()
    }
