"""`keys`: loads of rotation keys placed in a program of HEIR."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latticework.commands.command_files import prepare
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.errors import UserError
from latticework.frontend.heir.keys import place_keys
from latticework.plan.schema.amounts import parse_bytes


def keys(
    talk: CommandOutput,
    program: str,
    output: Path,
    force: bool,
    keys: Mapping[str, Any],
    ring_degree: int | None,
    boot_levels: str | None,
) -> Outcome:
    """Write a program of HEIR with loads of rotation keys in it; see the table of commands."""
    file, _, name = program.partition(":")
    if not Path(file).is_file():
        raise FileNotFoundError(f"no such file: {file}")
    prepare(talk, output, force=force, inputs=[Path(file)])
    with talk.step("place the keys"):
        made = place_keys(
            file,
            budget=None if keys["budget"] is None else _count_keys(keys["budget"], keys["key_size"]),
            ahead=keys["ahead"],
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
    summary = (
        f"{made.program}: {counts.uses} uses of {made.keys} rotation keys, {counts.loads} loads with at most "
        f"{counts.most} in memory (budget {made.budget})"
    )
    return Outcome(facts, (summary, f"wrote {output}"))


def _count_keys(budget: str, key_size: str | None) -> int:
    """Return how many keys a budget holds."""
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
