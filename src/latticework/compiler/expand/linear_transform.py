"""A symbolic block linear map as baby steps and giant steps with double hoisting.

y[v] = sum_g rotate_g( sum_(u, b) rotate_-g(diagonal_(v, u, g+b)) * baby_b(x[u]) ),
where a baby is x[u] rotated by b slots, or its conjugate rotated by b slots. All babies
of an input share its decomposition and serve every output, and everything stays over
QP. Each giant step divides c1 by P and decomposes it, while c0 stays over QP, and is summed
over QP, by a key of its own or one on top of the other by one key (`giant_steps`); one final
mod_down removes P and the level's primes together. Of a real map the imaginary halves
of slots may carry a second output, input or diagonal (`plan.gathers.steps`).
Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from latticework.compiler.expand.giant_steps import rotate_and_add
from latticework.compiler.expand.inner_sums import inner_sums
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.values.packing.loop_nests.baby_giant import Choice
from latticework.values.packing.loop_nests.map_terms import made_outputs, read_inputs
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.packed_constants import LinearMap, MapStrategy, MapSums


def expand_linear_transform(
    p: Primitives,
    x: Value,
    linear_map: LinearMap,
    level: int,
    scale: float,
    choice: Choice | MatrixChoice | None,
    *,
    hoisting: bool,
) -> Value:
    """Primitive operations for one linear map; x settled above `level`, or at it where scales are 1.

    choice    how it is carried out, or the matrix that it is multiplied with; None if it has no diagonals
    hoisting  whether steps of one input share its decomposition
    """
    kind = cipher(x)
    single = (linear_map.count_in, linear_map.count_out) == (1, 1)
    plain_scale = scale * p.product_between(kind.level, level) / kind.scale
    if isinstance(choice, MatrixChoice):
        if level == kind.level.index:
            return p.builder.build("rlwe.public_matmul", [x], matrix=choice.matrix, scale=scale)
        return p.mod_down(_multiply_matrix(p, x, choice, plain_scale), level, scale)
    if choice is None:
        zero = p.mod_down(p.mul_int(x, 0, kind.scale * plain_scale), level, scale)
        return zero if single else p.take(zero, [0] * linear_map.count_out)
    if choice.packing == "diagonals":
        x = (
            p.add(x, p.mul_i(p.rotate(x, choice.apart)))
            if single
            else _add_rotated_imaginary(p, x, linear_map, choice.apart)
        )
    if choice.packing == "inputs":
        x = _with_next(p, x, read_inputs(linear_map))
    sums = MapSums(linear_map, MapStrategy(choice.split, choice.packing, choice.apart))
    parts = inner_sums(p, x, sums, plain_scale, hoisting=hoisting and not choice.iterated, iterated=choice.iterated)
    result = p.mod_down(rotate_and_add(p, parts, choice.order, hoisting=hoisting), level, scale)
    if choice.packing in ("inputs", "diagonals"):
        result = p.add(result, p.conjugate(result))
    if choice.packing == "outputs":
        result = _unpack(p, result, len(made_outputs(linear_map)))
    return result if single else _fill_zero_outputs(p, result, linear_map, scale)


def _multiply_matrix(p: Primitives, x: Value, choice: MatrixChoice, plain_scale: float) -> Value:
    """The product of a matrix at a scale and an array, in the steps that its numbers are rounded to."""
    scale, step = cipher(x).scale, choice.step(plain_scale, p.chain.ring_degree, is_rescaled=True)
    product = p.builder.build("rlwe.public_matmul", [x], matrix=choice.matrix, scale=scale * plain_scale / step)
    return product if step == 1 else p.mul_int(product, step, scale * plain_scale)


def _add_rotated_imaginary(p: Primitives, x: Value, linear_map: LinearMap, apart: int) -> Value:
    """x + i rotate(x, apart) of the vectors that a block map reads; where it reads none, any of them."""
    used = read_inputs(linear_map)
    read = p.take(x, used)
    both = p.add(read, p.mul_i(p.rotate(read, apart)))
    return p.take(both, [used.index(u) if u in used else 0 for u in range(cipher(x).count)])


def _with_next(p: Primitives, x: Value, used: list[int]) -> Value:
    """x1 + i x2 of each two vectors that a block map reads, in the place of the first; in other places any of them."""
    firsts, seconds = used[::2], used[1::2]
    both = p.add(p.take(x, firsts[: len(seconds)]), p.mul_i(p.take(x, seconds)))
    array = p.concat([both, *([p.take(x, firsts[-1:])] if len(firsts) > len(seconds) else [])])
    return p.take(array, [firsts.index(u) if u in firsts else 0 for u in range(cipher(x).count)])


def _unpack(p: Primitives, outputs: Value, count_made: int) -> Value:
    """(y1 + i y2) / 2 of each pair, and perhaps a last one by itself, as y1, y2, ..."""
    pairs = count_made // 2
    packed = p.take(outputs, range(pairs))
    conjugated = p.conjugate(packed)
    lower = p.add(packed, conjugated)
    upper = p.mul_i(p.sub(packed, conjugated), 3)
    parts = p.concat([lower, upper, *([p.take(outputs, [pairs])] if count_made % 2 else [])])
    order = [number for pair in range(pairs) for number in (pair, pairs + pair)]
    return p.take(parts, [*order, *([2 * pairs] if count_made % 2 else [])])


def _fill_zero_outputs(p: Primitives, outputs: Value, linear_map: LinearMap, scale: float) -> Value:
    """The outputs that have diagonals among those that are zero."""
    numbers = made_outputs(linear_map)
    if len(numbers) == linear_map.count_out:
        return outputs
    zero = p.mul_int(p.take(outputs, [0]), 0, scale)
    order = [numbers.index(v) if v in numbers else len(numbers) for v in range(linear_map.count_out)]
    return p.take(p.concat([outputs, zero]), order)
