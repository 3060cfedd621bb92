"""Limits on what the nodes of an ONNX file may make, checked from shapes before memory is asked for.

Of public values all elements that an import makes are counted together; a secret array has no elements while it is
traced, and is bounded by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from latticework.errors import FormatError, ShapeError
from latticework.values.inputs.reading_budget import BYTES_OF_ELEMENT, MOST_SECRET, current_budget, limit_remedy

WORK_OF_NODE = 40  # to read it, in units of ReadingLimits
WORK_OF_STEP = 100  # of a node that a loop carries out; a turn without one counts as one
PRODUCTS_OF_WORK = 1000  # of public matrices, that are summed up in a unit
PRODUCTS_ONE_BY_ONE = 500  # the same where they are made one by one
PRODUCTS_OF_CALL = 100_000  # of secret ones, which are computed when the program is called
PRODUCTS_OF_CALL_ONE_BY_ONE = 10_000
ELEMENTS_OF_WORK = 1000  # of arrays that are read, or of secret ones that will be made
BYTES_OF_WORK = 100  # of the file, that allow a unit more: so that all of it may be read a few times


def check_size(shape: Sequence[int], *, secret: bool = False) -> None:
    """ShapeError where an array of this shape is more than may be made; nothing is checked outside of an import."""
    budget = current_budget()
    if budget is None:
        return
    count = prod(int(extent) for extent in shape)
    most = MOST_SECRET if secret else budget.elements
    if count > most:
        raise ShapeError(
            f"a result of shape {format_shape(shape)} has {count} elements, more than the {most} that are allowed "
            "here; cut the graph with inputs=[...], or allow more with memory_bytes="
        )


def spend(count: int) -> None:
    """Count elements of a public value that was made."""
    budget = current_budget()
    if budget is not None:
        budget.elements = max(budget.elements - count, 0)


def check_extents(shape: Sequence[int], name: str) -> None:
    """FormatError for a shape that no array can have, also where another of its extents is 0."""
    if any(extent < 0 for extent in shape):
        raise FormatError(f"{name} has shape {format_shape(shape)}, with a negative extent; the file is damaged")
    if len(shape) > 32 or prod(extent for extent in shape if extent) >= 1 << 60:
        raise FormatError(f"{name} has shape {format_shape(shape)}, which no array can have; the file is damaged")


def take_nodes(count: int, said: str) -> None:
    """Count nodes that are read, functions unfolded. FormatError where they become too many."""
    budget = current_budget()
    if budget is not None and not budget.take_unfolding(count * WORK_OF_NODE):
        raise FormatError(
            f"{said}: more than {budget.limits.work // WORK_OF_NODE} nodes, with functions unfolded: "
            f"{limit_remedy('work')}"
        )


def check_nodes(count: int, said: str) -> None:
    """FormatError where so many nodes, which are not counted yet, would be too many: before the first one is made."""
    budget = current_budget()
    if budget is not None and count * WORK_OF_NODE > budget.unfolding:
        take_nodes(count, said)


def take_steps(count: int) -> None:
    """Count nodes that are carried out within a loop, or its turns. ShapeError where they become too many."""
    budget = current_budget()
    if budget is not None and not budget.take_running(count * WORK_OF_STEP):
        raise ShapeError(
            f"loops are unrolled, and make more than {budget.limits.work // WORK_OF_STEP} steps here; write it with "
            f"lw.for_loop, or {limit_remedy('work')}"
        )


def check_steps(count: int) -> None:
    """ShapeError where so many steps, which are not counted yet, would be too many: before the first one is made."""
    budget = current_budget()
    if budget is not None and count * WORK_OF_STEP > budget.running:
        take_steps(count)


def take_products(count: int, name: str, in_a_unit: int) -> None:
    """Count products that are summed up, now or when the program is called. ShapeError where they become too many."""
    budget = current_budget()
    if budget is not None and not budget.take_running(count // in_a_unit):
        raise ShapeError(
            f"{name} takes {count} products, which with what was computed before is more than the {budget.limits.work} "
            f"units of work that are allowed here; cut the graph with inputs=[...], or {limit_remedy('work')}"
        )


def take_elements(count: int) -> None:
    """Count elements that are read or will be made. ShapeError where all of them become too many."""
    budget = current_budget()
    if budget is not None and not budget.take_running(count // ELEMENTS_OF_WORK):
        raise ShapeError(
            f"nodes read and make more elements than {budget.limits.work} units of work allow, here {count}; cut the "
            f"graph with inputs=[...], or {limit_remedy('work')}"
        )


def take_data(count: int, name: str) -> None:
    """Count bytes of a file beside the model. FormatError where all of them become too many."""
    budget = current_budget()
    if budget is None:
        return
    budget.file_bytes -= count
    if budget.file_bytes < 0:
        raise FormatError(
            f"{name}: the data beside the model have more than {budget.limits.file_bytes} bytes: "
            f"{limit_remedy('file_bytes')}"
        )
    allow_for_file(count)


def allow_for_file(count: int) -> None:
    """Allow more where a file, or one beside it, has so many bytes."""
    budget = current_budget()
    if budget is not None:
        budget.elements += 2 * count // BYTES_OF_ELEMENT
        budget.running += count // BYTES_OF_WORK


def deepest() -> int:
    """The greatest depth of nested calls and nested graphs."""
    budget = current_budget()
    return 1 << 30 if budget is None else budget.limits.depth


def format_shape(shape: Sequence[int]) -> str:
    """A shape, for messages; long ones shortened."""
    extents = [str(int(extent)) for extent in shape[:8]]
    return f"({', '.join(extents)}{', ...' if len(shape) > 8 else ''})"
