"""Semantics of operations on ciphertexts, on slot vectors that have all one width.

Levels, scales, relinearisation and bootstraps change no slot, so what only manages them passes its operand on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from latticework.frontend.heir.syntax import HeirOperation
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import IntervalPolynomial


@dataclass(frozen=True)
class HeirVector:
    """A plaintext or ciphertext; slots: what the arithmetic in use computes with."""

    slots: Any


class SlotArithmetic:
    """Arithmetic of slot vectors as arrays; `slot_vectors.py` writes it down instead."""

    def add(self, a: Any, b: Any) -> Any:
        """Slot by slot."""
        return a + b

    def sub(self, a: Any, b: Any) -> Any:
        """Slot by slot."""
        return a - b

    def mul(self, a: Any, b: Any) -> Any:
        """Slot by slot."""
        return a * b

    def negate(self, a: Any) -> Any:
        """Slot by slot."""
        return -a

    def rotate(self, a: Any, steps: int) -> Any:
        """Rotate to the left, cyclically."""
        return np.roll(a, -steps)

    def polynomial(self, a: Any, polynomial: IntervalPolynomial) -> Any:
        """Slot by slot."""
        return polynomial(a)

    def at(self, op: HeirOperation) -> None:
        """Told before every operation."""


SlotHandler = Callable[[SlotArithmetic, HeirOperation, Sequence[Any]], Any]


def _polynomial(arithmetic: SlotArithmetic, op: HeirOperation, operands: Sequence[Any]) -> Any:
    """A Chebyshev series as OpenFHE reads it: the first coefficient counts half."""
    first, *rest = (float(c) for c in op.attributes["coefficients"])
    if not np.isfinite([first, *rest]).all():
        raise ValueError("a coefficient that is infinite or NaN")
    ends = float(op.attributes["domain_lower"]), float(op.attributes["domain_upper"])
    if not -inf < ends[0] < ends[1] < inf:
        raise ValueError(f"a series from {ends[0]} to {ends[1]}; the lower end has to be below the upper one")
    return arithmetic.polynomial(operands[0], IntervalPolynomial((first / 2, *rest), ends))


_COMPUTING: dict[str, SlotHandler] = {
    "add": lambda a, _op, x: a.add(x[0], x[1]),
    "add_plain": lambda a, _op, x: a.add(x[0], x[1]),
    "sub": lambda a, _op, x: a.sub(x[0], x[1]),
    "sub_plain": lambda a, _op, x: a.sub(x[0], x[1]),
    "mul": lambda a, _op, x: a.mul(x[0], x[1]),
    "mul_no_relin": lambda a, _op, x: a.mul(x[0], x[1]),
    "mul_plain": lambda a, _op, x: a.mul(x[0], x[1]),
    "mul_const": lambda a, _op, x: a.mul(x[0], np.full(1, float(x[1]))),
    "negate": lambda a, _op, x: a.negate(x[0]),
    "square": lambda a, _op, x: a.mul(x[0], x[0]),
    "rot": lambda a, _op, x: a.rotate(x[0], operator.index(x[1])),
    "eval_chebyshev_series": _polynomial,
}
_TAKING = {
    **dict.fromkeys(("add", "add_plain", "sub", "sub_plain", "mul", "mul_no_relin", "mul_plain"), "vv"),
    "mul_const": "vn", "rot": "vn", "negate": "v", "square": "v", "eval_chebyshev_series": "v",
}  # fmt: skip


def check_operands(op: HeirOperation, given: Sequence[Any]) -> None:
    """TypeError unless an operation is given what it computes with: vectors and numbers, in order, all of them."""
    wanted = _TAKING.get(op.name.removeprefix("openfhe.").removesuffix("_inplace"))
    found = "".join("v" if isinstance(value, HeirVector) else "n" for value in given)
    if wanted is not None and found != wanted:
        named = {"v": "a ciphertext or plaintext", "n": "a number"}
        told = [" and ".join(named[sign] for sign in signs) or "nothing" for signs in (wanted, found)]
        raise TypeError(f"it takes {told[0]}, not {told[1]}")


_MANAGING = ("relin", "mod_reduce", "level_reduce", "bootstrap")
_BETWEEN = ("make_ckks_packed_plaintext", "encrypt", "decrypt")  # numbers, plaintexts, ciphertexts

SLOT_HANDLERS: dict[str, SlotHandler] = {
    f"openfhe.{name}{ending}": handler
    for name, handler in {**_COMPUTING, **dict.fromkeys((*_MANAGING, *_BETWEEN), lambda _a, _op, x: x[0])}.items()
    for ending in ("", "_inplace")
}
