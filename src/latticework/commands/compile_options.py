"""Options of the commands that compile a program: what it is compiled with, and how precisely."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

WeightsFile = Annotated[Path | None, typer.Option(help=".npz with one array per weight, by parameter name.")]
CalibrateFile = Annotated[Path | None, typer.Option(help=".npy or .npz with data like the inputs.")]
ExampleFile = Annotated[Path | None, typer.Option(help=".npy or .npz with inputs that have no shape.")]


def _degrees(text: str) -> int | list[int]:
    """One degree, or several between commas."""
    numbers = text.split(",")
    if not all(number.strip().isdecimal() for number in numbers):
        raise typer.BadParameter(f"{text!r} is no whole number, nor several between commas")
    found = [int(number) for number in numbers]
    return found[0] if len(found) == 1 else found


Degree = Annotated[
    Any,
    typer.Option(
        parser=_degrees, metavar="N[,N...]",
        help="Of every function to which the program gives none; or one for each of them, by commas.",
    ),
]  # fmt: skip
AgreementShare = Annotated[
    float | None, typer.Option(help="Share of decisions that are to stay, by which degrees are chosen: 0.995.")
]
Tolerance = Annotated[
    float | None, typer.Option(help="Largest error of functions in the first output, by which degrees are chosen.")
]
PrecisionBits = Annotated[float, typer.Option(help="Bits of every output, relative to the largest.")]
RingDegree = Annotated[int | None, typer.Option(help="N; the smallest that fits if not given.")]
SecurityBits = Annotated[int, typer.Option(help="128, 192 or 256.")]
AllowInsecure = Annotated[bool, typer.Option(help="Allow a ring degree below the security asked for.")]
CostTableFile = Annotated[
    Path | None, typer.Option(help="Table of `measure`; the one that comes with the package if not given.")
]
