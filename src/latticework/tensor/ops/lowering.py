"""Building blocks of lowering rules: operands, packed constants, linear maps between layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise
from math import prod

import numpy as np

from latticework.ir.builder import Builder
from latticework.ir.core import Array, Value
from latticework.lazy_dataclass import dataclass
from latticework.tensor.layout.conversions.emitter import VectorEmitter
from latticework.tensor.layout.layout import Layout, Shape
from latticework.values.packing.pack import PackMap
from latticework.values.packing.packed_constants import (
    MOST_LISTED,
    Access,
    ConstRef,
    LinearMap,
    LoopNest,
    at_most,
    num_diagonals,
    whole_rotations,
)

FOLD_COST = 4  # a rotation after the linear transform, in diagonals of it


@dataclass(frozen=True)
class Operand:
    """A tensor operand: a vector with its layout, or a public array in the module's sources."""

    shape: Shape
    vector: Value | None
    layout: Layout | None
    source: str | None

    @property
    def pack(self) -> PackMap:
        """Packing of the tensor in the vector."""
        assert self.layout is not None
        return self.layout.pack_map(self.shape)


@dataclass(frozen=True)
class Target:
    """Target of a lowering: the result's shape and layout, the builder, and the arrays behind public operands.

    box     of a product of two secrets: the layout of all its loops
    spread  whether copies of the result may share sums out
    inputs  how the vectors are packed that come from the client
    """

    shape: Shape
    layout: Layout
    builder: Builder
    sources: dict[str, Array]
    box: Layout | None = None
    spread: bool = True
    inputs: Mapping[Value, PackMap] = field(default_factory=dict)

    @property
    def pack(self) -> PackMap:
        """Packing of the result."""
        return self.layout.pack_map(self.shape)

    @property
    def emit(self) -> VectorEmitter:
        """Emitter for recipes of several vector operations."""
        return VectorEmitter(self.builder, self.layout.slots)

    def build(self, name: str, *operands: Value, **attrs: object) -> Value:
        """A vec operation."""
        return self.builder.build(name, operands, **attrs)


def access(shape: Shape, loops: Sequence[int | None], num_loops: int) -> Access:
    """Axis i of an array follows loop loops[i]; None, or an axis of length 1, stays at index 0."""
    rows = []
    for extent, loop in zip(shape, loops, strict=True):
        rows.append(tuple(int(loop == j and extent > 1) for j in range(num_loops)))
    return Access(shape, tuple(rows), (0,) * len(shape))


def linear(
    target: Target,
    x: Operand,
    domain: Shape,
    out: Access,
    into: Access,
    source: str | None = None,
    weights: Access | None = None,
) -> Value:
    """out[...] += source[...] * x[...] over a loop nest, as one linear transform, or by rotating whole vectors.

    Where the result repeats at the outermost, its copies may share the sums out and be added up by rotations
    afterwards: fewer diagonals for log2(copies) rotations (the hybrid method of Juvekar et al., USENIX Security 2018).
    """
    assert x.vector is not None
    gather = LoopNest(domain, target.pack, out, source, weights, x.pack, into)
    if at_most(gather).diagonals > MOST_LISTED:
        return target.build("vec.linear_transform", x.vector, map=LinearMap.of(gather))
    if (rotations := whole_rotations(gather)) is not None:
        return target.emit.rotate_vectors(x.vector, rotations)
    copies = target.layout.outer_copies if target.spread else 1
    shared = replace(gather, spread=copies)
    if copies == 1 or num_diagonals(shared) + FOLD_COST * (copies.bit_length() - 1) >= num_diagonals(gather):
        return target.build("vec.linear_transform", x.vector, map=LinearMap.of(gather))
    total = target.build("vec.linear_transform", x.vector, map=LinearMap.of(shared))
    return target.emit.replicate(total, -(target.layout.slots // copies), copies)


def move(target: Target, x: Operand) -> Value:
    """The same tensor, element by element in C order, in another layout (and shape)."""
    domain, out, into = in_c_order(target.shape, x.shape)
    return linear(target, x, domain, out, into)


def in_c_order(first: Shape, second: Shape) -> tuple[Shape, Access, Access]:
    """The loops over all elements of two shapes of one size, in C order, and the accesses of both.

    Loops are as short as both shapes can be written with: axes that both have move by themselves.
    """
    cuts = sorted({prod(shape[axis:]) for shape in (first, second) for axis in range(len(shape) + 1)})
    if any(large % small for small, large in pairwise(cuts)):
        size = (prod(first),)
        flat = Access(size, ((1,),), (0,))
        return size, flat, flat
    steps = cuts[:-1][::-1]  # of one step along each loop, slowest first
    domain = tuple(large // small for small, large in pairwise(cuts))[::-1]
    return domain, _walk(first, domain, steps), _walk(second, domain, steps)


def _walk(shape: Shape, domain: Shape, steps: Sequence[int]) -> Access:
    """The access of loops that each walk within one axis, so many elements a step."""
    rows = []
    for axis in range(len(shape)):
        inside, beyond = prod(shape[axis + 1 :]), prod(shape[axis:])
        rows.append(tuple(step // inside if inside <= step < beyond else 0 for step in steps))
    return Access(shape, tuple(rows), (0,) * len(shape))


def pack_public(target: Target, x: Operand) -> Value:
    """A public operand broadcast to the result's shape and packed like it; one number becomes a splat."""
    assert x.source is not None
    array = target.sources[x.source]
    slots = target.layout.slots
    first = float(array.reshape(-1)[0])
    if np.all(array == first):
        return target.build("vec.splat", value=first, slots=slots)
    rank = len(target.shape)
    loops = list(range(rank - len(x.shape), rank))
    gather = LoopNest(
        target.shape, target.pack, access(target.shape, range(rank), rank), x.source, access(x.shape, loops, rank)
    )
    return target.build("vec.constant", value=ConstRef(gather))


def operand_vector(target: Target, x: Operand) -> Value:
    """An operand of an elementwise operation as a vector."""
    return x.vector if x.vector is not None else pack_public(target, x)
