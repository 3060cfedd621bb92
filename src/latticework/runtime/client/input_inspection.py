"""Inspection of inputs before encryption: shapes and dtypes, which are refused, and values, which may be mended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from latticework.errors import DtypeError
from latticework.errors.shown import describe
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import ClientSpec, IndexInput, SecretInput
from latticework.runtime.client.check_constraints import elements_beyond, sums_beyond
from latticework.runtime.client.coding import Coding
from latticework.runtime.client.preprocess import fitting_inputs, in_owners_terms
from latticework.runtime.client.user_names import fitting_arguments, in_arguments_terms, locate_declaration
from latticework.runtime.exchange.input_errors import Misfits, in_users_terms, replace_misfits
from latticework.runtime.exchange.integers import check_integer
from latticework.runtime.exchange.row_batches import Extent, extent_of, has_rows, in_runs
from latticework.values.inputs.foreign_arrays import as_array, find_loss, say_one_row


@dataclass(frozen=True)
class Looked:
    """Inputs that were looked at, by name of the program's inputs, with nothing in them that is not taken.

    values   arrays and integers; what was not taken stands at the ends of its range, or is replaced
    misfits  what was not taken, in the user's terms
    rows     numbers of the rows or runs of which something is not taken; None: all
    unclipped  the same of those in which something cannot be clipped
    extent   how many there are, where it is not one run of the program as compiled
    has_rows whether there are rows or runs that can be left out
    """

    values: Mapping[str, Any]
    misfits: tuple[Misfits, ...]
    rows: frozenset[int] | None
    unclipped: frozenset[int] | None
    extent: Extent | None
    has_rows: bool

    def __repr__(self) -> str:
        return describe("Looked", *self.values, f"{sum(each.count for each in self.misfits)} values not taken")


def look_at(spec: ClientSpec, coding: Coding, given: Mapping[str, Any]) -> Looked:
    """All values that users give, by their names.

    raises  ShapeError, DtypeError or RangeError for inputs of which nothing can be encrypted
    """
    raw: Mapping[str, Any] = {} if spec.arguments else given
    values, told = fitting_arguments(spec, dict(given)) if spec.arguments else fitting_inputs(spec, given)
    found = list[Misfits]()  # of encrypted inputs
    sent = [i for i in spec.inputs if i.name in values]  # the server has those that another circuit computes
    values = {i.name: _fitting(spec, coding, i, values[i.name], found) for i in sent}
    _, extent = in_runs(spec, values)
    arrays = {i.name: values[i.name] for i in spec.secret_inputs if i.name in values}
    for beyond in elements_beyond(spec, arrays):
        arrays[beyond.input] = values[beyond.input] = replace_misfits(arrays[beyond.input], [beyond], 0.0)
        found.append(beyond)
    found += sums_beyond(spec, arrays)  # of what would be encrypted once elements are clipped
    every = [*told, *found]
    for misfits in found:
        terms = in_arguments_terms(spec, misfits) if spec.arguments else in_owners_terms(spec, raw, misfits)
        told += (in_users_terms(spec, each) for each in terms)
    return Looked(
        values, tuple(_once(told)), _rows(every), _rows(each for each in every if not each.can_clip), extent,
        any(has_rows(spec, i, arrays[i.name]) for i in spec.secret_inputs if i.name in arrays),
    )  # fmt: skip


def _fitting(
    program: ClientSpec, coding: Coding, spec: SecretInput | IndexInput, value: Any, found: list[Misfits]
) -> Any:
    """An input as float64 or an integer, with what is not taken added to `found`."""
    where = f"program {program.name}, input {spec.name}"
    with locate_declaration(program, spec.name):
        if isinstance(spec, IndexInput):
            return check_integer(where, spec, value)
        lost = find_loss(value)
        if lost:
            raise DtypeError(f"{where} is {lost}")
        try:
            array = as_array(value)
        except ValueError:
            raise DtypeError(
                f"{where} is a {type(value).__name__} of rows of different lengths; give an array"
            ) from None
        if not say_one_row(array.shape, spec.shape):  # a series of several types holds objects: its shape says more
            coding.check_dtype(where, array)
        extent_of(program, spec, array.shape)
        fitting, misfits = coding.fitting(spec, array, has_rows(program, spec, array))
        found += misfits
        return fitting


def _once(misfits: Iterable[Misfits]) -> list[Misfits]:
    """Each place once, although several encrypted inputs may be made of it."""
    found: dict[Any, Misfits] = {}
    for each in misfits:
        found.setdefault((each.input, each.why, each.where.shape, each.where.tobytes()), each)
    return list(found.values())


def _rows(misfits: Iterable[Misfits]) -> frozenset[int] | None:
    """Rows that any are in; None: they are of all."""
    rows: set[int] = set()
    for each in misfits:
        of_it = each.rows()
        if of_it is None:
            return None
        rows.update(of_it.tolist())
    return frozenset(rows)
