"""The degrees of a program's functions, guessed from one sample in about a second: enough to refuse what is too deep.

What a function's error does to outputs on one sample is no more than on several, and degrees only rise from there on.
So a guess takes at most the levels that are taken in the end, but for a few that are chosen otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from latticework.compiler.accuracy.choose_degrees import choose_degrees
from latticework.compiler.accuracy.effects import Effects
from latticework.compiler.accuracy.function_uses import FloatArray, FunctionUse
from latticework.compiler.accuracy.levels import least_levels
from latticework.frontend.calibration.calibration_data import Sample
from latticework.ir import Module
from latticework.lazy_dataclass import dataclass

FEWER_BITS = (10, 8, 6, 4)  # of precision, whose levels are told where those asked for are too many
OFF = 2  # levels that a guess may be too high


@dataclass(frozen=True)
class DepthGuess:
    """A guess, from one sample, of the degrees and levels that a precision takes.

    parts   (outputs and arguments, uses): what of the budget at one bit a unit of a function's error takes
    magnitudes  (outputs,) largest of each on the sample
    """

    module: Module
    uses: Sequence[FunctionUse]
    parts: FloatArray
    magnitudes: FloatArray

    @classmethod
    def of(cls, module: Module, uses: Sequence[FunctionUse], samples: Sequence[Sample], share: float) -> DepthGuess:
        """Look at one sample; `share` of the budget for errors is for functions."""
        effects = Effects(module, uses, samples[:1])
        _, slopes = effects.slopes()
        sizes = np.where(effects.magnitudes > 0.0, effects.magnitudes, np.inf)
        return cls(module, uses, slopes / np.concatenate([share * sizes, effects.rooms])[:, None], effects.magnitudes)

    def degrees(self, precision_bits: float) -> list[int] | None:
        """Degree of every use for this precision; None if none that are affordable do."""
        outputs = len(self.module.outputs)
        scaled = np.concatenate([self.parts[:outputs] * 2.0**precision_bits, self.parts[outputs:]])
        return choose_degrees(self.uses, scaled)

    def levels(self, degrees: Sequence[int]) -> int:
        """Levels spent on the longest path with these degrees."""
        return least_levels(self.module, dict(zip((use.op for use in self.uses), degrees, strict=True)))

    def cheaper(self, precision_bits: float) -> Mapping[int, int]:
        """Levels at fewer bits, by bits."""
        choices = ((bits, self.degrees(bits)) for bits in FEWER_BITS if bits < precision_bits)
        return {bits: self.levels(degrees) for bits, degrees in choices if degrees is not None}
