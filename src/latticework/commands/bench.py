"""`bench`: the benchmarks of the source tree."""

from __future__ import annotations

from latticework.commands.benchmarks import suites
from latticework.commands.command_output import CommandOutput, Outcome
from latticework.errors import UserError


def bench(talk: CommandOutput, words: list[str]) -> Outcome:
    """Run the suite that the first word names, with the others; the list of suites without one."""
    found = suites()
    listed = ", ".join(found.SUITES)
    if not words or words[0] == "--help":
        return Outcome({}, (f"latticework bench SUITE [options]; suites: {listed}",))
    if words[0] not in found.SUITES:
        raise UserError(f"bench: there is no suite {words[0]!r}; choose one of {listed}")
    found.suite(words[0])(words[1:], prog_name=f"latticework bench {words[0]}")
    return Outcome({})
