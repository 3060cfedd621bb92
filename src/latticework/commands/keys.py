"""`keys`: loads of rotation keys placed in a program of HEIR."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from latticework.commands.files import Force, prepare
from latticework.commands.talk import Outcome, Talk, report_outcome
from latticework.errors import UserError
from latticework.interop.heir.keys import place_keys
from latticework.plan.amounts import parse_bytes


@report_outcome
def keys(
    talk: Talk,
    program: Annotated[str, typer.Argument(help="FILE.mlir of HEIR, or FILE.mlir:NAME if it holds several programs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Text to write.")] = Path("keyed.mlir"),
    force: Force = False,
    budget: Annotated[
        str | None,
        typer.Option(help="Rotation keys in memory at most: how many, or 4GB with --key-size; all if left out."),
    ] = None,
    key_size: Annotated[str | None, typer.Option(help="Of one rotation key, such as 130MB.")] = None,
    ahead: Annotated[
        int, typer.Option(help="Uses of keys before its own at which a key is asked for; 0: only when it is needed.")
    ] = 2,
    ring_degree: Annotated[int | None, typer.Option(help="N, for bootstraps; what the text says if not given.")] = None,
    boot_levels: Annotated[
        str | None, typer.Option(help="Level budgets of bootstraps, such as 3,3; what the text says if not given.")
    ] = None,
) -> Outcome:
    """Place loads of rotation keys in a program of HEIR, for a budget of memory."""
    file, _, name = program.partition(":")
    if not Path(file).is_file():
        raise FileNotFoundError(f"no such file: {file}")
    prepare(talk, output, force=force, inputs=[Path(file)])
    with talk.step("place the keys"):
        made = place_keys(
            file,
            budget=None if budget is None else _count(budget, key_size),
            ahead=ahead,
            function=name or None,
            ring_degree=ring_degree,
            boot_levels=None if boot_levels is None else _levels(boot_levels),
        )
    output.write_text(made.text, encoding="utf-8")
    counts = made.counts
    facts = {
        "text": str(output), "program": made.program, "keys": made.keys, "budget": made.budget, "uses": counts.uses,
        "loads": counts.loads, "asked_ahead": counts.requests, "most_in_memory": counts.most,
    }  # fmt: skip
    told = (
        f"{made.program}: {counts.uses} uses of {made.keys} rotation keys, {counts.loads} loads with at most "
        f"{counts.most} in memory (budget {made.budget})"
    )
    return Outcome(facts, (told, f"wrote {output}"))


def _count(budget: str, key_size: str | None) -> int:
    """Keys that a budget holds."""
    if budget.strip().isdecimal() and key_size is None:
        return int(budget)
    if key_size is None:
        raise UserError(f"budget={budget!r} is no number of keys; give key_size= too, or a number")
    each = parse_bytes(key_size, "key_size")
    if each == 0:
        raise UserError(f"key_size={key_size!r}; give what a rotation key takes in memory, such as 130MB")
    return parse_bytes(budget, "budget") // each


def _levels(text: str) -> tuple[int, int]:
    encode, comma, decode = text.partition(",")
    if not comma or not (encode.strip().isdecimal() and decode.strip().isdecimal()):
        raise UserError(f"boot_levels={text!r}; give two numbers, such as 3,3: CoeffsToSlots and SlotsToCoeffs")
    return int(encode), int(decode)
