"""The user's names and shapes at the client, where ciphertexts hold several inputs or parts of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, ShapeError, TraceError, UserError
from latticework.plan.schema.arguments import Argument, Result, gather, rebuild_result, take_elements
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.exchange.clipped import Doubted
from latticework.runtime.exchange.decrypted import OwnerValue, of_several, wrapping_elements
from latticework.runtime.exchange.input_errors import (
    OUTSIDE,
    REMEDY,
    Misfits,
    in_users_terms,
    not_finite,
    not_whole,
    refusal,
    replace_misfits,
)
from latticework.runtime.exchange.input_parts import check_whole_ciphertexts
from latticework.values.inputs.column_names import in_order
from latticework.values.inputs.foreign_arrays import as_array, find_loss
from latticework.values.inputs.frames_by_column import split_by_column

EXACT = 2.0**53  # floats that are larger hold no integer for certain
Array = npt.NDArray[Any]


def inputs_by_name(
    spec: ClientSpec, arrays: tuple[Any, ...], named: Mapping[str, Any], *, linked: bool = False, part: bool = False
) -> dict[str, Any]:
    """The values of one run by the names of what users give.

    linked  whether those that another circuit computes have to be given too
    part    whether others may come from elsewhere: at least one has to be given, and what shares a ciphertext with it
    returns columns of frames in the order that the program knows them in
    raises  TraceError for too many, unknown, missing or repeated ones, and for several that have no order; ColumnsError
            for frames with other columns
    """
    names = spec.given_names
    listed = ", ".join(names)
    each = {} if spec.owner is None else spec.owner.column_each
    if len(arrays) == 1 and not named and (split := split_by_column(arrays[0], each, f"program {spec.name}: data")):
        arrays, named = (), split
    if len(arrays) > len(names):
        raise TraceError(f"program {spec.name} has the inputs {listed}; got {len(arrays)} values")
    if len(arrays) > 1 and spec.owner is not None and not spec.owner.is_in_order(i.name for i in spec.inputs):
        raise TraceError(
            f"program {spec.name}: its owner's steps read {listed} in another order than they declare them in; give "
            f"them by name: {names[0]}=..., {names[1]}=..."
        )
    given = dict(zip(names, arrays, strict=False))
    unknown = [n for n in named if n not in names or n in given]
    given.update(named)
    spared = set() if linked else {a.name for a in spec.arguments if a.linked is not None}
    missing = [] if part and given else [n for n in names if n not in given and n not in spared]
    if unknown or missing:
        apart = missing and given and not linked
        raise TraceError(
            f"program {spec.name} has the inputs {listed}; missing: {', '.join(missing) or 'none'}; "
            f"unknown or given twice: {', '.join(unknown) or 'none'}"
            + ("; client.encrypt_part (`latticework encrypt --part`) takes some of the inputs alone" if apart else "")
        )
    if part:
        check_whole_ciphertexts(spec, given)
    where = f"program {spec.name}, input"
    partial = () if spec.owner is None else spec.owner.partial
    return {
        name: in_order(value, spec.columns_of(name), f"{where} {name}", is_part=name in partial)
        for name, value in given.items()
    }


@contextmanager
def locate_declaration(spec: ClientSpec, name: str) -> Iterator[None]:
    """Errors about what a user gives say where it is declared in the program, if that is known."""
    try:
        yield
    except UserError as error:
        place = dict(spec.declared).get(name)
        if place is None:
            raise
        raise type(error)(f"{error.message} ({name} is declared in {place})", at=error.at) from None


def gather_inputs(spec: ClientSpec, given: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """The arrays to be encrypted, by input, from the user's values by argument.

    raises  ShapeError, DtypeError or RangeError for values that do not fit
    """
    found, misfits = fitting_arguments(spec, given)
    if misfits:
        raise refusal(spec, misfits)
    return found


def fitting_arguments(spec: ClientSpec, given: dict[str, Any]) -> tuple[dict[str, npt.NDArray[Any]], list[Misfits]]:
    """The same with values that are not taken brought to the ends of their ranges, or replaced; and these.

    raises  ShapeError or DtypeError for what is no array of numbers of the declared shape
    """
    present = [a for a in spec.arguments if a.name in given]
    values, misfits = {}, list[Misfits]()
    for argument in present:
        with locate_declaration(spec, argument.name):
            values[argument.name], found = fitting_argument(spec, argument, given[argument.name])
            misfits += [in_users_terms(spec, each) for each in found]
    several = {a.name: len(values[a.name]) for a in present if values[a.name].ndim > len(a.shape)}
    if len(set(several.values())) > 1:
        told = ", ".join(f"{name} is a stack of {runs}" for name, runs in several.items())
        raise ShapeError(f"circuit {spec.name}: {told}; give as many runs of each of these inputs")
    sent = [a for a in present if a.input >= 0]
    arrays = gather(sent, [prod(i.shape) for i in spec.secret_inputs], values)
    numbers = {a.input for a in sent}
    differing = {a.input for a in sent if a.name in several}
    gathered = {}
    for number, (i, array) in enumerate(zip(spec.secret_inputs, arrays, strict=True)):
        if number in differing:
            gathered[i.name] = array.reshape(-1, *i.shape)
        elif number in numbers:  # the same in all runs
            gathered[i.name] = array.reshape(-1, *i.shape)[0]
    return gathered, misfits


def fitting_argument(spec: ClientSpec, argument: Argument, value: Any) -> tuple[npt.NDArray[Any], list[Misfits]]:
    """A value of the declared shape, or a stack (runs, *shape) of such, that fits; kept whole if it is.

    returns  with it what did not, which was brought to the ends of its range, or replaced
    """
    where = f"circuit {spec.name}, input {argument.name}"
    lost = find_loss(value)
    if lost:
        raise DtypeError(f"{where} is {lost}")
    is_wide = spec.chain.has_wide_integers
    try:
        array = as_whole_array(value, where) if is_wide else as_array(value)
    except ValueError:
        raise DtypeError(f"{where} is a {type(value).__name__} of rows of different lengths; give an array") from None
    is_whole = array.dtype.kind == "O" and all(isinstance(n, int) for n in array.flat)
    if array.dtype.kind not in "fiub" and not is_whole and not is_wide:
        raise DtypeError(f"{where} has dtype {array.dtype}; give real numbers or integers")
    is_stack = array.ndim == len(argument.shape) + 1 and array.shape[1:] == argument.shape and len(array)
    if array.shape != argument.shape and not is_stack:
        raise ShapeError(
            f"{where} has shape {array.shape}, the circuit was compiled for {argument.shape}; for several runs give a "
            f"stack (runs, {str(argument.shape)[1:]}"
        )
    if is_wide:
        return whole_misfits(argument, array, is_stack=bool(is_stack))
    array, found = _of_62_bits(argument, array, bool(is_stack))
    found += _misfits(argument, array, bool(is_stack), spec.chain.plain_modulus)
    if found:
        array = replace_misfits(array, found, argument.low or 0.0)
    return array.astype(np.int64) if array.dtype.kind == "b" else array, found


def _of_62_bits(argument: Argument, array: npt.NDArray[Any], is_stack: bool) -> tuple[npt.NDArray[Any], list[Misfits]]:
    """Whole numbers of Python's as int64, those that have more bits replaced."""
    if array.dtype.kind != "O":
        return array, []
    large = np.array([abs(n) >= 1 << 62 for n in array.flat], dtype=bool).reshape(array.shape)
    if not large.any():
        return array.astype(np.int64), []
    why, remedy = "is a whole number of more than 62 bits", "whole numbers have at most 62 bits here"
    held = np.where(large, int(argument.low or 0), array).astype(np.int64)
    return held, [Misfits(argument.name, large, argument.shape, is_stack, why, remedy, can_clip=False)]


def _misfits(argument: Argument, array: npt.NDArray[Any], is_stack: bool, modulus: int) -> list[Misfits]:
    """Find numbers that are not taken; of integers modulo a number that is not 0 fractions are not either."""
    name, shape, found = argument.name, argument.shape, list[Misfits]()
    finite = np.isfinite(array)
    if not finite.all():
        found.append(not_finite(~finite, name, shape, is_stack))
    if argument.bits or modulus:
        fractions = finite & (array != np.rint(array))
        if fractions.any():
            exact = f"this program computes exactly on integers modulo {modulus}: round the values, or scale them to "
            remedy = "give whole numbers" if argument.bits else f"{exact}integers"
            found.append(not_whole(fractions, name, shape, is_stack, remedy))
    low, high = argument.low, argument.high
    if low is not None and high is not None:
        off = finite & ((array < low) | (array > high))
        then, remedy = ", which the circuit was compiled for", "declare low= and high= of the input, or compile with "
        remedy += f"calibrate= data that cover it; {REMEDY}"
        if argument.bits:
            then, remedy = f", which lw.bits({argument.bits}) takes", "declare more bits"
        if off.any():
            found.append(Misfits(name, off, shape, is_stack, OUTSIDE, remedy, then, low, high))
    return found


def in_arguments_terms(spec: ClientSpec, misfits: Misfits) -> Iterator[Misfits]:
    """Express misfits of an encrypted input as elements of the values that users give, which share it."""
    numbers = {i.name: number for number, i in enumerate(spec.secret_inputs)}
    for argument in spec.arguments:
        if argument.input != numbers.get(misfits.input) or argument.bits:
            continue
        runs = misfits.where.shape[:1] if misfits.has_rows else ()
        flat = misfits.where.reshape(*runs, -1)[..., list(argument.elements)]
        if flat.any():
            where = flat.reshape(*runs, *argument.shape)
            yield replace(misfits, input=argument.name, where=where, shape=argument.shape)


def return_values(spec: ClientSpec, outputs: list[OwnerValue], doubted: Doubted | None = None) -> Any:
    """Rebuild what the circuit's function returned, of decrypted outputs: an OwnerValue for every number and array.

    doubted  rows, of a stack, whose results are marked

    The error bound of a result is that of the worst output which holds a part of it.
    """
    arrays = [v.reveal() for v in outputs]
    stack = arrays[0].shape[: arrays[0].ndim - len(spec.outputs[0].shape)]  # of several runs
    arrays = [array.reshape((*stack, -1)) for array in arrays]
    masks = [mask.reshape((*stack, -1)) for mask in wrapping_elements(outputs)]
    wrapping = np.concatenate(masks, axis=-1)
    owner = np.repeat(np.arange(len(arrays)), [array.shape[-1] for array in arrays])

    def make(result: Result) -> OwnerValue:
        numbers = list(result.elements)
        parts = [outputs[i] for i in np.unique(owner[numbers])]
        shape = (*stack, *result.shape)
        own = take_elements(arrays, numbers).reshape(shape)
        value = of_several(own, parts, wrapping[..., numbers].reshape(shape))
        if doubted is not None:
            value.doubt_rows(doubted.rows, 0 if stack else None, doubted.reason)
        return value

    return rebuild_result(spec.results, make)


def as_whole_array(value: Any, where: str) -> Array:
    """An array that has lost nothing of what a user gives: lists of Python's integers are kept as they are.

    raises  DtypeError for what holds no numbers; ValueError, of NumPy, for rows of different lengths
    """
    array = np.asarray(value, dtype=object) if isinstance(value, int | list | tuple) else as_array(value)
    if array.dtype == object:
        numbers = [n.item() if isinstance(n, np.generic) else n for n in array.reshape(-1)]
        if any(isinstance(n, list | tuple) for n in numbers):
            raise ValueError("rows of different lengths")
        wrong = [type(n).__name__ for n in numbers if not isinstance(n, int | float)]
        if wrong:
            raise DtypeError(f"{where} holds a {wrong[0]}; give whole numbers")
        kept = np.empty(len(numbers), dtype=object)
        kept[:] = numbers
        return kept.reshape(array.shape)
    if array.dtype.kind not in "fiub":
        raise DtypeError(f"{where} has dtype {array.dtype}; give whole numbers")
    return array


def whole_misfits(argument: Argument, array: Array, *, is_stack: bool) -> tuple[Array, list[Misfits]]:
    """The integers of an array, int64 or uint64 where one of them holds all, else Python's; and what is not taken, in
    whose place the least number of the range stands."""
    name, shape = argument.name, argument.shape
    low, high = argument.ends
    numbers = array.astype(object) if array.dtype.kind in "fbO" else array
    finite, whole, sure = (np.ones(array.shape, dtype=bool) for _ in range(3))
    if numbers.dtype == object:
        found = [_judge(n) for n in numbers.reshape(-1)]
        finite, whole, sure = (np.array([each[i] for each in found], dtype=bool).reshape(array.shape) for i in range(3))
        numbers = np.where(finite & whole, numbers, low)
        numbers = np.array([int(n) for n in numbers.reshape(-1)], dtype=object).reshape(array.shape)
    misfits = []
    if not finite.all():
        misfits.append(not_finite(~finite, name, shape, is_stack))
    if not whole.all():
        misfits.append(not_whole(~whole, name, shape, is_stack, "this program computes exactly on integers: round it"))
    if not (sure | ~whole).all():
        why, remedy = "is a float above 2^53, which holds no integer for certain", "give integers, as int64 or Python's"
        misfits.append(Misfits(name, ~sure & whole, shape, is_stack, why, remedy, can_clip=False, error=DtypeError))
    off = np.asarray((numbers < low) | (numbers > high), dtype=bool).reshape(array.shape)
    if off.any():
        remedy = "give numbers in it, or compile with low= and high= that hold them (up to 64 bits)"
        misfits.append(Misfits(name, off, shape, is_stack, f"{OUTSIDE} {low} to {high}", remedy, can_clip=False))
        numbers = np.where(off, low, numbers)
    return _smallest_kind(numbers), misfits


def _judge(number: float) -> tuple[bool, bool, bool]:
    """Whether a number is finite, whole, and certainly the integer that was meant."""
    if isinstance(number, int):
        return True, True, True
    is_finite = bool(np.isfinite(number))
    return is_finite, not is_finite or number == int(number), not is_finite or abs(number) <= EXACT


def _smallest_kind(numbers: Array) -> Array:
    if numbers.dtype != object:
        return numbers.astype(np.uint64 if numbers.dtype.kind == "u" else np.int64)
    least, most = min(numbers.reshape(-1), default=0), max(numbers.reshape(-1), default=0)
    if least >= -(1 << 63) and most < 1 << 63:
        return numbers.astype(np.int64)
    return numbers.astype(np.uint64) if least >= 0 and most < 1 << 64 else numbers
