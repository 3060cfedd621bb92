"""Shapes of what a model is given: dimensions with names are bound by the user."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from latticework.errors import ShapeError
from latticework.errors.near_names import hint_near
from latticework.models.onnx.size_limits import check_size
from latticework.values.inputs.reading_budget import MOST_SECRET

Extent = int | str  # as the file has it; "" where it says nothing


class UnknownNameError(ShapeError):
    """A shape is given for what is neither an input nor a dimension of one."""


def declared_shape(value: Any) -> list[Extent] | None:
    """The shape that a ValueInfoProto declares, None where it declares none."""
    kind = value.type.tensor_type if value is not None and value.type.HasField("tensor_type") else None
    if kind is None or not kind.HasField("shape"):
        return None
    return [
        int(extent.dim_value) if extent.HasField("dim_value") else str(extent.dim_param) for extent in kind.shape.dim
    ]


def with_one_row(extents: list[Extent] | None, shapes: Mapping[str, Any]) -> list[Extent] | None:
    """The shape of columns of a table, of which one row is taken where the user says no other number."""
    is_free = extents is not None and len(extents) == 2 and isinstance(extents[0], str) and extents[0] not in shapes
    return [1, *extents[1:]] if extents and is_free else extents


def bind(name: str, extents: list[Extent] | None, shapes: Mapping[str, Any], said: str) -> tuple[int, ...]:
    """The shape of a secret input.

    extents  as the file declares them
    shapes   by name of an input a whole shape, which may be another than the file's: exporters fix extents that the
             graph does not need, and some declare wrong ones; by name of a dimension an extent
    said     of the model, for messages
    raises   ShapeError that names what is free, or dimensions with names that are given twice
    """
    if name in shapes and not isinstance(shapes[name], int):
        given = _whole(name, shapes[name], said)
        if extents is not None and len(given) != len(extents):
            raise ShapeError(
                f"{said}: shapes= gives {name} {len(given)} axes, the file {len(extents)}: {_format_extents(extents)}"
            )
        for have, extent in zip(given, extents or given, strict=True):
            wanted = shapes.get(extent, have) if isinstance(extent, str) else have
            if wanted != have:
                raise ShapeError(
                    f"{said}: shapes= gives {name} {given}, and {extent}={wanted} beside; the file has "
                    f"{_format_extents(extents or [])}: leave one out"
                )
        found = given
    elif extents is None:
        raise ShapeError(f"{said}: the file has no shape of {name}; give shapes={{{name!r}: (...)}}")
    else:
        free = [extent or f"axis {axis}" for axis, extent in enumerate(extents) if _is_free(extent, shapes)]
        if free:
            dimensions = dict.fromkeys(free, 1) if all(extent in extents for extent in free) else {}
            whole = tuple(1 if _is_free(e, shapes) else shapes[e] if isinstance(e, str) else e for e in extents)
            raise ShapeError(
                f"{said}: input {name} has shape {_format_extents(extents)}, of which {', '.join(map(str, free))} is "
                "free; give "
                + (f"shapes={dimensions} or " if dimensions else "")
                + f"shapes={ {name: whole} }, or other numbers"
            )
        found = tuple(int(shapes[e]) if isinstance(e, str) else e for e in extents)
    if any(extent < 1 for extent in found):
        raise ShapeError(f"{said}: input {name} has shape {found}; extents are at least 1")
    check_size(found, secret=True)
    if len(found) > 32:
        raise ShapeError(f"{said}: input {name} has {len(found)} axes; at most 32")
    return found


def shape_note(name: str, extents: list[Extent] | None, found: tuple[int, ...]) -> str:
    """A note on a shape that is not the file's; "" where it is."""
    fixed = [(have, wanted) for have, wanted in zip(found, extents or found, strict=True) if isinstance(wanted, int)]
    if all(have == wanted for have, wanted in fixed):
        return ""
    return f"{name} is taken as {found}, as shapes= says; the file declares {_format_extents(extents or [])}"


def check_names(shapes: Mapping[str, Any], inputs: Sequence[tuple[str, list[Extent] | None]], said: str) -> None:
    """UnknownNameError for a name in `shapes` that is neither an input nor a dimension of one."""
    known = {name for name, _ in inputs} | {e for _, extents in inputs for e in extents or [] if isinstance(e, str)}
    for name in shapes:
        if name not in known:
            raise UnknownNameError(
                f"{said}: shapes= names {name!r}, which is no input and no dimension of one"
                f"{hint_near(name, known - {''})}; there are {', '.join(sorted(known - {''}))}"
            )


def _whole(name: str, given: Any, said: str) -> tuple[int, ...]:
    try:
        return tuple(operator.index(extent) for extent in given)
    except TypeError:
        raise ShapeError(
            f"{said}: shapes= gives {name} {given!r}; give whole numbers, such as (1, 3, 224, 224)"
        ) from None


def _is_free(extent: Extent, shapes: Mapping[str, Any]) -> bool:
    if not isinstance(extent, str):
        return False
    given = shapes.get(extent) if extent else None
    if given is not None and (not isinstance(given, int) or not 0 < given <= MOST_SECRET):
        raise ShapeError(f"shapes= gives dimension {extent} {given!r}; give a whole number from 1 on")
    return given is None


def _format_extents(extents: Sequence[Extent]) -> str:
    return "(" + ", ".join(str(e) or "?" for e in extents) + ("," if len(extents) == 1 else "") + ")"
