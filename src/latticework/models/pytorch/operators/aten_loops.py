"""Loops of PyTorch: `while_loop` and `scan`, whose bodies are graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.frontend.programs.scanning import scan as scan_over
from latticework.models.converters import Converter
from latticework.models.semantics.operand_checks import is_secret, public

_MOST = 10_000  # turns of a loop that is written out

Body = Callable[..., list[Any]]


def _while_loop(condition: Body, body: Body, carried: Sequence[Any], others: Sequence[Any]) -> tuple[Any, ...]:
    """Written out: how often it turns depends on public numbers, and those of every turn are public in it."""
    now, turns = list(carried), 0
    while bool(_public_condition(condition(*now, *others)[0])):
        turns += 1
        if turns > _MOST:
            raise UnsupportedError(f"while_loop: it turns more than {_MOST} times; write lw.for_loop in a program")
        now = body(*now, *others)
    return tuple(now)


def _public_condition(condition: Any) -> Any:
    return public(
        "while_loop", "whether it goes on", condition,
        "count the turns by a number that depends on no input, and let each turn do nothing where it is too many",
    )  # fmt: skip


def _scan(combine: Body, init: Sequence[Any], xs: Sequence[Any], others: Sequence[Any]) -> tuple[Any, ...]:
    """lw.scan: all that is carried, and the results of all turns stacked."""
    count = len(init)

    def turn(carry: list[Any], parts: list[Any]) -> tuple[list[Any], list[Any] | None]:
        made = combine(*carry, *parts, *others)
        return made[:count], made[count:] or None

    start = [x if is_secret(x) else np.asarray(x, dtype=np.float64) for x in init]
    carried, stacked = scan_over(turn, start, list(xs))
    return (*carried, *(stacked or []))


CONVERTERS = [
    Converter("while_loop", _while_loop, note="a condition on public numbers; written out"),
    Converter("scan", _scan, note="as lw.scan"),
]
