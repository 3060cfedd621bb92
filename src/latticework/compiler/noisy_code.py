"""What the choice of BFV parameters asks of a program's code."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from latticework.analysis.noise import noise_of_outputs
from latticework.instructions.code import Executable
from latticework.params import ModulusChain
from latticework.params.bfv_noise import Noise

_SWITCHES = ("rotate", "relinearize", "key_product", "mul_relinearize", "diag_sums")
_PRODUCTS = ("mul", "square", "dot", "mul_relinearize")


@dataclass(frozen=True)
class NoisyCode:
    """The code of a program, as `params.select_bfv` looks at it."""

    code: Executable

    @property
    def switches(self) -> int:
        """Instructions that switch keys."""
        return self._number(_SWITCHES)

    @property
    def products(self) -> int:
        """Instructions that multiply ciphertexts."""
        return self._number(_PRODUCTS)

    def output_noises(self, chain: ModulusChain, inputs: Mapping[int, Noise] = {}) -> list[Noise]:
        """The noise of every output under a chain; `inputs` as of `noise_of_outputs`."""
        return noise_of_outputs(self.code, chain, inputs=inputs)

    def _number(self, ops: Collection[str]) -> int:
        return sum(i.op in ops for block in self.code.blocks for i in block.code)
