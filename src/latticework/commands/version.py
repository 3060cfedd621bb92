"""`version`: which one this is."""

import platform

from latticework import __version__
from latticework.commands.talk import Outcome, Talk, report_outcome


@report_outcome
def version(talk: Talk) -> Outcome:
    """Print the version."""
    facts = {"version": __version__, "python": platform.python_version(), "machine": platform.machine()}
    return Outcome(facts, (__version__,))
