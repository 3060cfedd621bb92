"""The inner sums of a symbolic block map: products of rotated inputs with diagonals, for every output and giant step.

With hoisting an input is decomposed once for all its baby steps, and the sums stay over QP; their giant steps are left
to who asked for them. Without it, every baby step is a rotation by itself, of the input or
of the baby step before it, and all is over Q.
Source: Halevi-Shoup diagonals; double hoisting as in Bossuat et al. (Eurocrypt'21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.ir import Value
from latticework.plan.instructions.register_kinds import PlainKind
from latticework.plan.instructions.type_rules import QP
from latticework.plan.instructions.value_shapes import plain_rows, row_bytes
from latticework.values.packing.key_manifest import signed_steps
from latticework.values.packing.loop_nests.giant_order import GiantRotation, order_giant_steps
from latticework.values.packing.loop_nests.map_sums import Products
from latticework.values.packing.loop_nests.map_terms import SELF, Baby
from latticework.values.packing.packed_constants import Diagonal, LinearMap, MapStrategy, MapSums, Split

DIAGONAL_BYTES = 1 << 30  # that one operation multiplies with, of single vectors

# The inner sums of the outputs (their numbers) that one giant step has still to turn, as one array.
Part = tuple[int, tuple[int, ...], Value]


def inner_sums(
    p: Primitives, x: Value, sums: MapSums, plain_scale: float, *, hoisting: bool, iterated: bool
) -> list[Part]:
    """All of a map's, by giant step, which is left to take.

    hoisting  all baby steps share a decomposition;  iterated  each is made of the one before it, by few keys
    """
    is_single = (sums.map.count_in, sums.map.count_out) == (1, 1)
    if hoisting:
        return _one_to_one(p, x, sums, plain_scale) if is_single else _of_block(p, x, sums, plain_scale)
    if is_single:
        return _sum_rotated(p, _rotate_babies(p, x, sums.products.babies, iterated=iterated), sums, plain_scale)
    return _sum_all_rotated(p, x, sums, plain_scale, iterated=iterated)


def _of_block(p: Primitives, x: Value, sums: MapSums, plain_scale: float) -> list[Part]:
    """Inner sums of a block map by one operation, which gets its diagonals from the map."""
    kind, products = cipher(x), sums.products
    keys = [p.key("galois", baby.element(kind.slots, p.chain.ring_degree), kind.level) for baby in products.babies]
    sums_array = p.builder.build("rlwe.map_sums", [x, *keys], sums=sums, scale=kind.scale * plain_scale)
    return _split(p, sums_array, products)


def _split(p: Primitives, sums_array: Value, products: Products) -> list[Part]:
    """An array of all sums, by giant step."""
    result = []
    for giant, held in groupby(enumerate(products.groups), key=lambda item: item[1][0]):
        numbers = list(held)
        result.append(
            (giant, tuple(out for _, (_, out) in numbers), p.take(sums_array, [number for number, _ in numbers]))
        )
    return result


def _one_to_one(p: Primitives, x: Value, sums: MapSums, plain_scale: float) -> list[Part]:
    """Write the inner sums of a map of single vectors, one constant a diagonal; over Q if x is the only baby.

    Diagonals of an operation are in memory together: where they are many, some babies come after the others.
    """
    kind, products = cipher(x), sums.products
    if not products.babies:
        return _sum_rotated(p, [x], sums, plain_scale)
    keys = [p.key("galois", baby.element(kind.slots, p.chain.ring_degree), kind.level) for baby in products.babies]
    rows = plain_rows(p.chain, PlainKind(kind.slots, kind.level.track, kind.level.index, plain_scale, QP))
    runs = _runs_of_babies(products.rows[:, 1].tolist(), max(1, DIAGONAL_BYTES // (rows * row_bytes(p.chain))))
    digits: Value | None = None
    totals: dict[int, Value] = {}
    for run in runs:
        babies, groups = (sorted(set(products.rows[run, column].tolist())) for column in (1, 2))
        rotated = [baby for baby in babies if baby]
        places = {0: 0, **{baby: place for place, baby in enumerate(rotated, 1)}}
        plains = [p.encode(products.values[number], kind.slots, kind.level, plain_scale, "QP") for number in run]
        digits = digits or p.hoist(x)
        terms = tuple((places[baby], groups.index(group)) for _, baby, group in products.rows[run].tolist())
        attrs = {"terms": terms, "giants": len(groups)}
        operands = [digits, *(keys[baby - 1] for baby in rotated), *plains]
        outputs = p.builder.create("rlwe.diag_sums", operands, attrs).results
        totals |= {group: p.add(totals.get(group), value) for group, value in zip(groups, outputs, strict=True)}
    return [(giant, (0,), totals[number]) for number, (giant, _) in enumerate(products.groups)]


def _runs_of_babies(babies: Sequence[int], most: int) -> list[list[int]]:
    """Split the numbers of products, by their babies, in runs of at most `most`: all, or whole babies if one fits."""
    if len(babies) <= most:
        return [list(range(len(babies)))]
    runs: list[list[int]] = [[]]
    for _, held in groupby(sorted(range(len(babies)), key=lambda number: babies[number]), key=lambda n: babies[n]):
        numbers = list(held)
        for first in range(0, len(numbers), most):
            part = numbers[first : first + most]
            if runs[-1] and len(runs[-1]) + len(part) > most:
                runs.append([])
            runs[-1] += part
    return runs


def _sum_rotated(p: Primitives, rotated: list[Value], sums: MapSums, plain_scale: float) -> list[Part]:
    """Inner sums of a map of single vectors whose babies are there, over Q."""
    kind, products = cipher(rotated[0]), sums.products
    totals: dict[int, Value] = {}
    for (_, baby, group), values in zip(products.rows.tolist(), products.values, strict=True):
        plain = p.encode(values, kind.slots, kind.level, plain_scale, "Q")
        totals[group] = p.add(totals.get(group), p.builder.build("rlwe.mul_plain", [rotated[baby], plain]))
    return [(giant, (0,), totals[number]) for number, (giant, _) in enumerate(products.groups)]


def _sum_all_rotated(p: Primitives, x: Value, sums: MapSums, plain_scale: float, *, iterated: bool) -> list[Part]:
    """Inner sums of a block map without hoisting: a map without rotations reads all rotated inputs as one array."""
    products, rows = sums.products, sums.products.rows.tolist()
    babies = (SELF, *products.babies)
    used = sorted({(baby, in_) for in_, baby, _ in rows})
    places = {(in_, baby): place for place, (baby, in_) in enumerate(used)}
    read = [[in_ for _, in_ in inputs] for _, inputs in groupby(used, key=lambda pair: pair[0])]
    of = [babies[number] for number, _ in groupby(used, key=lambda pair: pair[0])]
    if iterated:
        arrays = _chain(p, x, {baby.steps: inputs for baby, inputs in zip(of, read, strict=True)})
    else:
        arrays = [_rotate(p, p.take(x, inputs), baby) for baby, inputs in zip(of, read, strict=True)]
    diagonals = tuple(
        Diagonal(0, values, False, group, places[in_, baby])
        for (in_, baby, group), values in zip(rows, products.values, strict=True)
    )
    slots = sums.map.slots
    unturned = LinearMap(slots, explicit=diagonals, count_in=len(places), count_out=len(products.groups))
    parts = _of_block(p, p.concat(arrays), MapSums(unturned, MapStrategy(Split(slots))), plain_scale)
    return _split(p, parts[0][2], products)


def _rotate_babies(p: Primitives, x: Value, babies: Sequence[Baby], *, iterated: bool) -> list[Value]:
    """x and its babies."""
    if not iterated:
        return [x, *(_rotate(p, x, baby) for baby in babies)]
    slots = cipher(x).slots
    rotated = {0: x}
    for steps, before, by in reversed(
        order_giant_steps([signed_steps(baby.steps, slots) for baby in babies], slots, "horner")
    ):
        rotated[steps] = p.rotate(rotated[before], by)
    return [x, *(rotated[signed_steps(baby.steps, slots)] for baby in babies)]


def _chain(p: Primitives, x: Value, read: Mapping[int, list[int]]) -> list[Value]:
    """The inputs that `read` names for each number of steps, each rotated from the one before it of its input."""
    slots = cipher(x).slots
    signed = {signed_steps(steps, slots): inputs for steps, inputs in read.items()}
    groups: dict[GiantRotation, list[int]] = {}
    for in_ in sorted({in_ for inputs in signed.values() for in_ in inputs}):
        for giant_turn in order_giant_steps(
            [steps for steps, inputs in signed.items() if in_ in inputs], slots, "horner"
        ):
            groups.setdefault(giant_turn, []).append(in_)
    rotated = {(0, in_): (x, in_) for in_ in range(cipher(x).count)}
    for giant_turn in sorted(groups, key=lambda giant_turn: abs(giant_turn.giant)):
        held = groups[giant_turn]
        array = p.rotate(_gather(p, [rotated[giant_turn.onto, in_] for in_ in held]), giant_turn.steps)
        rotated |= {(giant_turn.giant, in_): (array, place) for place, in_ in enumerate(held)}
    return [_gather(p, [rotated[steps, in_] for in_ in inputs]) for steps, inputs in signed.items()]


def _gather(p: Primitives, vectors: list[tuple[Value, int]]) -> Value:
    """Vectors of several arrays, by array and number, as one."""
    runs = [(array, [number for _, number in run]) for array, run in groupby(vectors, key=lambda item: item[0])]
    return p.concat([p.take(array, numbers) for array, numbers in runs])


def _rotate(p: Primitives, x: Value, baby: Baby) -> Value:
    if baby.steps:
        x = p.rotate(x, baby.steps)
    return p.conjugate(x) if baby.conj else x
