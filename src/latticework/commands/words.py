"""Messages in the language of the command line: what Python calls `precision_bits=20` is `--precision-bits 20` there.

Errors are raised below the command line and name keywords of Python functions, since most users call these. The tables
here are the only place that knows what the same is called by commands. A test compares them with the options that
there are, and looks for every phrase in the source, so that neither can be forgotten.
"""

from __future__ import annotations

import re

# Keywords of Python functions that are options, by what follows them.
VALUES = (
    "precision_bits", "ring_degree", "security_bits", "network", "scheme", "plain_bits", "plain_modulus", "algorithm",
    "effort", "seed", "bootstrap", "bootstrap_set", "memory", "key_memory", "key_readers", "runs", "device", "threads",
    "backend", "checkpoint", "every", "key_price", "budget", "key_size", "ahead",
    "boot_levels", "encrypted", "simulated", "degree", "agreement", "tolerance", "batch", "margin", "allow_refusals",
)  # fmt: skip
FILES = ("ledger", "weights", "calibrate", "labels", "example", "cost_table")
FLAGS = ("insecure", "allow_insecure", "wraps", "scale_columns")
PYTHON_ONLY = {
    "program": "the first argument of the command",
    "on_event": "progress is shown on a terminal",
    "progress": "progress is shown on a terminal",
    "techniques": "for measuring what parts of the compiler give",
    "owner": "models bring the steps of their owners",
    "spare_levels": "circuits are put together in Python",
    "like": "circuits are put together in Python",
    "feed": "results become inputs of the next run in Python",
    "feed_runs": "results become inputs of the next run in Python",
}
# What has no such pair of names, literally; longer ones before what they contain.
PHRASES = {
    "allow_insecure=True (--insecure on the command line)": "--insecure",
    "weights=(...) in that order, or by name as weights={...}": "--weights FILE.npz with an array per weight, by name",
    "weights=(...) in that order": "--weights FILE.npz with an array per weight, by name",
    "with trust=True it is read": "with --trust-file it is read",
    "keys.public().save(folder)": "`latticework keygen`",
    "keys.public()": "evaluation.lwkeys",
    "load_keys(.., ledger=)": "--ledger",
    "load_keys(folder) of its keys": "give the folder of its keys with -k",
    "say which by function=": "name one as FILE.mlir:NAME",
    "client.check tells all such places, and goes on with clipped or kept rows": "--clip brings values to the ends of "
    "their ranges, --keep leaves such rows out",
    "cut the graph before it with": "in Python, lw.from_onnx cuts the graph before it with",
    "cut the graph behind it with": "in Python, lw.from_onnx cuts the graph behind it with",
    "leave it out with outputs=": "in Python, lw.from_onnx leaves it out with outputs=",
    "It cannot be clipped: kept() leaves such rows out": "It cannot be clipped: --keep leaves such rows out",
    "client.encrypt_part (`latticework encrypt --part`)": "`latticework encrypt --part`",
    "client.encrypt": "`latticework encrypt`",
    "client.decrypt": "`latticework decrypt`",
    "write it with Encrypted.save": "write it with `latticework encrypt` or `latticework run`",
}

# Compiled when the first message is told: most commands tell none.
_PHRASE = "|".join(re.escape(phrase) for phrase in PHRASES)
_VALUE = r"""'[^']*'|"[^"]*"|\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\]|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|[A-Za-z_]\w*"""
_KEYWORD = rf"(?<![\w.\-])({'|'.join((*VALUES, *FILES, *FLAGS))})=(?!=)({_VALUE})?"
_NAMED = rf"(?<![\w.\-])({'|'.join(n for n in (*VALUES, *FILES, *FLAGS) if '_' in n)})(?!\w)"  # alone
_ITEM = r"'(\w+)': "


def in_words(text: str) -> str:
    """A message with keywords of Python functions replaced by options of commands."""
    given = re.sub(_KEYWORD, _option, re.sub(_PHRASE, lambda found: PHRASES[found[0]], text))
    return re.sub(_NAMED, lambda found: _option_of(found[1]), given)


def _option_of(name: str) -> str:
    return "--" + (name.removeprefix("allow_") if name in FLAGS else name).replace("_", "-")


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found[2] or ""
    option = _option_of(name)
    if name in FLAGS or not value:
        return option
    if name not in FILES:
        return f"{option} {value.strip(chr(39) + chr(34))}"
    if value[0] == "{":
        held = re.sub(_ITEM, r"\1=", value[1:-1].removeprefix("..., "))
        return f"{option} FILE.npz" + (f" that holds {held}" if held != "..." else "")
    return f"{option} {value}.npy" if value.isidentifier() else f"{option} {value.strip(chr(39) + chr(34))}"
