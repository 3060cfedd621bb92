"""Bounds of products with public matrices. How their numbers are rounded is no chance: it is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.abstract_value import AbstractValue, are_apart, unite
from latticework.ir.dialects.rlwe_types import CipherType
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.packed_constants import Sources

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RoundedMatrix:
    """A matrix, by rows.

    exact  its numbers;  off  the magnitude of their rounding errors
    """

    exact: FloatArray
    off: FloatArray

    @staticmethod
    def between(
        choice: MatrixChoice, sources: Sources, chain: ModulusChain, before: CipherType, after: CipherType
    ) -> RoundedMatrix:
        """The matrix of a map from ciphertexts of one type to those of another."""
        is_rescaled, exact = after.level != before.level, choice.matrix.evaluate(sources)
        scale = after.scale * (chain.group_product(before.level.index) if is_rescaled else 1) / before.scale
        step = choice.step(scale, chain.ring_degree, is_rescaled=is_rescaled)
        return RoundedMatrix(exact, np.abs(choice.matrix.integers(sources, scale / step) * (step / scale) - exact))

    @property
    def sizes(self) -> FloatArray:
        """Bounds on the magnitudes of rounded numbers."""
        return np.abs(self.exact) + self.off

    def multiply(self, x: AbstractValue) -> AbstractValue:
        """The products of the rows and an array of vectors."""
        plus, minus, sizes = np.maximum(self.exact, 0.0), np.minimum(self.exact, 0.0), self.sizes
        rows = [row.tobytes() for row in self.exact != 0]
        read = {key: np.flatnonzero(np.frombuffer(key, dtype=bool)) for key in set(rows)}
        lineages = {key: [x.lineage[n] for n in numbers] for key, numbers in read.items()}
        apart = np.array([are_apart(lineages[key]) for key in rows])[:, None]
        united = {key: unite(lineage) for key, lineage in lineages.items()}
        return AbstractValue(
            plus @ x.low + minus @ x.high,
            plus @ x.high + minus @ x.low,
            np.where(apart, sizes**2 @ x.variance, (sizes @ np.sqrt(x.variance)) ** 2),
            sizes @ x.bias + self.off @ x.size,
            tuple(united[key] for key in rows),
        )
