"""The user's inputs and outputs of a program whose ciphertexts hold several of them, or parts of one.

The inputs of a plan are groups of numbers that are encrypted together; an `Argument` says where one of the user's
values lies among them. A `Result` says the same of what the user's function returned, however that was nested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.values.chinese_remainders import as_exact

Array = npt.NDArray[Any]
MAX_NESTING = 64  # of a circuit's results
MAX_BITS = 53  # of an input in digits: what float64 holds exactly


@dataclass(frozen=True, slots=True)
class Link:
    """An encrypted output of a compiled circuit.

    interface  of the compilation (`interface_id`), in hexadecimal
    """

    circuit: str
    output: str
    interface: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One value that the user gives.

    input      number of the encrypted input that holds it
    elements   which of that input's elements it is, in C order of `shape`
    low, high  what is accepted; None: anything that the input accepts
    linked     the output of another circuit that it is; the client need not give it then
    bits       binary digits of every number, which are the elements instead of it; 0: the numbers are
    ends       low and high as whole numbers, where floats may not hold them: of integers of many bits; (): they do
    """

    name: str
    shape: tuple[int, ...]
    input: int
    elements: tuple[int, ...]
    low: float | None = None
    high: float | None = None
    linked: Link | None = None
    bits: int = field(default=0, metadata={"unstored_default": True})
    ends: tuple[int, ...] = field(default=(), metadata={"unstored_default": True})

    @property
    def encrypted_shape(self) -> tuple[int, ...]:
        """Shape of what is encrypted: the numbers, or their digits along a last axis."""
        return (*self.shape, self.bits) if self.bits else self.shape

    def values_to_encrypt(self, values: Array) -> Array:
        """The numbers to encrypt of values (..., *shape): the same, or their digits, of the units first."""
        if not self.bits:
            return values
        return (values.astype(np.int64)[..., None] >> np.arange(self.bits)) & 1


@dataclass(frozen=True)
class OutputLanes:
    """The lanes of a compiled circuit's result, for `lanes=` of an input of another circuit that goes on with it.

    link   the encrypted output that holds all of it;  lanes  slots there, in C order of `shape`
    slots, level, scale, parameters  of that ciphertext
    noise  under BFV, as the noise model has it
    may_wrap  under BFV, whether it may have wrapped around, modulo the plaintext modulus
    """

    link: Link
    shape: tuple[int, ...]
    lanes: tuple[int, ...]
    slots: int
    level: int
    scale: float
    parameters: bytes
    noise: Any = None
    may_wrap: bool = False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the slots, in the result's shape."""
        return np.array(self.lanes, dtype=dtype or np.int64).reshape(self.shape)

    def __len__(self) -> int:
        return len(self.lanes)

    def tolist(self) -> Any:
        """Return the slots, nested as the result is."""
        return np.asarray(self).tolist()


@dataclass(frozen=True, slots=True)
class Branch:
    """One step into what a function returned: an entry of a dictionary, or (key None) an item of a tuple."""

    key: str | None
    position: int


@dataclass(frozen=True, slots=True)
class Result:
    """One array or number that the user gets.

    path      where it stands in what the function returned
    elements  numbers among the elements of all encrypted outputs, one output after the other; in C order of `shape`
    """

    name: str
    shape: tuple[int, ...]
    path: tuple[Branch, ...]
    elements: tuple[int, ...]


def gather(arguments: Sequence[Argument], sizes: Sequence[int], values: Mapping[str, Array]) -> list[Array]:
    """The encrypted inputs, of these sizes, from the user's values; elements that nothing names are 0.

    Values may be stacks (runs, *shape); then so are the inputs.
    """
    given = [a.values_to_encrypt(np.asarray(values[a.name])) for a in arguments]
    if any(a.ends for a in arguments):
        given = as_exact(given)
    arrays = dict(zip((a.name for a in arguments), given, strict=True))
    shapes = [a.encrypted_shape for a in arguments]
    stacks = {array.shape[: array.ndim - len(s)] for s, array in zip(shapes, arrays.values(), strict=True)}
    stack = max(stacks, key=len, default=())
    kind = np.result_type(*arrays.values()) if arrays else np.float64
    inputs = [np.zeros((*stack, size), dtype=kind) for size in sizes]
    for a in arguments:
        size = prod(a.encrypted_shape)
        array = np.broadcast_to(arrays[a.name].reshape((-1, size) if stack else (size,)), (*stack, size))
        inputs[a.input][..., list(a.elements)] = array
    return inputs


def scatter(results: Sequence[Result], outputs: Iterable[Array]) -> list[Array]:
    """The user's results from arrays (..., size) of all encrypted outputs."""
    arrays = list(outputs)
    stack = arrays[0].shape[:-1]
    return [take_elements(arrays, r.elements).reshape((*stack, *r.shape)) for r in results]


def take_elements(arrays: Sequence[Array], elements: Sequence[int]) -> Array:
    """Elements (..., n) of arrays (..., size), one after the other, of the kind of those that hold any of them."""
    numbers = np.concatenate(arrays, axis=-1)[..., list(elements)]
    owner = np.repeat(np.arange(len(arrays)), [array.shape[-1] for array in arrays])
    is_small = numbers.dtype == object and all(arrays[i].dtype != object for i in set(owner[list(elements)]))
    return numbers.astype(np.int64) if is_small else numbers


def rebuild_result(results: Sequence[Result], make: Callable[[Result], Any]) -> Any:
    """Return the result of the user's function, with `make` of every part in its place.

    raises  ValueError if two results have the same place, or one stands inside another
    """
    return _rebuild([(r.path, make(r)) for r in results])


def _rebuild(items: list[tuple[tuple[Branch, ...], Any]]) -> Any:
    if len(items) == 1 and not items[0][0]:
        return items[0][1]
    if any(not path for path, _ in items):
        raise ValueError("a result stands where others do")
    inside: dict[Branch, list[tuple[tuple[Branch, ...], Any]]] = {}
    for path, value in items:
        inside.setdefault(path[0], []).append((path[1:], value))
    heads, parts = list(inside), [_rebuild(entries) for entries in inside.values()]
    keys = [head.key for head in heads]
    if keys.count(None) not in (0, len(keys)) or len(set(keys) - {None}) < len(keys) - keys.count(None):
        raise ValueError("results stand both in a tuple and in a dictionary")
    if heads[0].key is None:
        return tuple(parts)
    return {head.key: part for head, part in zip(heads, parts, strict=True)}
