"""inverse-products: Newton's steps to an inverse as a product of powers of what the start leaves over.

In/out: vec IR, same cleartext meaning. Steps y <- y (2 - a y) from t leave 1 - a y = e^(2^k) after k of them, where
e = 1 - a t. So they are t (1 + e) (1 + e^2) (1 + e^4) ...: as many products as before, but k + 1 levels in place of
2 k, since every factor is made by the time that the product of those before it is. Chains of two steps and
more in one block are rewritten; what reads a step between gets the product up to there. What noise does to e no later
step repairs, as Newton's would: 1 / (a t) times more of it remains. Cost: O(ops).
"""

from __future__ import annotations

from typing import NamedTuple

from latticework.ir import Block, Builder, Module, Op, Pass, Value, rebuild


class NewtonStep(NamedTuple):
    """y (2 - a y): the value a, the y that is improved, and both products."""

    a: Value
    start: Value
    product: Value  # a y
    block: Block | None  # of all its operations


def run(module: Module, _cost: object = None) -> Module:
    """The module with all chains rewritten."""
    steps = {op.result: newton_step for op in module.walk() if (newton_step := _step(op)) is not None}
    follows = {value for value, step in steps.items() if _goes_on(step, steps)}
    if not follows:
        return module
    rests: dict[Value, Value] = {}  # of the steps of the new module, 1 - a y before each

    def visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
        if not op.results or op.results[0] not in follows:
            return False
        step = steps[op.result]
        builder.loc = op.loc
        one = builder.build("vec.splat", [], value=1.0, slots=op.result.type.slots)  # type: ignore[attr-defined]
        before = step.start
        if before not in rests:
            product = mapping.get(steps[before].product, steps[before].product)
            rests[before] = builder.build("vec.sub", [one, product])
        rests[op.result] = builder.build("vec.mul", [rests[before], rests[before]])
        factor = builder.build("vec.add", [rests[op.result], one])
        mapping[op.result] = builder.build("vec.mul", [mapping.get(before, before), factor])
        return True

    return rebuild(module, visit)


def _goes_on(step: NewtonStep, steps: dict[Value, NewtonStep]) -> bool:
    """Whether what a step improves is itself made by a step to the inverse of the same value, in the same block."""
    before = steps.get(step.start)
    return before is not None and before.a is step.a and before.block is step.block


def _step(op: Op) -> NewtonStep | None:
    """The step that a product is, in any order of its operands."""
    if op.name != "vec.mul":
        return None
    for start, other in (op.operands, reversed(op.operands)):
        if (product := _taken_from_two(other)) is not None and isinstance(product.owner, Op):
            for a, factor in (product.owner.operands, reversed(product.owner.operands)):
                if _same(factor, start) and a.is_secret and a is not start and product.owner.block is op.block:
                    return NewtonStep(a, start, product, op.block)
    return None


def _taken_from_two(value: Value) -> Value | None:
    """The product p of 2 - p, or -p + 2."""
    op = value.owner
    if not isinstance(op, Op) or len(op.operands) != 2:
        return None
    first, second = op.operands
    product: Value | None = None
    if op.name == "vec.sub" and _number(first) == 2.0:
        product = second
    elif op.name == "vec.add" and 2.0 in (_number(first), _number(second)):
        negated = second if _number(first) == 2.0 else first
        product = negated.owner.operands[0] if _is(negated, "vec.neg") else None  # type: ignore[union-attr]
    return product if product is not None and _is(product, "vec.mul") else None


def _is(value: Value, name: str) -> bool:
    return isinstance(value.owner, Op) and value.owner.name == name


def _number(value: Value) -> float | None:
    """The public number that a value has in every slot; None if it has none."""
    return value.owner.attrs["value"] if _is(value, "vec.splat") else None  # type: ignore[union-attr]


def _same(one: Value, other: Value) -> bool:
    """Whether two values are one, or the same number."""
    return one is other or (_number(one) is not None and _number(one) == _number(other))


PASS = Pass(
    "inverse-products", run, roots=("vec.mul",), reads=("vec", "loop"), writes=("vec.add", "vec.splat", "vec.sub")
)
