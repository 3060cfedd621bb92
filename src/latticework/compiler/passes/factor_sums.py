"""factor-sums: sums of products with a common factor are one product.

In/out: vec IR, same cleartext meaning. a x + b x becomes (a + b) x, and a x - b x likewise, where nothing else reads
the two products: one product less at the same level, since a sum lies as low as the lower of its terms. Sums of more
terms are factored term by term, in their order. Cost: O(ops), once for every level of nested sums.
"""

from __future__ import annotations

from latticework.ir import Builder, Module, Op, Pass, Value, rebuild

SUMS = ("vec.add", "vec.sub")


def run(module: Module, _cost: object = None) -> Module:
    """The module with sums factored, as long as there are any to factor."""
    while any(_common(op) for op in module.walk()):
        module = rebuild(module, _visit)
    return module


def _visit(op: Op, builder: Builder, mapping: dict[Value, Value]) -> bool:
    common = _common(op)
    if common is None:
        return False
    factor, terms = common
    builder.loc = op.loc
    both = builder.build(op.spec, [mapping.get(v, v) for v in terms])
    mapping[op.result] = builder.build("vec.mul", [both, mapping.get(factor, factor)])
    return True


def _common(op: Op) -> tuple[Value, list[Value]] | None:
    """The factor that both terms of a sum have, and what it multiplies; None if they have none."""
    if op.name not in SUMS:
        return None
    products = [v.owner for v in op.operands]
    if not all(isinstance(p, Op) and _is_read_here_only(p, op) for p in products):
        return None
    (a, b), (c, d) = (p.operands for p in products if isinstance(p, Op))
    for factor, one, other, two in ((a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)):
        if factor is other and factor.is_secret and one.is_secret and two.is_secret:
            return factor, [one, two]
    return None


def _is_read_here_only(product: Op, reader: Op) -> bool:
    """Whether it is a product of this block, that nothing but the sum reads, and that once."""
    return product.name == "vec.mul" and product.block is reader.block and len(product.result.uses) == 1


PASS = Pass("factor-sums", run, roots=SUMS, reads=("vec", "loop"))
