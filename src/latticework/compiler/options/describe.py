"""Descriptions of `lw.compile` made of the records of options: signature, documentation, stubs for type checkers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Any

from latticework.compiler.options.option_records import FIELDS, HOMES, OPTIONS

WIDTH = 116  # of documentation, where four columns of indentation come before it
OUTCOMES = {
    "raises": "UserError and its kinds, naming the line of the program, before any key is made; TypeError for a "
    "keyword that there is not",
    "warns": "ApproximationWarning, RangeWarning, EffortWarning",
}


def make_signature(compile: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function of a program and all options, each with its type and default."""
    written = inspect.signature(compile)
    first = next(iter(written.parameters.values()))
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for name, each in FIELDS.items()
    ]
    return written.replace(parameters=[first, *options])


def describe_options() -> str:
    """The options in two lists, those that most programs need first, as rows of a docstring."""
    usual = {name: option.doc for name, option in OPTIONS.items() if HOMES[name] != "expert"}
    expert = {name: option.doc for name, option in OPTIONS.items() if HOMES[name] == "expert"}
    rows = ["\n".join(_rows(usual)), "\n".join(["For experts:", "", *_rows(expert)]), "\n".join(_rows(OUTCOMES))]
    return "\n\n".join(rows)


def _rows(texts: dict[str, str]) -> Iterator[str]:
    column = max(map(len, texts)) + 2
    for name, text in texts.items():
        for number, line in enumerate(wrap(text, WIDTH - column, break_long_words=False, break_on_hyphens=False)):
            yield f"{'' if number else name:{column}}{line}"


def write_keywords() -> str:
    """The Python file with `CompileKeywords`: what type checkers and editors know of the options."""
    lines = [HEADER]
    for name, each in FIELDS.items():
        default = "" if each.default is None else f" Default: {each.default!r}."
        text = f"{OPTIONS[name].doc[0].upper()}{OPTIONS[name].doc[1:]}.{default}"
        quoted = wrap(f'"""{text}"""', 110, break_long_words=False, break_on_hyphens=False)
        lines += [f"    {name}: {each.type}", *(f"    {line}" for line in quoted)]
    return "\n".join(lines) + "\n"


HEADER = '''"""The keywords of `lw.compile` for type checkers and editors.

Made of `option_records.py` by `python tools/write_options.py`, which also compares them with --check.
"""

# fmt: off

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from latticework.compiler.options.techniques import Techniques
from latticework.ir import PassEvent
from latticework.model import Model
from latticework.plan.client_steps import OwnerStages
from latticework.plan.parameters import BootstrapSet


class CompileKeywords(TypedDict, total=False):
    """The keywords of `lw.compile`."""
'''
