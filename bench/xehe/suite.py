"""`latticework bench xehe`: a GPU, or a simulated one, by the measures of the paper on XeHE and by ours."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from bench.rows import Row, report, show
from bench.xehe.parts import PARTS, conditions
from bench.xehe.place import DEVICES, Place
from latticework.runtime.devices.device import ARITHMETICS

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)


@app.command()
def xehe(
    device: Annotated[str, typer.Option(help=f"{' or '.join(DEVICES)}; sim counts, and says no times.")] = "cuda",
    arithmetic: Annotated[str, typer.Option(help="u64, fp64, or auto: the faster one; both for the ladder.")] = "auto",
    rates: Annotated[bool, typer.Option("--rates", help="The rates of the device alone.")] = False,
    parts: Annotated[str, typer.Option(help=f"By comma, of {', '.join(PARTS)}; all if not given.")] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Time transforms, routines, products of matrices, bootstraps and networks beside their bounds and the host."""
    if device not in DEVICES:
        raise typer.BadParameter(f"give {' or '.join(DEVICES)}", param_hint="--device")
    if arithmetic not in ARITHMETICS:
        raise typer.BadParameter(f"give one of {', '.join(ARITHMETICS)}", param_hint="--arithmetic")
    chosen = ["rates"] if rates else [word.strip() for word in parts.split(",") if word.strip()] or list(PARTS)
    for name in chosen:
        if name not in PARTS:
            raise typer.BadParameter(f"{name}: give some of {', '.join(PARTS)}", param_hint="--parts")
    place = Place.of(device, arithmetic)
    rows: list[Row] = []
    with err.status("measuring") as status:
        for name in chosen:
            for row in PARTS[name](place):
                rows.append(row)
                status.update(f"{name}: {row.case}")
    show(report("xehe", rows, conditions(place)), json)


if __name__ == "__main__":
    app()
