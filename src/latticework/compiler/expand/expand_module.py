"""expand: replace symbolic and fused operations by primitives, each with the key it demands.

In:  rlwe + ckks IR with symbolic linear transforms and polynomials.
Out: rlwe + ckks IR of primitives; every key switch has a key operand.
Meaning kept: decryption meaning of every value. Bootstraps of one kind are one procedure (`procedures`).
Rotations that share an operand share its decomposition; a relinearisation that only a rescale reads, or a step down
under BFV, is one operation with it, and products that only a sum over an array reads are one operation with that, on
the line of the product. What rotations of several lines share is shared by these.
Cost: O(ops of the result).
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial

from latticework.compiler.expand.channel_factors import expand_channels
from latticework.compiler.expand.expand_bootstrap import call_bootstrap, expand_bootstrap
from latticework.compiler.expand.kinked import expand_piecewise_linear
from latticework.compiler.expand.linear_transform import expand_linear_transform
from latticework.compiler.expand.map_strategies import MapStrategies
from latticework.compiler.expand.paterson_stockmeyer import expand_polynomial
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.compiler.expand.procedures import Procedures
from latticework.ir import Block, Builder, Loc, Module, Op, Pass, Value, prepend, rebuild
from latticework.ir.dialects import (
    bfv_dialect,  # noqa: F401  (defines the ops)
    ckks_dialect,  # noqa: F401  (defines the ops)
)
from latticework.ir.dialects.bootstrap_dialect import BootstrapKind
from latticework.ir.dialects.primitives import PRIMITIVES
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.packed_constants import ChannelPolynomial, PiecewiseLinearComposition

# What stands for several primitives, and is gone; rotations and relinearisations keep their names and get keys.
SYMBOLIC = (
    "ckks.bootstrap", "ckks.linear_transform", "ckks.polynomial", "bfv.linear_transform", "rlwe.conjugate",
    "rlwe.rescale",
)  # fmt: skip
# Any plan instruction, and calls of what is written once.
WRITTEN = (*sorted(PRIMITIVES.keys() - set(SYMBOLIC)), "procedure.define", "procedure.call")


def expanding(
    chain: ModulusChain,
    strategies: MapStrategies,
    *,
    hoisting: bool = True,
    shared_bootstraps: bool = False,
) -> Pass[object]:
    """The pass for one chain, its linear maps carried out by these strategies."""

    def run(module: Module, _cost: object) -> Module:
        return expand(module, chain, strategies, hoisting=hoisting, shared_bootstraps=shared_bootstraps)

    return Pass("expand", run, reads=("rlwe", "ckks", "bfv", "loop"), writes=WRITTEN, removes=SYMBOLIC)


def expand(
    module: Module,
    chain: ModulusChain,
    strategies: MapStrategies,
    *,
    hoisting: bool = True,
    shared_bootstraps: bool = False,
) -> Module:
    """Primitive operations for a managed module.

    strategies               how each linear map of the module is carried out, and of its bootstraps
    hoisting           whether rotations of one value share its decomposition
    shared_bootstraps  whether each kind of bootstrap is written once, and called; else each where it stands
    """
    procedures = Procedures()
    merged = _read_only_by(module, _MERGED)
    merged -= {v for v in merged if _op(v).name == "rlwe.relinearize" and _op(v).operands[0] in merged}  # with products
    rotations: dict[Value, dict[Loc, float]] = defaultdict(
        lambda: defaultdict(float)
    )  # rotations of a value on each line
    for op in module.walk():
        if op.name == "rlwe.rotate" and hoisting:
            rotations[op.operands[0]][op.loc] += 1.0
    shared: dict[
        tuple[Value, Block], Value
    ] = {}  # one decomposition per operand and block: a block dominates only itself

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        builder.loc = op.loc
        p = Primitives(builder, chain)
        operands = [mapping[v] for v in op.operands]
        match op.name:
            case "ckks.linear_transform" | "bfv.linear_transform":
                attrs, kind = op.attrs, cipher(op.result)
                new = expand_linear_transform(
                    p, operands[0], attrs["map"], kind.level.index, kind.scale, strategies.of(op),
                    hoisting=hoisting,
                )  # fmt: skip
            case "ckks.polynomial":
                polynomial, end = op.attrs["polynomial"], (op.attrs["level"].index, op.attrs["scale"])
                if isinstance(polynomial, ChannelPolynomial):
                    new = expand_channels(p, operands[0], polynomial, *end, module.add_source)
                else:
                    write = (
                        expand_piecewise_linear
                        if isinstance(polynomial, PiecewiseLinearComposition)
                        else expand_polynomial
                    )
                    new = write(p, operands[0], polynomial, *end)
            case "ckks.bootstrap":
                attrs, bootstrap = op.attrs, expand_bootstrap
                if shared_bootstraps:
                    bootstrap = partial(call_bootstrap, procedures, why=attrs.get("why"))
                new = bootstrap(
                    p, operands[0], attrs["level"].index, attrs["scale"],
                    BootstrapKind(attrs["real"], attrs["iterations"]), strategies=strategies,
                )  # fmt: skip
            case "rlwe.rescale":
                new = p.settle(operands[0], cipher(operands[0]).level.index - 1, op.attrs["scale"])
            case "rlwe.mod_down" if op.operands[0] in merged:
                new = p.settle(operands[0], op.attrs["level"].index, op.attrs["scale"])
            case name if name in _MERGED and op.result in merged:
                mapping[op.result] = operands[0]  # the operation that reads it does both
                return True
            case "rlwe.sum" if op.operands[0] in merged:
                summed = _op(op.operands[0])
                builder.loc = summed.loc
                new = builder.build(_SUMMED[summed.name], _factors(op, mapping), groups=op.attrs["groups"])
            case "rlwe.relinearize" if op.operands[0] in merged:
                builder.loc = _op(op.operands[0]).loc
                new = p.mul_relinearize(*_factors(op, mapping))
            case "rlwe.relinearize":
                new = p.relinearize(operands[0])
            case "rlwe.rotate" if op.attrs["steps"] % cipher(operands[0]).slots == 0:
                new = operands[0]
            case "rlwe.rotate" if sum(rotations[op.operands[0]].values()) > 1:
                place = (operands[0], builder.block)
                if place not in shared:
                    builder.loc = Loc.fuse(rotations[op.operands[0]].items(), op.loc)
                    shared[place] = p.hoist(operands[0])
                    builder.loc = op.loc
                product = p.key_product(shared[place], op.attrs["steps"], cipher(operands[0]).level)
                new = _finish(p, operands[0], product)
            case "rlwe.rotate":
                key = p.galois_key(op.attrs["steps"], cipher(operands[0]).slots, cipher(operands[0]).level)
                new = builder.build("rlwe.rotate", [operands[0], key], steps=op.attrs["steps"])
            case "rlwe.conjugate":
                new = p.conjugate(operands[0])
            case _:
                return False
        if new.origin is None:
            new.origin = op.result.origin
        mapping[op.result] = new
        return True

    result = rebuild(module, visit)
    prepend(result.body, procedures.definitions)
    return result


# Products by the one operation for them and a sum of them.
_SUMMED = {
    "ckks.mul": "ckks.dot", "ckks.square": "ckks.dot", "rlwe.mul_plain": "rlwe.dot_plain",
    "bfv.mul": "bfv.dot", "bfv.square": "bfv.dot",
}  # fmt: skip
# By what does the work of both: operations, if nothing else reads their result.
_MERGED = {
    "rlwe.relinearize": ("rlwe.rescale", "rlwe.mod_down"),
    **dict.fromkeys(_SUMMED, ("rlwe.sum",)),
    **dict.fromkeys(("bfv.mul", "bfv.square"), ("rlwe.sum", "rlwe.relinearize")),
}


def _factors(reader: Op, mapping: dict[Value, Value]) -> list[Value]:
    """The two factors of the product that an operation reads first; a square has one."""
    return [mapping[v] for v in (_op(reader.operands[0]).operands * 2)[:2]]


def _op(value: Value) -> Op:
    """The operation that makes a value."""
    assert isinstance(value.owner, Op)
    return value.owner


def _read_only_by(module: Module, readers: dict[str, tuple[str, ...]]) -> set[Value]:
    """Results of these operations that nothing reads but one operation of the same block, of a kind named."""
    result = set()
    for op in module.walk():
        if op.name in readers and len(op.result.uses) == 1:
            reader = op.result.uses[0][0]
            if reader.name in readers[op.name] and reader.block is op.block:
                result.add(op.result)
    return result


def _finish(p: Primitives, operand: Value, product: Value) -> Value:
    return p.mod_down(product, cipher(operand).level.index, cipher(operand).scale)
