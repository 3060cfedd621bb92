"""`quote`: what a program will cost, before it is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latticework.commands.command_output import CommandOutput, Outcome
from latticework.commands.compiling import read_keyword
from latticework.commands.named_words import read_limits
from latticework.commands.programs import load_program
from latticework.compiler.quoting import quote_program


def quote(talk: CommandOutput, program: str, loading: Mapping[str, Any], keywords: Mapping[str, Any]) -> Outcome:
    """Estimate what `compile` would find; see the table of commands."""
    limits = read_limits(loading["limits"])
    with talk.step("load the program"):
        found = load_program(program, **loading)
    options = {name: read_keyword(name, value, limits) for name, value in keywords.items() if value is not None}
    with talk.step("quote it"):
        made = quote_program(found, options)
    return Outcome(made.data(), body=made.text().rstrip("\n"))
