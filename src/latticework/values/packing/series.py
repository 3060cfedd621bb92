"""Values of Chebyshev series, the bits of NumPy's: natively, in a fifth of the time."""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from latticework.values.extension import _core
from latticework.values.packing.pack import FloatArray


def series_at(x: npt.ArrayLike, coefficients: npt.ArrayLike, axis: int | None = None) -> FloatArray:
    """Elementwise, on [-1, 1]; the recurrence of `numpy.polynomial.chebyshev.chebval`.

    x             any shape
    coefficients  (terms,), lowest degree first; (terms, channels) with  axis  of x along which channels follow one
                  another; (terms, *last axes of x), of each element its own
    """
    places = np.asarray(x)
    table = np.ascontiguousarray(coefficients, dtype=np.float64)
    behind = 0 if axis is None else -axis - 1
    lying = table.reshape(*table.shape, *(1,) * behind)
    if places.dtype != np.float64 or not places.size:  # what is wider than the kernel
        return np.asarray(np.polynomial.chebyshev.chebval(places, lying, tensor=False))
    shape = np.broadcast_shapes(places.shape, lying.shape[1:])
    elements = prod(shape) if table.ndim == 1 else prod(shape[len(shape) - behind :])
    rows = np.ascontiguousarray(np.broadcast_to(places, shape)).reshape(-1)
    return _core.maps.series(rows, table.reshape(len(table), -1), elements).reshape(shape)
