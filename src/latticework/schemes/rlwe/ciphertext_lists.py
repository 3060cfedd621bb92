"""Operations on lists of ciphertexts: what works on one works on a list, item by item."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from latticework.errors import ShapeError
from latticework.schemes.rlwe.checks import fail
from latticework.schemes.rlwe.ciphertext import Ciphertext, Plaintext
from latticework.schemes.rlwe.device_placement import place_operands

P = ParamSpec("P")
R = TypeVar("R")


def batch(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose operands may be lists of ciphertexts too; it then gives a list, and others are used for each.

    Its errors name the caller's line.
    """
    single = place_operands(method)

    @wraps(method)
    def run(*operands: Any, **options: Any) -> Any:
        evaluator, *given = operands
        lengths = {len(o) for o in given if _is_batch(o)}
        if not lengths:
            return single(*operands, **options)
        if len(lengths) > 1:
            fail(ShapeError, f"{method.__name__}: lists of {sorted(lengths)} operands; give lists of one length")
        columns = [_spread(o, lengths) for o in given]
        return [single(evaluator, *row, **options) for row in zip(*columns, strict=True)]

    return cast(Callable[P, R], run)


def _is_batch(operand: Any) -> bool:
    """A list of numbers is one vector; one of ciphertexts, plaintexts or vectors is a batch."""
    items = isinstance(operand, list | tuple) and len(operand) > 0
    return items and all(isinstance(o, Ciphertext | Plaintext | np.ndarray) for o in operand)


def _spread(operand: Any, lengths: set[int]) -> list[Any]:
    return list(operand) if _is_batch(operand) else [operand] * next(iter(lengths))
