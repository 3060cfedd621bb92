"""`version`: which one this is."""

import platform

from latticework import __version__
from latticework.commands.command_output import CommandOutput, Outcome


def version(
    talk: CommandOutput,
) -> Outcome:
    """Tell the version; see the table of commands."""
    facts = {"version": __version__, "python": platform.python_version(), "machine": platform.machine()}
    return Outcome(facts, (__version__,))
