"""Arrays that users give, where NumPy would silently forget what they are."""

from __future__ import annotations

from typing import Any

import numpy as np


def forgotten(given: Any) -> str:
    """What np.asarray(given) would lose, and what to give instead; "" if nothing is lost.

    Masks of masked arrays, also of parts of lists, and the matrix product that * is of an np.matrix.
    """
    if isinstance(given, np.matrix):
        return "an np.matrix, whose * is a product of matrices; give np.asarray(value), and write @ for such products"
    if isinstance(given, np.ma.MaskedArray):
        masked = int(np.sum(np.ma.getmaskarray(given)))
        text = f"a masked array, {masked} of {given.size} elements masked; give value.filled(number)"
        return text if masked else ""
    if isinstance(given, list | tuple):
        return next((text for part in given if (text := forgotten(part))), "")
    return ""
