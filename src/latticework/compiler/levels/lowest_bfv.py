"""lowest_bfv: how low the values of a BFV program may lie before they are computed with, on one chain.

A level is only left to make ciphertexts smaller, and what reads them quicker. Coming down divides the noise with the
modulus and adds a rounding. That takes hardly any of the noise budget while the rounding is smaller than the divided
noise, or larger by no more than the bits that the program's outputs have to spare. So noise is followed here value by
value, roughly: what is made of it is planned and looked at as a whole (`compiler/exact_plans.py`).
Source: modulus switching as in leveled BGV and in BFV libraries (SEAL's `mod_switch_to_next`), placed by noise.
Cost: O(ops).
"""

from __future__ import annotations

from math import log2

from latticework.compiler.levels.depth import public_value
from latticework.ir import Module, Op, Value
from latticework.ir.dialects.vec_dialect import VecType
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bfv_chain import ChainShape
from latticework.plan.parameters.bfv_noise import Noise, ShapeNoiseModel, no_noise
from latticework.values.packing.packed_constants import ConstRef


def lowest_levels_bfv(module: Module, chain: ModulusChain, room_bits: float) -> dict[Value, int]:
    """The level, counted down from the top, to which each value may come; none for those that stay at the top.

    room_bits  by which the rounding may exceed the noise that it is added to
    """
    shape = ChainShape(chain)
    model, top = ShapeNoiseModel(shape), chain.main.top
    rounding = model.variance(model.mod_switch(no_noise(top), 0)) / 2
    found: dict[Value, int] = {}
    for value, noise in _noises(module, model).items():
        divided = model.variance(noise) / 2 - rounding + room_bits
        level = next(at for at in range(top + 1) if shape.log2_q(top) - shape.log2_q(at) <= max(divided, 0.0))
        if level < top:
            found[value] = level - top
    return found


def _noises(module: Module, model: ShapeNoiseModel) -> dict[Value, Noise]:
    """The noise of every secret value if all lie at the top; sums as if their terms were independent."""
    noises: dict[Value, Noise] = {v: model.fresh() for v in module.inputs if v.is_secret}
    for op in module.body.ops:
        if op.results and op.result.is_secret:
            noises[op.result] = _noise_after(op, [noises[v] for v in op.operands if v in noises], model)
    return noises


def _noise_after(op: Op, noises: list[Noise], model: ShapeNoiseModel) -> Noise:
    """The noise that an operation leaves, from that of its secret operands."""
    if not noises:
        return model.fresh()
    first, kind = max(noises, key=lambda noise: noise.worst), op.operands[0].type
    match op.name:
        case "vec.add" | "vec.sub" if len(noises) == 2:
            return model.add(*noises)
        case "vec.mul" if len(noises) == 2:
            return model.mul(*noises)
        case "vec.mul":
            factor = next(known for v in op.operands if (known := public_value(v)) is not None)
            return model.mul_plain(first) if isinstance(factor, ConstRef) else model.mul_int(first, round(factor))
        case "vec.rotate":
            return model.rotate(first)
        case "vec.linear_transform":
            return _times(model.mul_plain(model.rotate(first)), len(op.attrs["map"].diagonals))
        case "vec.sum":
            assert isinstance(kind, VecType)
            return _times(first, kind.count // op.attrs["groups"])
    return first


def _times(noise: Noise, terms: int) -> Noise:
    """The noise of a sum of so many independent terms."""
    more = log2(max(terms, 1))
    return Noise(noise.level, tuple(v + more for v in noise.variances), noise.worst + more)
