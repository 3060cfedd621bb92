"""Functions that are polynomials already: those of modules that `lw.torch.prepare` made."""

from __future__ import annotations

from typing import Any

from latticework.frontend.functions import polynomial
from latticework.importers.converters import Converter


def _polynomial(x: Any, coefficients: Any, interval: Any) -> Any:
    low, high = interval
    return polynomial(x, coefficients, basis="chebyshev", range=(float(low), float(high)))


CONVERTERS = [Converter("latticework.polynomial.default", _polynomial, note="as `lw.torch.prepare` makes them")]
