"""Arrays of ciphertexts, one vector at a time: how what is known of each vector becomes what is known of an array.

An array is a tuple with an item for each vector; keys stand next to arrays, and go to every vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from latticework.errors import UnsupportedError
from latticework.plan.instructions.protocols import Errors
from latticework.plan.instructions.use import Use
from latticework.values.packing.key_manifest import KeySpec

Array = tuple[Any, ...]
OnVectors = Callable[..., Any]


def together(arrays: Sequence[Array]) -> list[Array]:
    """Vector by vector, what stands in each of some arrays, where one vector meets each of an array."""
    count = max(len(array) for array in arrays)
    return [tuple([array[i if len(array) > 1 else 0] for array in arrays]) for i in range(count)]


def each(function: OnVectors) -> OnVectors:
    """(errors, use, *vectors, *keys) of single vectors, as one of arrays."""

    def on_arrays(errors: Errors, use: Use, *operands: Array | KeySpec) -> Array:
        arrays = [operand for operand in operands if isinstance(operand, tuple)]
        keys = [operand for operand in operands if isinstance(operand, KeySpec)]
        return tuple([function(errors, use, *parts, *keys) for parts in together(arrays)])

    return on_arrays


def keep_error(_errors: Errors, _use: Use, a: Array) -> Array:
    """The error rule of instructions that change no error."""
    return a


def added_up(errors: Errors, array: Array, groups: int) -> Array:
    """Add neighbours up, in `groups` groups."""
    size = len(array) // groups
    return tuple([reduce(errors.plus, array[size * g : size * (g + 1)]) for g in range(groups)])


def unknown_error(name: str) -> OnVectors:
    """Return a rule that refuses an instruction whose error is not linear in that of its operand."""

    def refuse(*_operands: Any) -> Any:
        raise UnsupportedError(f"{name}: its error does not follow from that of its operand alone")

    return refuse
