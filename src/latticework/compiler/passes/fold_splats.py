"""fold-splats: products with one public number move into the linear maps and constants that they scale.

In/out: vec IR, same cleartext meaning. c * (A x + b) becomes (cA) x + cb, which saves the level of the product. A value
that is used elsewhere too is left as it is. Which values can take a factor in is found in order, where the factors then
go against it, so that a chain of any length is one walk. Cost: O(ops).
"""

from __future__ import annotations

from dataclasses import replace

from latticework.ir import Block, Builder, Module, Op, Pass, Value, rebuild

SUMS = ("vec.add", "vec.sub", "vec.neg")
PUBLIC = ("vec.splat", "vec.constant")


def run(module: Module, _cost: object = None) -> Module:
    """Fold every product with a splat that can be."""
    taking: set[Value] = set()
    factors: dict[Value, float] = {}
    gone: dict[Value, Value] = {}
    for op in module.walk():
        if len(op.results) == 1 and _takes_in(op, taking):
            taking.add(op.result)
    for block in _blocks(module.body):
        for op in reversed(block.ops):
            _move(op, taking, factors, gone)
    scaled: dict[Value, Value] = {}  # apart from the mapping: they stand for no value of the module

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        value = op.results[0] if op.results else None
        if value not in factors and value not in gone:
            return False
        new = scaled.pop(gone[value]) if value in gone else _scale(op, factors[value], builder, mapping, scaled)
        (scaled if value in factors else mapping)[value] = new
        return True

    return rebuild(module, visit) if gone else module


def _blocks(block: Block) -> list[Block]:
    """A block and all that are nested in it."""
    result = [block]
    for each in result:
        result += [region.block for op in each.ops for region in op.regions]
    return result


def _is(value: Value, *names: str) -> bool:
    return isinstance(value.owner, Op) and value.owner.name in names


def _number(op: Op) -> tuple[float, Value] | None:
    """The number and the value that a product with a splat multiplies; None for anything else."""
    if op.name == "vec.mul":
        for factor, other in (op.operands, reversed(op.operands)):
            if _is(factor, "vec.splat") and other.is_secret:
                return factor.owner.attrs["value"], other  # type: ignore[union-attr]
    return None


def _absorbs(value: Value, user: Op, taking: set[Value]) -> bool:
    """Whether a product with a number can move into what makes this value, which only `user` reads."""
    if not value.is_secret:
        return _is(value, *PUBLIC)
    op = value.owner
    return isinstance(op, Op) and op.block is user.block and len(value.uses) == 1 and value in taking


def _find_folded(op: Op) -> Value | None:
    """The x of x + rotate(x) where nothing else reads x, or None."""
    if op.name != "vec.add":
        return None
    x, rotated = op.operands
    if not _is(rotated, "vec.rotate") or rotated.owner.operands[0] is not x:  # type: ignore[union-attr]
        return None
    alone = len(x.uses) == 2 and len(rotated.uses) == 1
    return x if alone and all(_block(v) is op.block for v in (x, rotated)) else None


def _block(value: Value) -> Block | None:
    return value.owner.block if isinstance(value.owner, Op) else None


def _takes_in(op: Op, taking: set[Value]) -> bool:
    """Whether an operation takes in a factor of its result, as its operands may."""
    if op.name == "vec.linear_transform":
        return True
    if (inner := _find_folded(op)) is not None:
        return inner in taking
    if op.name in SUMS:
        return all(_absorbs(v, op, taking) for v in op.operands)
    return op.name == "vec.mul" and any(_is(v, *PUBLIC) for v in op.operands)


def _move(op: Op, taking: set[Value], factors: dict[Value, float], gone: dict[Value, Value]) -> None:
    """Hand the factor of a result on to what it is made of; a product that only hands on is gone: its operand does."""
    if len(op.results) != 1:
        return
    product, factor = _number(op), factors.get(op.result)
    if product is not None and _absorbs(product[1], op, taking):
        number, other = product
        factors[other] = number if factor is None else factor * number
        gone[op.result] = other
    elif factor is not None:
        if (inner := _find_folded(op)) is not None:
            factors[inner] = factors[op.operands[1]] = factor
        elif op.name in SUMS:
            factors.update((v, factor) for v in op.operands if v.is_secret)


def _scale(op: Op, factor: float, builder: Builder, mapping: dict[Value, Value], scaled: dict[Value, Value]) -> Value:
    """factor times what an operation computes: by operands that have it already, or by its constants."""

    def operand(value: Value) -> Value:
        if value.is_secret:
            return scaled.get(value, mapping.get(value, value))
        return _constant(value, factor, builder)

    if op.name == "vec.linear_transform":
        return builder.build(op.spec, [mapping[op.operands[0]]], map=op.attrs["map"].scale_by(factor))
    if op.name == "vec.mul":
        place = next(i for i, v in enumerate(op.operands) if _is(v, *PUBLIC))
        operands = [mapping[v] for v in op.operands]
        operands[place] = _constant(op.operands[place], factor, builder)
        return builder.build(op.spec, operands)
    return builder.build(op.spec, [operand(v) for v in op.operands], **op.attrs)


def _constant(value: Value, factor: float, builder: Builder) -> Value:
    """A public number or constant, times a factor."""
    op = value.owner
    assert isinstance(op, Op)
    if op.name == "vec.splat":
        return builder.build("vec.splat", [], value=op.attrs["value"] * factor, slots=op.attrs["slots"])
    constant = op.attrs["value"]
    return builder.build("vec.constant", [], value=replace(constant, factor=constant.factor * factor))


PASS = Pass(
    "fold-splats",
    run,
    roots=("vec.mul",),
    reads=("vec", "loop"),
    writes=("vec.constant", "vec.linear_transform", "vec.splat"),
)
