"""Docstrings that begin with a word that hangs on something said before: "Of", "As", "What", "How", "None", "Where"."""

import ast
import re

from structure.offenders import Offender, Rule
from structure.sources import Sources

# Prepositions, conjunctions and question words. "Whether" is the usual beginning for a function that answers yes or no.
DANGLING = """
    About Across After Against Along Among As At Because Before Below Beside Between Beyond By During Except For From
    How If In Inside Into Like Near None Not Of Off On Onto Out Outside Over Per Since So Than That Though Through To
    Toward Towards Under Unless Until Upon What When Where Which While Who Whose Why With Within Without
""".split()  # noqa: SIM905
LONGEST_SHOWN = 40  # characters


def number_of(sources: Sources) -> int:
    """All docstrings of modules, classes and functions."""
    return sum(ast.get_docstring(d.node) is not None for d in sources.definitions)


def dangles(docstring: str) -> bool:
    """Whether a docstring begins with such a word."""
    first = re.match(r"[A-Za-z]+", docstring)
    return first is not None and first[0] in DANGLING


def dangling(sources: Sources) -> Rule:
    """Docstrings that do not begin with what the thing is or does."""
    texts = ((d, ast.get_docstring(d.node) or "") for d in sources.definitions)
    return Rule(
        "docstrings",
        "begin with what it is or does",
        tuple(
            Offender(d.key, d.place, f'the docstring "{text.splitlines()[0][:LONGEST_SHOWN]}" begins in mid-air')
            for d, text in texts
            if dangles(text)
        ),
    )
