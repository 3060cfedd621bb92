"""Polynomials of one variable, another one for each channel: as of one, with coefficients in public vectors.

The basis is that of the argument alone, so that products of ciphertexts are those of one polynomial of the degree.
Cost: a product with a plaintext, of the size of what it is multiplied with, for each coefficient that one polynomial
would multiply by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.expand.paterson_stockmeyer import Factors, expand_chebyshev
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.values.packing.packed_constants import ChannelPolynomial, channel_vectors

AddSource = Callable[[npt.NDArray[np.float64]], str]


def expand_channels(
    p: Primitives, x: Value, polynomial: ChannelPolynomial, level: int, scale: float, add_source: AddSource
) -> Value:
    """Primitive operations for arguments in [-1, 1]; the result has exactly this level and scale.

    add_source  keeps an array for the module's constants, and returns its hash
    """
    assert polynomial.interval == (-1.0, 1.0)
    assert polynomial.pack is not None, "the tensor lies in slots by now"
    factors = ChannelFactors(p, polynomial, add_source)
    return expand_chebyshev(p, x, tuple(polynomial.coefficients), level, scale, factors)


class ChannelFactors(Factors):
    """Coefficients that are arrays (channels,)."""

    def __init__(self, p: Primitives, polynomial: ChannelPolynomial, add_source: AddSource) -> None:
        super().__init__(p)
        self.polynomial, self.add_source = polynomial, add_source

    def on(self, p: Primitives) -> ChannelFactors:
        """The same for code elsewhere."""
        return ChannelFactors(p, self.polynomial, self.add_source)

    def is_zero(self, factor: Any) -> bool:
        """Whether terms with it are none."""
        return not np.any(factor)

    def total(self, terms: Iterable[tuple[Value, Any]], scale: float) -> Value | None:
        """The sum of values, each times its vector, at a scale; None where all round to nothing."""
        result: Value | None = None
        for term, factor in terms:
            if np.max(np.abs(factor)) * scale / cipher(term).scale >= 0.5:
                result = self.p.add(result, self.times(term, factor, scale))
        return result

    def times(self, x: Value, factor: Any, scale: float) -> Value:
        """x times a vector, at a scale."""
        plain = self._encode(factor, x, scale / cipher(x).scale)
        return self.p.builder.build("rlwe.mul_plain", [x, plain], scale=scale)

    def plus(self, x: Value, addend: Any) -> Value:
        """x and a vector."""
        if not np.any(addend):
            return x
        return self.p.builder.build("rlwe.add_plain", [x, self._encode(addend, x, cipher(x).scale)])

    def _encode(self, numbers: Any, x: Value, scale: float) -> Value:
        kind, pack = cipher(x), self.polynomial.pack
        assert pack is not None
        value = channel_vectors(pack, self.polynomial.axis, self.add_source(np.asarray(numbers, dtype=np.float64)))
        return self.p.encode(value, kind.slots, kind.level, scale, "Q")
