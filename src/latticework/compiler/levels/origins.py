"""Find the values of a rewritten module that are tensors of the user's program."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from latticework.ir import Module, Origin, Value


def keep_whole_origins(before: Module, after: Module) -> None:
    """Forget tensors of which `after` holds values of some copies of a loop, and not of others."""
    counts = [Counter(origin.position for _, origin in _values_with_origin(module)) for module in (before, after)]
    for value, origin in _values_with_origin(after):
        if counts[0][origin.position] != counts[1][origin.position]:
            value.origin = replace(origin, position=None)


def _values_with_origin(module: Module) -> list[tuple[Value, Origin]]:
    values = [*module.inputs, *(value for op in module.walk() for value in op.results)]
    return [(v, v.origin) for v in values if v.origin is not None and v.origin.position is not None]
