"""`latticework bench like`: twenty models trained again, and what each keeps; every result is compared with its oracle.

Keys are made once, for the first model, and nothing is made for those that follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.retraining.cases import Trained, cases
from bench.rows import Row, report, show
from latticework.errors import UserError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
ROUNDING = 1e-6  # of PyTorch's float32


@app.command()
def main(
    names: Annotated[str, typer.Option("--models", help="by semicolon; all if not given")] = "",
    again: Annotated[int, typer.Option("--again", help="how often each is trained again")] = 1,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Train models again, and say how many keep the secret key, all evaluation keys, and the client file."""
    known = cases()
    chosen = names.split(";") if names else list(known)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: models are {'; '.join(known)}")
    made = list(rows(chosen, again))
    show(report("like", [*made, *count(made)], {"trained_again": again}), json)


def rows(names: list[str], again: int) -> Iterator[Row]:
    """A row for each model that was trained again."""
    known = cases()
    for name in names:
        train = known[name]
        with err.status(name):
            first = train(np.random.default_rng(100))
            old = compile_case(first)
            keys = old.client().keygen()
            for number in range(again):
                yield row_of(name, train(np.random.default_rng(200 + number)), old, keys)


def compile_case(trained: Trained, **more: Any) -> lw.Model:
    """Compile a trained model."""
    data = {} if trained.data is None else {"calibrate": trained.data}
    return lw.compile(trained.program, **data, **trained.options, **more)


def row_of(name: str, trained: Trained, old: lw.Model, keys: Any) -> Row:
    """One model like the old one, run with the keys of that."""
    try:
        new = compile_case(trained, like=old)
    except UserError as error:
        return Row(name, "kept parts", "of 3", 0, target=2, better="higher", note=error.message)
    kept = new.plan.kept
    assert kept is not None
    if kept.new_keys:
        return Row(name, "kept parts", "of 3", 1, target=2, better="higher", note=str(kept))
    client = old.client(keys=keys) if kept.client else new.client(keys=keys)
    request = client.encrypt(trained.shown)
    got = client.decrypt(new.server(keys.public())(request))
    off = float(np.max(np.abs(np.asarray(got.reveal()) - trained.oracle(trained.shown))))
    within = off <= got.error_bound + ROUNDING
    note = (
        str(kept) + "".join(f"; {said}" for said in (*kept.why, *kept.notes)) + ("" if within else f": OFF by {off:g}")
    )
    details = {"kept": list(kept.list_kept()), "why": list(kept.why), "off": off, "error_bound": got.error_bound}
    return Row(
        name, "kept parts", "of 3", len(kept.list_kept()) if within else 0, target=2, better="higher", checked=True,
        note=note, details=details,
    )  # fmt: skip


def count(made: list[Row]) -> Iterator[Row]:
    """How many keep what."""
    for least, what in ((1, "secret key"), (2, "all evaluation keys"), (3, "client file")):
        number = sum((row.ours or 0) >= least for row in made)
        yield Row(
            "all", f"keep {what}", "models", number, target=len(made) if least < 3 else None, better="higher",
            checked=all(row.checked for row in made),
        )  # fmt: skip
