"""Functions for circuits that choose: select, minimum, maximum, isin, table; Python's own on plain numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from latticework.errors import RangeError, TraceError
from latticework.errors.remedies import REMEDIES
from latticework.frontend.circuits.integers.binary_digits import choose, digitwise
from latticework.frontend.circuits.integers.bit_vectors import Word, known_digits
from latticework.frontend.circuits.integers.integer_arithmetic import range_of, within
from latticework.frontend.recording.circuit_values import CircuitTracer, Number
from latticework.frontend.recording.tracing import Traced
from latticework.ir.lines import user_loc


def select(bit: Any, if_one: Any, if_zero: Any) -> Any:
    """if_one where bit is 1, if_zero where it is 0: if_zero + bit * (if_one - if_zero), elementwise on arrays.

    bit  an encrypted 0 or 1 (nothing checks that it is), or a public one
    """
    bit, if_one, if_zero = (np.asarray(x, dtype=object) if isinstance(x, list | tuple) else x
                            for x in (bit, if_one, if_zero))  # fmt: skip
    parts = [x for x in (bit, if_one, if_zero) if isinstance(x, Number | np.ndarray)]
    if any(isinstance(x, np.ndarray) and x.dtype == object for x in parts) or (
        parts and all(isinstance(x, Number) for x in parts)
    ):
        return _elementwise(_select, bit, if_one, if_zero)
    return if_zero + bit * (if_one - if_zero)


def _select(bit: Any, if_one: Any, if_zero: Any) -> Any:
    bit = int(bit) if isinstance(bit, bool | np.bool_) else bit
    tracer = _tracer_of(bit, if_one, if_zero)
    is_exact = tracer is not None and tracer.operations is not None
    if not is_exact or if_one is if_zero or not all(isinstance(x, Number | int) for x in (bit, if_one, if_zero)):
        return if_zero + bit * (if_one - if_zero)

    def number() -> Any:
        found = if_zero + bit * (if_one - if_zero)
        low, high = range_of(bit)
        ends = [end for x in (if_one, if_zero) for end in range_of(x)]
        return within(found, min(ends), max(ends)) if low >= 0 and high <= 1 else found

    if not any(isinstance(x, Word) for x in (if_one, if_zero)):
        return number()
    one, zero = known_digits(if_one), known_digits(if_zero)
    if one is None or zero is None:
        return number()
    assert tracer is not None
    return Word(tracer, lambda: digitwise(lambda x, y: choose(bit, x, y), one, zero), number)


def minimum(*values: Any) -> Any:
    """The least of two or more numbers or arrays, elementwise; of programs by a polynomial, as lw.relu.

    In circuits of whole numbers, or plain ones.
    """
    if any(map(_is_real, values)):
        return reduce(np.minimum, values)
    return _extreme("minimum", values, lambda a, b: a < b, min)


def maximum(*values: Any) -> Any:
    """The largest of two or more numbers or arrays, elementwise; of programs by a polynomial, as lw.relu.

    In circuits of whole numbers, or plain ones.
    """
    if any(map(_is_real, values)):
        return reduce(np.maximum, values)
    return _extreme("maximum", values, lambda a, b: b < a, max)


def _extreme(name: str, values: tuple[Any, ...], first: Callable[[Any, Any], Any], plain: Callable[..., Any]) -> Any:
    if not values:
        raise TraceError(f"lw.{name} of nothing; give two or more numbers or arrays", at=user_loc())

    def of_two(a: Any, b: Any) -> Any:
        return plain(a, b) if _tracer_of(a, b) is None else _select(first(a, b), a, b)

    left = list(values)
    while len(left) > 1:  # two and two, so that comparisons in a row are few
        pairs = [_elementwise(of_two, a, b) for a, b in zip(left[::2], left[1::2], strict=False)]
        left = pairs + left[2 * len(pairs) :]
    return left[0]


def _is_real(value: Any) -> bool:
    """Whether it is an array of a program, or of floating-point numbers as programs get in plain."""
    return isinstance(value, Traced) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def isin(x: Any, values: Sequence[Any]) -> Any:
    """1 where x is one of some numbers, public or encrypted, else 0; x may be an array.

    On whole numbers of circuits, or on plain ones.
    """
    numbers = list(np.asarray(values, dtype=object).reshape(-1))

    def of_one(one: Any) -> Any:
        tracer = _tracer_of(one, *numbers)
        if tracer is None:
            return any(one == number for number in numbers)
        given = [n if isinstance(n, Number) else tracer.public(n) for n in (one, *numbers)]
        return tracer.checked_operations().contains(given[1:], given[0])

    return _elementwise(of_one, x)


def table(x: Any, values: Sequence[int] | Mapping[int, int] | Callable[[int], int], low: int = 0) -> Any:
    """Any function of a whole number that takes few values: values[x - low], elementwise on arrays.

    x       of a circuit with a declared range of at most 1025 values, or plain
    values  a list of whole numbers, the first for x == low; or a dictionary by x; or a function of x
    raises  RangeError where x may be a number that has no value, or takes too many
    """

    def value(number: int) -> int:
        if callable(values):
            return operator.index(values(number))
        try:
            if not isinstance(values, Mapping) and number < low:
                raise IndexError
            return operator.index(values[number] if isinstance(values, Mapping) else values[number - low])
        except (KeyError, IndexError):
            least, most = (min(values), max(values)) if isinstance(values, Mapping) else (low, low + len(values) - 1)
            raise RangeError(
                f"lw.table: there is no value for {number}, only for {least} to {most}; "
                f"{REMEDIES['range'].outside}, or give all values",
                at=user_loc(),
            ) from None

    def of_one(one: Any) -> Any:
        if isinstance(one, Number):
            return one._tracer.checked_operations().table("lw.table", one, value)
        return value(operator.index(one))

    return _elementwise(of_one, x)


def _tracer_of(*values: Any) -> CircuitTracer | None:
    return next((x._tracer for x in values if isinstance(x, Number)), None)


def _elementwise(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function to numbers, or to arrays and lists element by element."""
    if not any(isinstance(x, np.ndarray | list | tuple) for x in operands):
        return function(*operands)
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=object) for x in operands))
    made = np.empty(arrays[0].shape, dtype=object)
    for place in np.ndindex(made.shape):
        made[place] = function(*(array[place] for array in arrays))
    return made
