"""Prices of the parts of block linear maps at one level, from the cost table."""

from __future__ import annotations

from dataclasses import replace

from latticework.plan.cost.cost_model import CostModel
from latticework.plan.instructions.key_bytes import stored_bytes
from latticework.plan.instructions.value_shapes import level_shape
from latticework.plan.instructions.work_units import Shape
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.loop_nests.baby_giant import BlockMapPrices

KEY_SHARE = (
    1.0  # what having one more key is worth, in hoisted rotations: it is made, sent and loaded, but not every run
)


def block_prices(model: CostModel, chain: ModulusChain, level: int, track: int = 0) -> BlockMapPrices:
    """Seconds of the parts of a map of vectors at `level` to vectors one level below; of BFV, at the same level.

    A price of encoding is not among them: constants are encoded once, and kept.
    """
    below = level if chain.scheme == "bfv" else level - 1
    upper, lower = (level_shape(chain, at, track) for at in (level, below))
    over_p = replace(upper, digit_limbs=())
    over_q = replace(over_p, p_limbs=0)
    hoist = model.seconds("hoist", upper)
    divided = model.seconds("mod_down", replace(over_p, target=upper.q_limbs, polys=1))  # what is decomposed
    switched = model.seconds("key_product", upper)
    baby = baby_seconds(model, upper)
    return BlockMapPrices(
        hoist=hoist,
        baby=baby,
        giant=divided + hoist + switched,
        rotation=model.seconds("rotate", replace(upper, target=upper.q_limbs)),
        conjugation=model.seconds("rotate", replace(lower, target=lower.q_limbs)),
        product=model.seconds("diag_sums", replace(upper, keys=1, sums=1, terms=2))
        - model.seconds("diag_sums", replace(upper, keys=1, sums=1, terms=1)),
        addition=0.0,  # within the products
        plain=model.seconds("mul_plain", over_q) + model.seconds("add", over_q),
        finish=model.seconds("mod_down", replace(over_p, target=lower.q_limbs)),
        key=KEY_SHARE * baby,
        stored=stored_seconds(model, KeySpec("galois", 1, track, level), chain),
    )


def baby_seconds(model: CostModel, upper: Shape) -> float:
    """Seconds of one more rotated copy in a map, at a level of this shape."""
    one, two = (model.seconds("diag_sums", replace(upper, keys=keys, sums=1, terms=1)) for keys in (1, 2))
    return two - one


def stored_seconds(model: CostModel, key: KeySpec, chain: ModulusChain) -> float:
    """Seconds of a run that the stored bytes of a key are worth."""
    return model.key_price * 1e-9 * stored_bytes(key, chain)


def key_seconds(model: CostModel, key: KeySpec, chain: ModulusChain) -> float:
    """Seconds of a run that a key more is worth: having it, and its bytes."""
    having = KEY_SHARE * baby_seconds(model, level_shape(chain, key.level, key.track))
    return having + stored_seconds(model, key, chain)
