"""A symbolic block linear map as baby steps and giant steps with double hoisting.

y[v] = sum_g rotate_g( sum_(u, b) rotate_-g(diagonal_(v, u, g+b)) * baby_b(x[u]) ),
where a baby is x[u] turned by b slots, or its conjugate turned by b slots. All babies
of an input share its decomposition and serve every output, and everything stays over
QP. Each giant step divides by P once, decomposes once and is summed over QP; one final
mod_down removes P and the level's primes together. Of a real map the imaginary halves
of slots may carry a second output, or a second diagonal (`plan.gathers.steps`).
Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from latticework.dialects.rlwe import CipherType
from latticework.expand.linear_terms import SELF, Term, made_outputs, terms_of
from latticework.expand.primitives import Primitives, cipher
from latticework.ir import Value
from latticework.plan.constants import LinearMap
from latticework.plan.gathers.steps import TYPICAL, Choice, Prices, Split, choose, count, places


@dataclass(frozen=True, slots=True)
class Ways:
    """How expansions may carry linear maps out.

    prices   by which widths are chosen
    packing  whether maps that are real, of real vectors, may use the imaginary halves of slots
    """

    prices: Prices = TYPICAL
    packing: bool = False


def expand_linear_transform(
    p: Primitives,
    x: Value,
    linear_map: LinearMap,
    level: int,
    scale: float,
    width: int | None = None,
    *,
    ways: Ways = Ways(),
    real: bool = False,
) -> Value:
    """Primitive operations for one linear map; x settled one level above `level`.

    width  of the baby steps, or None for the cheapest
    real   whether the map and the vectors it is applied to are real
    """
    kind = cipher(x)
    where = places(linear_map)
    single = (linear_map.count_in, linear_map.count_out) == (1, 1)
    plain_scale = scale * p.group(kind.level.index, kind.level.track) / kind.scale
    if not where.steps.size:
        zero = p.mod_down(p.mul_int(x, 0, kind.scale * plain_scale), level, scale)
        return zero if single else p.take(zero, [0] * linear_map.count_out)
    choice = choose(where, ways.prices, packing=real and ways.packing)
    if width is not None:
        choice = Choice(Split(width), count(where, Split(width)))
    used = np.unique(where.in_).tolist()
    x = x if single else p.take(x, used)
    if choice.packing == "diagonals":
        x = p.add(x, p.mul_i(p.rotate(x, choice.apart)))
    inputs = {0: x} if single else {u: p.take(x, [i]) for i, u in enumerate(used)}
    made = _Sums(p, inputs, kind, plain_scale).outputs(terms_of(linear_map, choice), level, scale)
    if choice.packing == "diagonals":
        made = p.add(made, p.conjugate(made))
    if choice.packing == "outputs":
        made = _unpacked(p, made, len(made_outputs(linear_map)))
    return made if single else _in_place(p, made, linear_map, scale)


def _unpacked(p: Primitives, made: Value, count_made: int) -> Value:
    """(y1 + i y2) / 2 of each pair, and perhaps a last one by itself, as y1, y2, ..."""
    pairs = count_made // 2
    packed = p.take(made, range(pairs))
    turned = p.conjugate(packed)
    lower = p.add(packed, turned)
    upper = p.mul_i(p.sub(packed, turned), 3)
    parts = p.concat([lower, upper, *([p.take(made, [pairs])] if count_made % 2 else [])])
    order = [number for pair in range(pairs) for number in (pair, pairs + pair)]
    return p.take(parts, [*order, *([2 * pairs] if count_made % 2 else [])])


def _in_place(p: Primitives, made: Value, linear_map: LinearMap, scale: float) -> Value:
    """The outputs that have diagonals among those that are zero."""
    numbers = made_outputs(linear_map)
    if len(numbers) == linear_map.count_out:
        return made
    zero = p.mul_int(p.take(made, [0]), 0, scale)
    order = [numbers.index(v) if v in numbers else len(numbers) for v in range(linear_map.count_out)]
    return p.take(p.concat([made, zero]), order)


class _Sums:
    """The sums of products of one map, and the giant steps that follow them."""

    def __init__(self, p: Primitives, inputs: dict[int, Value], kind: CipherType, plain_scale: float) -> None:
        self.p, self.inputs, self.kind, self.plain_scale = p, inputs, kind, plain_scale

    def outputs(self, terms: Sequence[Term], level: int, scale: float) -> Value:
        """All outputs that have terms, in order, at their level and scale."""
        p = self.p
        is_turned = any(term.baby != SELF for term in terms)
        groups = dict.fromkeys((term.giant, term.out) for term in terms)
        numbers = {group: number for number, group in enumerate(groups)}
        inner = self.fused(terms, numbers) if is_turned else self.plain(terms, numbers)
        outs = sorted({out for _, out in groups})
        totals: dict[int, Value] = {}
        whole: Value | None = None
        by_giant: dict[int, list[int]] = {}
        for giant, out in groups:
            by_giant.setdefault(giant, []).append(out)
        together = all(len(held) == len(outs) for held in by_giant.values())
        for giant, held in by_giant.items():
            part = p.concat([inner[numbers[giant, out]] for out in held])
            if giant:
                settled = p.mod_down(part, self.kind.level.index, cipher(part).scale) if is_turned else part
                part = p.key_product(p.hoist(settled), giant, self.kind.level)
            if cipher(part).basis == "Q" and len(by_giant) > 1:
                part = p.extend(part)
            if together:
                whole = p.add(whole, part)
                continue
            for i, out in enumerate(held):
                totals[out] = p.add(totals.get(out), p.take(part, [i]) if len(held) > 1 else part)
        if whole is None:
            whole = p.concat([totals[out] for out in outs])
        return p.mod_down(whole, level, scale)

    def fused(self, terms: Sequence[Term], numbers: dict[tuple[int, int], int]) -> list[Value]:
        """Every sum of terms over QP before it is turned: of each input all by one operation on one decomposition."""
        p, kind = self.p, self.kind
        sums: list[Value | None] = [None] * len(numbers)
        for u, x in self.inputs.items():
            own = [term for term in terms if term.in_ == u]
            babies = sorted({term.baby for term in own} - {SELF})
            places = {SELF: 0, **{baby: number for number, baby in enumerate(babies, 1)}}
            keys = [p.key("galois", baby.element(kind.slots, p.chain.ring_degree), kind.level) for baby in babies]
            local: dict[tuple[int, int], int] = {}
            pairs = [
                (places[term.baby], local.setdefault((term.giant, term.out), len(local))) for term in own
            ]  # fmt: skip
            plains = [p.encode(term.values, kind.slots, kind.level, self.plain_scale, "QP") for term in own]
            results = p.builder.create(
                "rlwe.diag_sums", [p.hoist(x), *keys, *plains], {"terms": tuple(pairs), "giants": len(local)}
            ).results
            for group, number in local.items():
                sums[numbers[group]] = p.add(sums[numbers[group]], results[number])
        return [value for value in sums if value is not None]

    def plain(self, terms: Sequence[Term], numbers: dict[tuple[int, int], int]) -> list[Value]:
        """The same over Q, where the inputs themselves are the only babies: there is no P to divide by."""
        p, kind = self.p, self.kind
        sums: list[Value | None] = [None] * len(numbers)
        for term in terms:
            plain = p.encode(term.values, kind.slots, kind.level, self.plain_scale, "Q")
            product = p.builder.build("rlwe.mul_plain", [self.inputs[term.in_], plain])
            number = numbers[term.giant, term.out]
            sums[number] = p.add(sums[number], product)
        return [value for value in sums if value is not None]
