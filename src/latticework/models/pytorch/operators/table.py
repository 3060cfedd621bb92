"""Helpers to write tables of operators, shared by many overloads."""

from __future__ import annotations

from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.models.converters import Converter, Meaning
from latticework.models.semantics.operand_checks import is_secret


def each(names: str, meaning: Meaning, note: str = "") -> list[Converter]:
    """One meaning of several overloads: "add.Tensor add.Scalar" of ATen."""
    return [Converter(f"aten.{name}", meaning, note=note) for name in names.split()]


def convert_dtype(x: Any, dtype: Any) -> Any:
    """x as numbers of another kind: of secrets, between kinds of floating point only, which is nothing."""
    if dtype is None:
        return x
    if not is_secret(x):
        return np.asarray(x).astype(dtype)
    if np.dtype(dtype).kind != "f":
        raise UnsupportedError(f"a secret as {np.dtype(dtype)}: {REMEDIES['rounding'].for_models}")
    return x


def pairs(padding: Any, axes: int) -> Any:
    """Zeros on both sides of every axis, as meanings have them: "valid" and "same" are not among them."""
    numbers = padding if isinstance(padding, list | tuple) else [padding]
    numbers = numbers * axes if len(numbers) == 1 else numbers
    return tuple((n, n) for n in numbers)
