"""Linear maps as products with public matrices: at which integers their numbers are rounded."""

from __future__ import annotations

from math import ceil

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.loop_nests.number_matrix import NumberMatrix

FEWEST_BITS = 14  # of the largest weight, below which kernels gain nothing
NOISE_SHARE = 2.0  # of a rescale's rounding that roundings of weights together may reach


@dataclass(frozen=True, slots=True)
class MatrixChoice:
    """A linear map that is a product with a public matrix.

    largest  magnitude of its numbers
    """

    matrix: NumberMatrix
    largest: float

    def step(self, scale: float, ring_degree: int, *, is_rescaled: bool) -> int:
        """The integer that all numbers at a scale are multiples of: 1 where no rescale comes after the product.

        Products take as long as their weights have bits, and the rescale after them rounds far more coarsely than the
        weights need be: a row of them is off by step / 4 a weight, that by a quarter of the ring degree a coefficient.
        """
        if not is_rescaled:
            return 1
        most = NOISE_SHARE * ring_degree / self.matrix.shape[1]
        return max(1, min(int(most), ceil(self.largest * scale / 2.0**FEWEST_BITS)))
