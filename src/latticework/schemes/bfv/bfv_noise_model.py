"""The noise of an expert's ciphertexts beforehand, with what sums and products of related ciphertexts add up to."""

from __future__ import annotations

from dataclasses import replace

from latticework.plan.parameters.bfv_chain import ChainShape
from latticework.plan.parameters.bfv_noise import Noise, ShapeNoiseModel, Source, are_related, sum_of_related
from latticework.schemes.bfv.bfv_parameters import Parameters
from latticework.schemes.rlwe.checks import locate, whole
from latticework.schemes.rlwe.parameters import need_parameters, need_special

MAX_LINEAGE = 512  # sources told apart; the noise of more may come from any encryption


class NoiseModel(ShapeNoiseModel):
    """The noise of each operation on ciphertexts of these parameters. Operands of one operation are at one level.

    Every `fresh` is an encryption of its own. What comes from one encryption adds up linearly, what does not in
    quadrature, and a copy that is rotated otherwise is as good as independent: x + x counts twice, x + y by sqrt(2).
    """

    @locate
    def __init__(self, parameters: Parameters) -> None:
        need_parameters("NoiseModel", parameters, Parameters)
        super().__init__(ChainShape(parameters.chain))
        self._set = parameters
        self._encryptions = 0

    def fresh(self, *, public_key: bool = True) -> Noise:
        """A new ciphertext, under the secret key or the public one: independent of all before."""
        self._encryptions += 1
        lineage = frozenset([(self._encryptions, 0, False)])
        return replace(super().fresh(public_key=public_key), lineage=lineage)

    def _switch(self, x: Noise) -> Noise:
        need_special("NoiseModel: a relinearised product or a rotation", self._set)
        return super()._switch(x)

    def add(self, x: Noise, y: Noise) -> Noise:
        """Return the noise of a sum or difference."""
        total = super().add(x, y)
        if are_related(x, y):
            total = replace(total, variances=sum_of_related(x.variances, y.variances))
        return replace(total, lineage=_join(x, y))

    def mul(self, x: Noise, y: Noise, *, relinearized: bool = True) -> Noise:
        """Return the noise of a product."""
        product = self._product(x, y, int(are_related(x, y)), relinearized)
        return replace(product, lineage=_join(x, y))

    def rotate(self, x: Noise, steps: int = 0, *, swapped: bool = False) -> Noise:
        """A rotation of the rows to the left, a swap of them, or (without steps) a relinearisation."""
        turned = super().rotate(x)
        if x.lineage is None:
            return turned
        row, steps = self.parameters.ring_degree // 2, whole("NoiseModel.rotate: steps", steps)
        lineage = frozenset([(number, (before + steps) % row, s != swapped) for number, before, s in x.lineage])
        return replace(turned, lineage=lineage)


def _join(x: Noise, y: Noise) -> frozenset[Source] | None:
    if x.lineage is None or y.lineage is None:
        return None
    lineage = x.lineage | y.lineage
    return lineage if len(lineage) <= MAX_LINEAGE else None
