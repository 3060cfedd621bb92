"""What the inner sums of a block map consist of, in operations on one ciphertext."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from latticework.cost.shapes import map_sums_of, named, shape_of
from latticework.cost.work import Shape
from latticework.instructions.code import Instruction
from latticework.plan.schema import Plan

Parts = list[tuple[str, Shape, int]]  # operation, shape, how often


def map_parts(plan: Plan, instruction: Instruction) -> Parts:
    """The operations of one `map_sums`, its encodings left out: each input is decomposed and has sums of its own."""
    products = map_sums_of(plan, instruction).products
    shape = replace(shape_of(plan, instruction), sums=0)
    over = replace(shape, digit_limbs=())
    if not products.babies:
        return [("mul_plain", over, len(products.values))]
    by_input: dict[int, list[tuple[int, int]]] = {}
    for in_, baby, group in products.rows.tolist():
        by_input.setdefault(in_, []).append((baby, group))
    kinds = Counter((len({b for b, _ in own} - {0}), len({g for _, g in own}), len(own)) for own in by_input.values())
    parts: Parts = [("hoist", shape, len(by_input))]
    for (keys, sums, terms), times in kinds.items():
        parts.append(("diag_sums", replace(shape, keys=keys, sums=sums, terms=terms), times))
    added = sum(sums * times for (_, sums, _), times in kinds.items()) - len(products.groups)
    return [*parts, ("add", over, added)]


def map_encodings(plan: Plan, instruction: Instruction) -> tuple[str, Shape, int]:
    """The encodings of one `map_sums`: every product has its plaintext."""
    shape, sums = shape_of(plan, instruction), map_sums_of(plan, instruction)
    encoded = Shape(shape.ring_degree, shape.q_limbs, shape.p_limbs, slots=sums.map.slots)
    return named(plan.chain, "encode"), encoded, len(sums.products.values)
