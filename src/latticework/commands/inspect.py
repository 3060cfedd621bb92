"""`inspect`: what a model consists of, where each operator runs, and what cannot be computed, without data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.option_names import in_words
from latticework.commands.programs import load_program
from latticework.errors import TraceError, UserError
from latticework.errors.escaping import plain_text
from latticework.frontend import Program
from latticework.models.inspection import NOT_POSSIBLE, Depth, Inspected, inspect_program, inspect_refused


def inspect(
    talk: CommandOutput,
    program: str,
    loading: Mapping[str, Any],
) -> Outcome:
    """Describe the operators of a model, without data; see the table of commands."""
    try:
        with talk.step("load the model"):
            loaded = load_program(program, **loading)
        if not isinstance(loaded, Program):
            raise TraceError(f"{program} is a circuit; `latticework compile` tells what it takes")
        with talk.step("look at it"):
            found = inspect_program(loaded)
    except UserError as error:
        refused = inspect_refused(error)
        if refused is None:
            raise
        found = refused
    return Outcome(_facts(found), body="\n".join(_lines(found)))


def _depth(depth: Depth | None) -> dict[str, int] | None:
    return None if depth is None else {"levels": depth.levels, "functions": depth.functions}


def _facts(found: Inspected) -> dict[str, Any]:
    return {
        "program": found.name,
        "supported": found.is_supported,
        "inputs": [{"name": name, "shape": list(shape)} for name, shape in found.inputs],
        "depth": _depth(found.depth),
        "operators": [
            {
                "operator": u.operator,
                "where": u.where,
                "count": u.count,
                "depth": _depth(u.depth),
                "problem": in_words(u.problem),
            }
            for u in found.uses
        ],
        "notes": list(map(in_words, found.notes)),
    }


def _lines(found: Inspected) -> list[str]:
    """A table, and below it what is to be done."""
    told = ", ".join(f"{name} {shape}" for name, shape in found.inputs)
    head = ("operator", "uses", "where", "levels of one use")
    rows = [head] + [
        (u.operator, str(u.count), u.where, "" if u.depth is None else u.depth.words()) for u in found.uses
    ]
    widths = [max(len(plain_text(row[i])) for row in rows) for i in range(len(head))]
    lines = [f"{plain_text(found.name)}: inputs {plain_text(told)}", ""]
    for row in rows:
        cells = (plain_text(cell).ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    lines.append("")
    problems = [u for u in found.uses if u.where == NOT_POSSIBLE]
    if problems:
        lines.append("cannot be computed encrypted:")
        lines += [f"  {plain_text(u.operator)}: {plain_text(in_words(u.problem))}" for u in problems]
    elif found.depth is not None:
        lines.append(
            f"the server's part takes at most {found.depth.words()} in levels, before maps are merged; levels of "
            "functions follow from data, when it is compiled"
        )
    lines += [plain_text(in_words(note)) for note in found.notes]
    return lines
