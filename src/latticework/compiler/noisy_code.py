"""Code as the choice of BFV parameters asks for it: its noise, for any chain."""

from __future__ import annotations

from collections.abc import Mapping

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.bfv_noise_domain import noise_of_outputs
from latticework.plan.instructions.executable import Executable
from latticework.plan.instructions.register_kinds import KeyKind
from latticework.plan.instructions.table import RECORDS
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bfv_noise import Noise
from latticework.plan.parameters.chain_without_keys import has_public_key


@dataclass(frozen=True)
class NoisyCode:
    """The code of a program, as `params.select_bfv` looks at it."""

    code: Executable

    @property
    def switches(self) -> int:
        """Instructions that switch keys; block maps, whose switches share one decomposition, are not among them."""
        kinds, registers = self.code.kinds, self.code.registers
        return sum(
            any(isinstance(kinds[registers[operand.register]], KeyKind) for operand in i.operands)
            for block in self.code.blocks
            for i in block.code
            if not RECORDS[i.op].signature.has_map
        )

    @property
    def products(self) -> int:
        """Instructions that multiply ciphertexts."""
        return sum(RECORDS[i.op].family == "product" for block in self.code.blocks for i in block.code)

    def output_noises(self, chain: ModulusChain, inputs: Mapping[int, Noise] = {}) -> list[Noise]:
        """The noise of every output under a chain; `inputs` as of `noise_of_outputs`."""
        return noise_of_outputs(self.code, chain, public_key=has_public_key(chain), inputs=inputs)
