"""How much an untrusted file may make us compute: checked from shapes, before memory is asked for.

Of public values all elements that an import makes are counted together; a secret array has no elements while it is
traced, and is bounded by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod

from latticework.errors import ShapeError

MOST_SECRET = 1 << 26  # elements of an array that is encrypted: thousands of ciphertexts
MOST_NODES = 50_000  # after functions and loops were unfolded
MOST_STEPS = 20_000  # of nodes within loops, all iterations counted
BYTES_OF_ELEMENT = 24  # of float64, with the copies that a step makes of it


@dataclass
class Allowance:
    """Elements of public values that may still be made, and steps of loops that may still be unrolled."""

    left: int
    steps: int = MOST_STEPS


_allowance: ContextVar[Allowance | None] = ContextVar("latticework_onnx_allowance", default=None)


@contextmanager
def allowing(spare_bytes: int) -> Iterator[None]:
    """Inside, public values may take so many bytes together."""
    token = _allowance.set(Allowance(spare_bytes // BYTES_OF_ELEMENT))
    try:
        yield
    finally:
        _allowance.reset(token)


def check_size(shape: Sequence[int], *, secret: bool = False) -> None:
    """ShapeError where an array of this shape is more than may be made; nothing is checked outside of an import."""
    allowance = _allowance.get()
    if allowance is None:
        return
    count = prod(int(extent) for extent in shape)
    most = MOST_SECRET if secret else allowance.left
    if count > most:
        raise ShapeError(
            f"a result of shape {shown(shape)} has {count} elements, more than the {most} that are allowed here; cut "
            "the graph with inputs=[...], or allow more with memory_bytes="
        )


def spend(count: int) -> None:
    """Count elements of a public value that was made."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.left = max(allowance.left - count, 0)


def take_steps(count: int) -> None:
    """Count nodes that are carried out within a loop. ShapeError where they become too many."""
    allowance = _allowance.get()
    if allowance is not None:
        allowance.steps -= count
        if allowance.steps < 0:
            raise ShapeError(
                f"loops are unrolled, and make more than {MOST_STEPS} steps here; write it with lw.for_loop"
            )


def shown(shape: Sequence[int]) -> str:
    """A shape, for messages; long ones shortened."""
    extents = [str(int(extent)) for extent in shape[:8]]
    return f"({', '.join(extents)}{', ...' if len(shape) > 8 else ''})"
