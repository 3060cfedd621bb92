"""Packing of elements into slots, learnt from the client functions that HEIR writes.

They only move numbers: run on an array whose elements are their own numbers, from 1, encryption shows where each
lies, and decryption, run on numbered slots, which slot each element is read from. Other numbers then check that.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import LayoutError
from latticework.frontend.heir.evaluate_text import CONTEXT, HeirRun
from latticework.frontend.heir.reading_cost import room_for
from latticework.frontend.heir.slots import HeirVector, SlotArithmetic
from latticework.frontend.heir.syntax import HeirFunction, HeirText, HeirType
from latticework.values.packing.pack import GAP, PackDim, PackMap

FloatArray = npt.NDArray[np.float64]
_WORDS_OF_PLACE = 8  # of memory, in tables of where elements lie


class ClientFunctions:
    """Encryption and decryption of one program, on cleartext."""

    def __init__(self, text: HeirText) -> None:
        self.text = text
        self.width = 0

    def vectors(self, function: HeirFunction, array: FloatArray | None) -> Any:
        """An array of ciphertexts, from an argument (none for encryptions of zero)."""
        evaluator = HeirRun(self.text, SlotArithmetic(), self.width)
        given = [CONTEXT if kind.element.startswith("!") else _argument(kind, array) for kind in function.types]
        (made,) = evaluator.call(function.name, given)
        vectors_in(made, f"{self.text.name}:{function.line}: {function.name}")
        self.width = evaluator.width
        return made

    def tensor(self, function: HeirFunction, vectors: FloatArray) -> FloatArray:
        """The result that is read from vectors (count, slots)."""
        kind = next(k for k in function.types if k.element == "!openfhe.ciphertext")
        room_for(prod(kind.shape), kind.shape)
        held: Any = np.full(kind.shape, None, dtype=object) if kind.kind else HeirVector(vectors[0])
        for at, vector in zip(np.ndindex(kind.shape) if kind.kind else (), vectors, strict=False):
            held[at] = HeirVector(vector)
        given = [held if k.element == "!openfhe.ciphertext" else CONTEXT for k in function.types]
        (made,) = HeirRun(self.text, SlotArithmetic(), self.width).call(function.name, given)
        declared = function.returns[0].shape
        try:
            result = np.asarray(made, dtype=np.float64)
        except (TypeError, ValueError):
            result = None
        if result is None or result.shape != declared:
            what = "no numbers" if result is None else f"an array of shape {result.shape}"
            raise LayoutError(f"{self.text.name}:{function.line}: {function.name} returns {what}, not {declared}")
        return result

    def input_pack(self, function: HeirFunction) -> PackMap:
        """Return the slots that hold the elements of an argument."""
        shape = argument_type(function).shape

        def pack(numbers: FloatArray) -> FloatArray:
            made = self.vectors(function, numbers.reshape(shape))
            return np.stack([vector.slots for vector in vectors_in(made, function.name)]).reshape(-1)

        size = prod(shape)
        _room_for_table(size, shape)
        moves = _moves(self.text, function, pack, size)
        table = [(place, int(element) - 1) for place, element in enumerate(moves) if element]
        return self._pack(shape, len(moves), table)

    def output_pack(self, function: HeirFunction) -> PackMap:
        """Return the slots that the elements of a result are read from."""
        kind = next(k for k in function.types if k.element == "!openfhe.ciphertext")
        count, shape = prod(kind.shape), function.returns[0].shape
        _room_for_table(count * self.width, kind.shape)

        def unpack(numbers: FloatArray) -> FloatArray:
            return self.tensor(function, numbers.reshape(count, self.width)).reshape(-1)

        moves = _moves(self.text, function, unpack, count * self.width)
        if not all(moves):
            raise LayoutError(f"{self.text.name}:{function.line}: {function.name} reads an element from no slot")
        table = sorted((int(place) - 1, element) for element, place in enumerate(moves))
        if len({place for place, _ in table}) < len(table):
            raise LayoutError(f"{self.text.name}:{function.line}: {function.name} reads two elements from one slot")
        return self._pack(shape, count * self.width, table)

    def _pack(self, shape: tuple[int, ...], places: int, table: list[tuple[int, int]]) -> PackMap:
        count = places // self.width
        return PackMap(shape, self.width, (), (PackDim(GAP, count),) if count > 1 else (), (), tuple(table))


def _room_for_table(places: int, shape: tuple[int, ...]) -> None:
    """UserError where a table of so many places takes more work or memory than is allowed."""
    room_for(places * _WORDS_OF_PLACE, shape)


def argument_type(function: HeirFunction) -> HeirType:
    """Return the type of what an encrypting function encrypts."""
    return next(kind for kind in function.types if kind.is_number)


def vectors_in(made: Any, where: str) -> list[HeirVector]:
    """The vectors of a ciphertext, or of an array of them; LayoutError for anything else."""
    found = [made] if isinstance(made, HeirVector) else list(made.reshape(-1)) if isinstance(made, np.ndarray) else []
    if not found or not all(isinstance(vector, HeirVector) for vector in found):
        raise LayoutError(f"{where} returns something else than ciphertexts")
    return found


def _argument(kind: HeirType, array: FloatArray | None) -> Any:
    if array is None:
        return CONTEXT
    if not kind.kind:
        return float(array.reshape(-1)[0])
    given = array.reshape(kind.shape).copy()
    given.flags.writeable = False
    return given


def _moves(
    text: HeirText, function: HeirFunction, move: Callable[[FloatArray], FloatArray], size: int
) -> npt.NDArray[np.int64]:
    """Find the number, from 1, that comes out at each position; 0: none.

    raises  LayoutError if numbers are not only moved
    """
    found = np.rint(move(np.arange(1.0, size + 1.0))).astype(np.int64)
    rng = np.random.default_rng(0)
    is_move = found.min(initial=0) >= 0 and found.max(initial=0) <= size
    for bits in (0, -40, 40):  # of both signs, so that nothing is cut off on either side, however small or large
        others = rng.uniform(1.0, 2.0, size) * 2.0**bits
        for given in (others, -others):
            is_move = is_move and np.array_equal(move(given), np.concatenate([[0.0], given])[found])
    if not is_move:
        raise LayoutError(
            f"{text.name}:{function.line}: {function.name} does more than moving elements between an array and slots"
        )
    return found
