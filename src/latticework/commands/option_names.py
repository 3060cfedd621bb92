"""Messages in the language of the command line: what Python calls `precision_bits=20` is `--precision-bits 20` there.

Errors are raised below the command line and name keywords of Python functions, since most users call these. What the
same is called by commands is in their table, and here for what is not a keyword. A test looks for every phrase in the
source, so that none can be forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from latticework.commands.command_table import CommandOption, list_spoken_options

# What has no such pair of names, literally; longer ones before what they contain.
PHRASES = {
    "allow_insecure=True (--insecure on the command line)": "--insecure",
    "weights=(...) in that order, or by name as weights={...}": "--weights FILE.npz with an array per weight, by name",
    "weights=(...) in that order": "--weights FILE.npz with an array per weight, by name",
    'then lw.from_onnx("net.onnx")': "then give net.onnx in its place",
    "with trust=True it is read": "with --trust-file it is read",
    "keys.public().save(folder)": "`latticework keygen`",
    "keys.public()": "evaluation.lwkeys",
    "load_keys(.., ledger=)": "--ledger",
    "load_keys(folder) of its keys": "give the folder of its keys with -k",
    "say which by function=": "name one as FILE.mlir:NAME",
    "client.check tells all such places, and goes on with clipped or kept rows": "--clip brings values to the ends of "
    "their ranges, --keep leaves such rows out",
    "allow more with memory_bytes=": "allow more with --limit memory_bytes=N",
    'choose trees="sign"': 'choose, in Python, trees="sign"',
    'take trees="': 'take, in Python, trees="',
    "give samples=": "give, in Python, samples=",
    "It cannot be clipped: kept() leaves such rows out": "It cannot be clipped: --keep leaves such rows out",
    "client.encrypt_part (`latticework encrypt --part`)": "`latticework encrypt --part`",
    "client.encrypt": "`latticework encrypt`",
    "client.decrypt": "`latticework decrypt`",
    "write it with Encrypted.save": "write it with `latticework encrypt` or `latticework run`",
}

_VALUE = r"""'[^']*'|"[^"]*"|\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|[A-Za-z_]\w*"""
_ITEM = r"'(\w+)': "
_SHAPE = re.compile(r"'([^']*)': (?:\(([^()]*)\)|(\d+))")  # of an input, or of a dimension
# What only functions of Python take, and limits, which are a record there.
PYTHON_ONLY = "feed", "techniques", "public", "digits", "mark"
_PATTERNS = (
    (re.compile(rf"(?<![\w.\-])((?:{'|'.join(PYTHON_ONLY)})=(?:lw\.\w+\([^()]*\)|{_VALUE})?)"), r"\1 in Python"),
    (re.compile(r"(?<![\w.\-])((?:in|out)puts=\[[^\[\]]*\])"), r"lw.from_onnx(..., \1) in Python"),
    (re.compile(r"limits=lw\.ReadingLimits\((\w+)=\.\.\.\)"), r"--limit \1=N"),
)


@cache  # made when the first message is told: most commands tell none
def _option_patterns() -> tuple[Mapping[str, CommandOption], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """The options by what Python calls them; phrases, keywords with or without a value, and such names alone."""
    options = list_spoken_options()
    phrases = "|".join(re.escape(phrase) for phrase in PHRASES)
    keywords = rf"(?<![\w.\-])({'|'.join(options)})=(?!=)({_VALUE})?"
    names = rf"(?<![\w.\-])({'|'.join(name for name in options if '_' in name)})(?!\w)"
    return options, re.compile(phrases), re.compile(keywords), re.compile(names)


def in_words(text: str) -> str:
    """A message with keywords of Python functions replaced by options of commands."""
    options, phrases, keywords, names = _option_patterns()
    for pattern, words in _PATTERNS:
        text = pattern.sub(words, text)
    given = keywords.sub(_option, phrases.sub(lambda found: PHRASES[found[0]], text))
    return names.sub(lambda found: options[found[1]].flag, given)


def _option(found: re.Match[str]) -> str:
    known, value = _option_patterns()[0][found[1]], found[2] or ""
    option = known.flag
    if known.type is bool or not value:
        return option
    if known.is_several and value[0] == "{" and _SHAPE.search(value):
        items = [
            (name, extents.rstrip(",").replace(" ", "") or number) for name, extents, number in _SHAPE.findall(value)
        ]
        return " ".join(f"{option} {name}={extents}" for name, extents in items)
    if known.type is not Path:
        return f"{option} {value.strip(chr(39) + chr(34))}"
    if value[0] == "{":
        held = re.sub(_ITEM, r"\1=", value[1:-1].removeprefix("..., "))
        return f"{option} FILE.npz" + (f" that holds {held}" if held != "..." else "")
    return f"{option} {value}.npy" if value.isidentifier() else f"{option} {value.strip(chr(39) + chr(34))}"
