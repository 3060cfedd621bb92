"""Constraints on inputs, checked by the client: what does not meet them, as misfits that say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.plan.schema.constraints import Constraint, Element
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.exchange.input_errors import OUTSIDE, REMEDY, Misfits
from latticework.runtime.exchange.row_batches import has_rows

Arrays = Mapping[str, npt.NDArray[Any]]  # by name, some of the encrypted inputs or all: one run, rows, or a stack
SHOWN = 3  # elements of a sum
_COMPILE = "compile with calibrate= data that cover it, with a larger margin=, or with range= there"


def elements_beyond(spec: ClientSpec, arrays: Arrays) -> Iterator[Misfits]:
    """Elements that a function is applied to and that are outside of what it takes there; they can be clipped."""
    for constraint, array, shape, by_runs in _list_constrained(spec, arrays):
        single = [element.places[0] for element in constraint.elements if element.is_single]
        if not single:
            continue
        items = array.reshape(-1, _size(constraint, shape))
        where = np.zeros(items.shape, dtype=np.bool_)
        where[:, single] = (items[:, single] < constraint.low) | (items[:, single] > constraint.high)
        if where.any():
            yield Misfits(
                constraint.input, where.reshape(array.shape), shape, by_runs, OUTSIDE, f"{REMEDY}; or {_COMPILE}",
                then=_taken_by(constraint), low=constraint.low, high=constraint.high,
            )  # fmt: skip


def sums_beyond(spec: ClientSpec, arrays: Arrays) -> Iterator[Misfits]:
    """Rows in which a sum that a function is applied to is outside of what it takes there."""
    for constraint, array, shape, by_runs in _list_constrained(spec, arrays):
        values = constraint.values(array.reshape(-1, _size(constraint, shape)))
        off = (values < constraint.low) | (values > constraint.high)
        for number in np.flatnonzero(off.any(axis=0)).tolist():
            element, rows = constraint.elements[number], off[:, number]
            if element.is_single:
                continue
            inner = None if by_runs or not constraint.by_row else int(np.argmax(rows))
            yield Misfits(
                constraint.input,
                np.any(rows.reshape(len(array), -1), axis=1) if by_runs else np.full((), rows.any()),
                shape, by_runs, f"has {element_text(constraint, element, shape, inner)} outside",
                f"leave such rows out (client.check tells all of them, and keeps the others), or {_COMPILE}",
                then=_taken_by(constraint), low=constraint.low, high=constraint.high, can_clip=False, by_rows=True,
            )  # fmt: skip


def _list_constrained(
    spec: ClientSpec, arrays: Arrays
) -> Iterator[tuple[Constraint, npt.NDArray[np.float64], tuple[int, ...], bool]]:
    """Each constraint on an array that is there, that array, its shape for one run, and whether it has rows or runs."""
    inputs = {i.name: i for i in spec.secret_inputs}
    for constraint in spec.constraints:
        if constraint.input in arrays:
            given, array = inputs[constraint.input], np.asarray(arrays[constraint.input], dtype=np.float64)
            yield constraint, array, given.shape, has_rows(spec, given, array)


def _size(constraint: Constraint, shape: tuple[int, ...]) -> int:
    return int(np.prod(constraint.item_shape(shape), dtype=np.int64))


def _taken_by(constraint: Constraint) -> str:
    return f", what {constraint.function} in {constraint.place} takes there"


def element_text(constraint: Constraint, element: Element, shape: tuple[int, ...], row: int | None = None) -> str:
    """x[0] + x[1] - x[2]; of the rows of an input x[:, 0] + x[:, 1], or x[row, 0] + x[row, 1] of one of them."""
    item = constraint.item_shape(shape)
    lead = [":" if row is None else str(row)] if constraint.by_row else []
    names = []
    for place in element.places[:SHOWN]:
        index = [*lead, *(str(int(i)) for i in (np.unravel_index(place, item) if item else ()))]
        names.append(f"{constraint.input}[{', '.join(index)}]" if index else constraint.input)
    factors = element.factors or (1.0,) * len(element.places)
    terms = [
        ("" if factor == 1.0 else "-" if factor == -1.0 else f"{factor:.4g} * ") + name
        for factor, name in zip(factors, names, strict=False)
    ]
    told = terms[0] + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in terms[1:])
    rest = len(element.places) - len(names)
    return told + (f" + ... ({rest} more)" if rest else "")
