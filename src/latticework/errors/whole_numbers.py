"""Whole numbers, as Python and NumPy have them."""

from __future__ import annotations

import operator
from typing import Any


def whole_number(value: Any) -> int | None:
    """The int that a value is; None for anything else, truth values and fractions among them."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None
