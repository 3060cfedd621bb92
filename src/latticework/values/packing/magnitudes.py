"""Largest magnitudes of arrays, for which no array of all magnitudes is made."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.values.extension import _core


def largest_magnitude(x: npt.ArrayLike, where: npt.NDArray[np.bool_] | None = None) -> float:
    """The largest magnitude of real numbers, or of those where as many places are true: 0 of none, NaN where one is."""
    if where is not None:
        places = np.ascontiguousarray(where).reshape(-1)
        return _core.maps.largest(np.ascontiguousarray(x, dtype=np.float64).reshape(-1), places)
    return float(np.maximum(np.max(x, initial=0.0), -np.min(x, initial=0.0)))
