"""The user's names and shapes at the client, where ciphertexts hold several inputs or parts of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, RangeError, ShapeError, TraceError, UserError
from latticework.plan.arguments import Argument, Result, gather, rebuild_result
from latticework.plan.schema import ClientSpec
from latticework.runtime.owner import OwnerValue, of_several
from latticework.runtime.parts import check_whole_ciphertexts
from latticework.user.arrays import as_array, find_loss
from latticework.user.columns import in_order
from latticework.words.figures import large, outside


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
    return {name: in_order(value, spec.columns_of(name), f"{where} {name}") for name, value in given.items()}


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
    present = [a for a in spec.arguments if a.name in given]
    values = {}
    for argument in present:
        with locate_declaration(spec, argument.name):
            values[argument.name] = check_argument(spec, argument, given[argument.name], stacks=True)
    several = {a.name: len(values[a.name]) for a in present if values[a.name].ndim > len(a.shape)}
    if len(set(several.values())) > 1:
        told = ", ".join(f"{name} is a stack of {runs}" for name, runs in several.items())
        raise ShapeError(f"circuit {spec.name}: {told}; give as many runs of each of these inputs")
    sent = [a for a in present if a.input >= 0]
    arrays = gather(sent, [prod(i.shape) for i in spec.secret_inputs], values)
    numbers = {a.input for a in sent}
    differing = {a.input for a in sent if a.name in several}
    found = {}
    for number, (i, array) in enumerate(zip(spec.secret_inputs, arrays, strict=True)):
        if number in differing:
            found[i.name] = array.reshape(-1, *i.shape)
        elif number in numbers:  # the same in all runs
            found[i.name] = array.reshape(-1, *i.shape)[0]
    return found


def check_argument(spec: ClientSpec, argument: Argument, value: Any, *, stacks: bool = False) -> npt.NDArray[Any]:
    """A value of the declared shape and range, or with `stacks` a stack (runs, *shape) of such; kept whole if it is."""
    where = f"circuit {spec.name}, input {argument.name}"
    lost = find_loss(value)
    if lost:
        raise DtypeError(f"{where} is {lost}")
    try:
        array = as_array(value)
    except ValueError:
        raise DtypeError(f"{where} is a {type(value).__name__} of rows of different lengths; give an array") from None
    if array.dtype.kind == "O" and all(isinstance(n, int) for n in array.flat):
        large_ones = [n for n in array.flat if abs(n) >= 1 << 62]
        if large_ones:
            raise RangeError(f"{where} holds {large(large_ones[0])}; whole numbers have at most 62 bits here")
        array = array.astype(np.int64)
    if array.dtype.kind not in "fiub":
        raise DtypeError(f"{where} has dtype {array.dtype}; give real numbers or integers")
    is_stack = stacks and array.ndim == len(argument.shape) + 1 and array.shape[1:] == argument.shape and len(array)
    if array.shape != argument.shape and not is_stack:
        stack = f"; for several runs give a stack (runs, {str(argument.shape)[1:]}" if stacks else ""
        raise ShapeError(f"{where} has shape {array.shape}, the circuit was compiled for {argument.shape}{stack}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise RangeError(f"{where} holds NaN or infinity; replace them first")
    low, high = argument.low, argument.high
    if low is not None and high is not None and (array.min() < low or array.max() > high):
        given = outside(array.min(), array.max(), low, high)
        if argument.bits:
            raise RangeError(
                f"{where} reaches from {given[0]} to {given[1]}; lw.bits({argument.bits}) takes {given[2]} to "
                f"{given[3]}: declare more bits"
            )
        raise RangeError(
            f"{where} reaches from {given[0]} to {given[1]}; the circuit was compiled for {given[2]} to "
            f"{given[3]}: declare low= and high= of the input, or compile with calibrate= data that cover it"
        )
    if argument.bits and not (array == np.rint(array)).all():
        first = array[array != np.rint(array)].reshape(-1)[0]
        raise DtypeError(f"{where} holds {first:.17g}, which is no integer; give whole numbers")
    return array.astype(np.int64) if array.dtype.kind == "b" else array


def return_values(spec: ClientSpec, outputs: list[OwnerValue]) -> Any:
    """What the circuit's function returned, of decrypted outputs: an OwnerValue for every number and array.

    The error bound of a result is that of the worst output which holds a part of it.
    """
    arrays = [v.reveal() for v in outputs]
    stack = arrays[0].shape[: arrays[0].ndim - len(spec.outputs[0].shape)]  # of several runs
    arrays = [array.reshape((*stack, -1)) for array in arrays]
    held = np.concatenate(arrays, axis=-1)
    owner = np.repeat(np.arange(len(arrays)), [array.shape[-1] for array in arrays])

    def make(result: Result) -> OwnerValue:
        numbers = list(result.elements)
        parts = [outputs[i] for i in np.unique(owner[numbers])]
        return of_several(held[..., numbers].reshape((*stack, *result.shape)), parts)

    return rebuild_result(spec.results, make)
