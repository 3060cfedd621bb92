"""Prices of the operations that the search for vector code of circuits chooses among."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from latticework.plan.cost.cost_model import CostModel
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.instructions.value_shapes import b_limbs, level_shape
from latticework.plan.instructions.work_units import Shape
from latticework.plan.parameters import ModulusChain

LEVEL_SHARE = 1.5  # of a program's time over its levels: what one more of them costs, everything having one more limb


class Weights(NamedTuple):
    """Seconds of operations on ciphertexts of one vector at one level.

    mul        with its relinearisation;  mul_plain  by a constant that is encoded already. Both with the rescaling that
               they cause, where there is one
    add_plain  of a constant that is encoded already
    """

    rotate: float
    mul: float
    mul_plain: float
    add_plain: float
    add: float
    neg: float

    @property
    def public_product(self) -> float:
        """Seconds of a product with a public number, for those who do not tell instructions apart."""
        return self.mul_plain


def bfv_weights(chain: ModulusChain, model: CostModel | None = None) -> Weights:
    """Return the weights of BFV, where everything is at the top level."""
    model = model or CostModel.load()
    plain, switched = _shapes(chain, chain.main.top)
    kind = CipherKind(chain.slots, 0, chain.main.top, 1.0, 1, 0)
    product = replace(switched, target=None, b_limbs=b_limbs(chain, kind))
    return _weights(
        model, plain, switched, model.seconds("mul_relinearize", product), model.seconds("mul_plain", plain)
    )


def ckks_weights(chain: ModulusChain, level: int, model: CostModel | None = None) -> Weights:
    """Return the weights of CKKS at a level above the lowest one."""
    model = model or CostModel.load()
    plain, switched = _shapes(chain, level)
    below = _shapes(chain, level - 1)[0].q_limbs
    settled = model.seconds("relinearize", replace(switched, target=below, polys=3))
    rescaled = model.seconds("mod_down", replace(plain, target=below))
    mul, mul_plain = model.seconds("mul", plain), model.seconds("mul_plain", plain)
    return _weights(model, plain, switched, mul + settled, mul_plain + rescaled)


def _weights(model: CostModel, plain: Shape, switched: Shape, mul: float, mul_plain: float) -> Weights:
    sums = (model.seconds(op, plain) for op in ("add_plain", "add", "neg"))
    return Weights(model.seconds("rotate", switched), mul, mul_plain, *sums)


def _shapes(chain: ModulusChain, level: int) -> tuple[Shape, Shape]:
    """Return the sizes of operations over Q, and those of key switches."""
    return level_shape(chain, level, over_p=False), level_shape(chain, level)
