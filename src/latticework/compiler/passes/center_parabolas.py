"""center-parabolas: parabolas by channel as squares, with products and sums by channel around them.

In/out: tensor IR, same cleartext meaning. a (z + v)^2 + c = (a / r^2) (r z + r v)^2 + c, another a, v and c for each
channel, and r so that the square takes arguments of one size. `fold-affine` takes the factors into the weights before
and after, where parabolas were only chosen because it does (`find_foldable`): so each is one product of ciphertexts.
Source: folding as of batch normalisations (`fold_affine`). Cost: O(channels).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.compiler.passes import dce, fold_affine
from latticework.ir import Builder, Module, Op, Pass, Value, rebuild
from latticework.ir.dialects.constant_attributes import Parabolas
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.apply import APPLY

Mapping = dict[Value, Value]


def run(module: Module, _cost: object = None) -> Module:
    """The module with a square for each operation of parabolas."""
    made = module.empty_like(module.body)  # whose sources may grow

    def visit(op: Op, builder: Builder, mapping: Mapping) -> bool:
        polynomial = op.attrs.get("polynomial")
        if op.name != "tensor.polynomial" or not isinstance(polynomial, Parabolas):
            return False
        square = polynomial.square()
        by_channel = _ByChannel(made, builder, square.axis)
        x = by_channel.build("tensor.mul", mapping[op.operands[0]], square.scales)
        x = by_channel.build("tensor.add", x, square.offsets)
        x = builder.build("tensor.polynomial", [x], polynomial=square)
        x = by_channel.build("tensor.mul", x, square.factors)
        mapping[op.result] = by_channel.build("tensor.add", x, square.constants)
        return True

    return rebuild(made, visit)


def find_foldable(module: Module) -> list[bool]:
    """Tell for each function of a calibrated module whether its channels' factors, of arguments and values, go into
    weights."""
    probed = module.empty_like(module.body)

    def visit(op: Op, builder: Builder, mapping: Mapping) -> bool:
        channels = op.attrs.get("channels")
        if op.spec is not APPLY.spec or channels is None:
            return False
        count = len(channels.samples)
        factors = [1.0 + number / count for number in range(count)]
        by_channel = _ByChannel(probed, builder, channels.axis)
        x = by_channel.build("tensor.mul", mapping[op.operands[0]], factors)
        mapping[op.result] = by_channel.build("tensor.mul", builder.build(APPLY.spec, [x], **op.attrs), factors)
        return True

    folded = dce.run(fold_affine.run(rebuild(probed, visit)))
    return [op.attrs["channels"] is not None and _is_alone(op) for op in folded.walk() if op.spec is APPLY.spec]


def _is_alone(op: Op) -> bool:
    """Whether no product stands next to a function."""
    return not any(map(_is_product, (op.operands[0].owner, *(reader for reader, _ in op.result.uses))))


def _is_product(owner: object) -> bool:
    return isinstance(owner, Op) and owner.name == "tensor.mul"


@dataclass(frozen=True)
class _ByChannel:
    """Operations with a public number for each channel, along an axis from the end."""

    module: Module
    builder: Builder
    axis: int

    def build(self, name: str, x: Value, numbers: Sequence[float]) -> Value:
        """An operation on each element and the number of its channel."""
        array = np.array(numbers).reshape(-1, *(1,) * (-self.axis - 1))
        source = self.module.add_source(array)
        public = self.builder.build("tensor.constant", [], source=source, shape=array.shape)
        return self.builder.build(name, [x, public])


WRITTEN = ("tensor.add", "tensor.constant", "tensor.mul", "tensor.polynomial")
PASS = Pass("center-parabolas", run, roots=("tensor.polynomial",), reads=("tensor", "loop"), writes=WRITTEN)
