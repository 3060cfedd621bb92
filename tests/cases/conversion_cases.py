"""Conversions as modules of vec operations, and what those do counted on single ciphertexts."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from latticework.ir import Builder, Module, verify
from latticework.ir.dialects import loop_dialect  # noqa: F401  (defines loop.yield)
from latticework.ir.dialects.vec_dialect import VecType
from latticework.values.packing.loop_nests.baby_giant import choose, places


@dataclass(frozen=True)
class Counts:
    """Operations on single ciphertexts; rotations of one vector share its decomposition.

    divisions  by the special primes, or by those of a level;  products  with public vectors
    """

    hoists: int = 0
    rotations: int = 0
    divisions: int = 0
    products: int = 0
    additions: int = 0
    levels: int = 0

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def lowered(conversion):
    """The conversion as a module of vec operations."""
    module = Module()
    source = conversion.source
    x = module.body.add_arg(VecType(source.count, source.slots, "real", True))
    module.input_names.append("x")
    builder = Builder(module.body)
    builder.create("loop.yield", [conversion.lower(builder, x)])
    module.outputs = ["y"]
    verify(module)
    return module


def counted(module):
    """Operations of a module; vectors are followed by name through what only moves them."""
    vectors, levels, hoisted = {}, {}, set()
    for value in module.inputs:
        vectors[value] = [(value, k) for k in range(value.type.count)]
        levels[value] = 0
    total = Counts()
    for op in module.walk():
        if op.name in ("loop.yield", "vec.constant"):
            continue
        secret = [v for v in op.operands if v in levels]
        count, depth, names = op.result.type.count, max(levels[v] for v in secret), None
        if op.name == "vec.take":
            names = [vectors[secret[0]][k] for k in op.attrs["vectors"]]
        elif op.name == "vec.concat":
            names = [name for v in op.operands for name in vectors[v]]
        elif op.name == "vec.rotate":
            new = set(vectors[secret[0]]) - hoisted
            hoisted |= new
            total += Counts(len(new), count, count)
        elif op.name == "vec.mul":
            total += Counts(divisions=count, products=count)
            depth += 1
        elif op.name in ("vec.add", "vec.sub"):
            total += Counts(additions=count)
        else:
            assert op.name == "vec.linear_transform"
            counts = choose(places(op.attrs["map"])).counts
            total += Counts(
                counts.hoists + counts.giants, counts.key_switches, counts.mod_downs, counts.products, counts.additions
            )
            depth += 1
        vectors[op.result] = names or [(op.result, k) for k in range(count)]
        levels[op.result] = depth
    (result,) = module.body.terminator.operands
    return total + Counts(levels=levels[result])


def counts_of(conversion):
    """What a conversion does."""
    return counted(lowered(conversion))
