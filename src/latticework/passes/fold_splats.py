"""fold-splats: products with one public number move into the linear maps and constants that they scale.

In/out: vec IR, same cleartext meaning. c * (A x + b) becomes (cA) x + cb, which
saves the level of the product. A value that is used elsewhere too is left as it
is. Cost: O(ops), but for chains of sums, which are walked once per product.
"""

from __future__ import annotations

from dataclasses import replace

from latticework.ir import Builder, Module, Op, Pass, Value, rebuild

SUMS = ("vec.add", "vec.sub", "vec.neg")


def run(module: Module) -> Module:
    """Fold every product with a splat that can be."""

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if op.name != "vec.mul":
            return False
        for factor, other in (op.operands, reversed(op.operands)):
            if _is(factor, "vec.splat") and other.is_secret and _absorbs(other, op):
                value = factor.owner.attrs["value"]  # type: ignore[union-attr]
                mapping[op.result] = _scaled(other, value, builder, mapping)
                return True
        return False

    return rebuild(module, visit)


def _is(value: Value, name: str) -> bool:
    return isinstance(value.owner, Op) and value.owner.name == name


def _absorbs(value: Value, user: Op) -> bool:
    """Whether a product with a number can move into what makes this value, which only `user` reads."""
    if not value.is_secret:
        return True
    op = value.owner
    if not isinstance(op, Op) or op.block is not user.block:
        return False
    return len(value.uses) == 1 and _absorbs_within(value)


def _folded(value: Value) -> Value | None:
    """The x of value = x + rotate(x) where nothing else reads x, or None."""
    op = value.owner
    if not isinstance(op, Op) or op.name != "vec.add":
        return None
    x, turned = op.operands
    if not _is(turned, "vec.rotate") or turned.owner.operands[0] is not x:  # type: ignore[union-attr]
        return None
    return x if len(x.uses) == 2 and len(turned.uses) == 1 else None


def _absorbs_within(value: Value) -> bool:
    """Whether the operation that makes a value takes in a factor."""
    op = value.owner
    if not isinstance(op, Op):
        return False
    if op.name == "vec.linear_transform":
        return True
    if (inner := _folded(value)) is not None:
        return _absorbs_within(inner)
    if op.name in SUMS:
        return all(_absorbs(v, op) for v in op.operands)
    return op.name == "vec.mul" and any(not v.is_secret for v in op.operands)


def _scaled(value: Value, factor: float, builder: Builder, mapping: dict[Value, Value]) -> Value:
    """factor * value, by operations of the rebuilt module."""
    op = value.owner
    assert isinstance(op, Op)
    match op.name:
        case "vec.splat":
            return builder.build("vec.splat", [], value=op.attrs["value"] * factor, slots=op.attrs["slots"])
        case "vec.constant":
            constant = op.attrs["value"]
            return builder.build("vec.constant", [], value=replace(constant, factor=constant.factor * factor))
        case "vec.linear_transform":
            return builder.build(op.spec, [mapping[op.operands[0]]], map=op.attrs["map"].scaled(factor))
        case "vec.add" if _folded(value) is not None:
            inner = _scaled(op.operands[0], factor, builder, mapping)
            turned = op.operands[1].owner
            assert isinstance(turned, Op)
            return builder.build(op.spec, [inner, builder.build(turned.spec, [inner], **turned.attrs)])
        case "vec.mul":
            public = 0 if not op.operands[0].is_secret else 1
            if _is(op.operands[public], "vec.splat") and _absorbs(op.operands[1 - public], op):
                number = op.operands[public].owner.attrs["value"]  # type: ignore[union-attr]
                return _scaled(op.operands[1 - public], factor * number, builder, mapping)
            operands = [mapping[v] for v in op.operands]
            operands[public] = _scaled(op.operands[public], factor, builder, mapping)
            return builder.build(op.spec, operands)
    return builder.build(op.spec, [_scaled(v, factor, builder, mapping) for v in op.operands])


PASS = Pass("fold-splats", run, reads="vec", writes="vec")
