"""Inner sums of linear maps: rotated copies of what is mapped, times public diagonals, added up over QP."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from latticework.errors import IrError, ShapeError
from latticework.plan.instructions.ciphertext_arrays import Array, together
from latticework.plan.instructions.instruction_record import ORDINARY, Record, Traits
from latticework.plan.instructions.load_constants import encoding_part, require_number
from latticework.plan.instructions.protocols import Errors, Machine, Slots
from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, Kind, PlainKind
from latticework.plan.instructions.shared_rules import each_key, one_part, own_rows
from latticework.plan.instructions.switches import apply_key, rows_of_sums
from latticework.plan.instructions.type_rules import (
    QP,
    Q,
    match_operands,
    require_key,
    require_scale,
    require_switchable,
)
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import shape_of, shape_of_switch, vectors_made
from latticework.plan.instructions.work_units import NO_WORK, Part, Shape, Work, add_work, multiply_by_key
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.loop_nests.map_sums import Products
from latticework.values.packing.packed_constants import MapSums


def _diagonal_sums(use: Use) -> Sequence[Kind]:
    num_keys, num_giants, *pairs = use.immediate if len(use.immediate) > 1 else (0, 0)
    num_terms = len(pairs) // 2
    fits = len(use.operands) == 1 + num_keys + num_terms and len(use.results) == num_giants
    if not fits or len(pairs) % 2 or min(num_keys, num_giants - 1, num_terms - 1) < 0:
        raise IrError(f"{len(use.operands)} operands for {num_terms} terms of {num_giants} giants")
    digits, keys, plains = use.operands[0], use.operands[1 : 1 + num_keys], use.operands[1 + num_keys :]
    kinds = [DigitsKind] + [KeySpec] * num_keys + [PlainKind] * num_terms
    if [type(kind) for kind in use.operands] != kinds:
        raise IrError(f"needs digits, {num_keys} keys and {num_terms} plaintexts")
    if digits.degree != 1:
        raise IrError(f"needs digits of degree 1, got degree {digits.degree}")
    for key in keys:
        require_key(use, key, "galois", digits.track, digits.level)
    for baby, giant in zip(pairs[::2], pairs[1::2], strict=True):
        if not (0 <= baby <= num_keys and 0 <= giant < num_giants):
            raise IrError(f"term ({baby}, {giant}) of {num_keys + 1} babies and {num_giants} giants")
    sums = CipherKind(digits.slots, digits.track, digits.level, digits.scale, 1, QP, count=digits.count)
    for plain in plains:
        if match_operands(sums, plain) != digits.count:
            raise ShapeError(f"{plain.count} vectors of a diagonal for {digits.count} of digits")
        require_scale(plain.scale, plains[0].scale, "encode all diagonals at one scale")
    return (replace(sums, scale=digits.scale * plains[0].scale),) * num_giants


def _sum_diagonals(run: Machine, use: Use, value: Slots, *rest: Slots | KeySpec) -> list[Slots]:
    num_keys, num_giants, *pairs = use.immediate
    babies = [value]
    for key in rest[:num_keys]:
        assert isinstance(key, KeySpec)
        babies.append(apply_key(run.with_key_noise(value, use.operands[0]), key))
    sums = [np.zeros_like(value) for _ in range(num_giants)]
    for baby, giant, plain in zip(pairs[::2], pairs[1::2], rest[num_keys:], strict=True):
        sums[giant] = _add(sums[giant], run.product(np.asarray(plain), babies[baby]))
    return sums


def _diagonal_errors(errors: Errors, use: Use, value: Array, *rest: Array | KeySpec) -> list[Array]:
    num_keys, num_giants, *pairs = use.immediate
    keys = [key for key in rest[:num_keys] if isinstance(key, KeySpec)]
    plains = [plain for plain in rest[num_keys:] if isinstance(plain, tuple)]
    sums = []
    for a, *parts in together([value, *plains]):
        babies = [a] + [errors.key_product(use, a, key) for key in keys]
        totals = [errors.zero()] * num_giants
        for plain, baby, giant in zip(parts, pairs[::2], pairs[1::2], strict=True):
            totals[giant] = errors.plus(totals[giant], errors.mul_plain(use, babies[baby], plain))
        sums.append(totals)
    return [tuple(of_giant) for of_giant in zip(*sums, strict=True)]


def _diagonals(use: Use) -> Shape:
    num_keys, num_giants, *pairs = use.immediate
    return shape_of_switch(use, keys=num_keys, sums=num_giants, terms=len(pairs) // 2)


def _inner_sums(shape: Shape) -> Work:
    return add_work(*[multiply_by_key(shape)] * shape.keys, {"plain_mac": 2 * shape.rows * shape.terms})


def _diagonal_counts(use: Use) -> Mapping[str, int]:
    vectors, (num_keys, _, *pairs) = vectors_made(use), use.immediate
    switches, products = vectors * num_keys, vectors * (len(pairs) // 2)
    return {"key_switches": switches, "rotations": switches, "plaintext_products": products}


DIAG_SUMS = Record(
    name="diag_sums",
    line="inner sums of a linear transform: rotated copies of one value, times plaintexts",
    family="switch",
    traits=Traits(transforms=True),
    rule=_diagonal_sums,
    meaning=_sum_diagonals,
    error=_diagonal_errors,
    work={"diag_sums": _inner_sums},
    parts=one_part("diag_sums", _diagonals),
    counts=_diagonal_counts,
    keys=each_key,
    scratch=lambda use, stored: rows_of_sums(
        shape_of_switch(use), 2, stored=stored
    ),  # of a copy, also before it is rotated
    reuse=own_rows,
)


def _map_sums(use: Use) -> Sequence[Kind]:
    """Return the type of the sums. The stated result says how many there are, and the scale of the diagonals; without
    keys they are over Q."""
    require_number(use, len(use.constants), "constant")
    if [type(kind) for kind in use.operands] != [CipherKind] + [KeySpec] * (len(use.operands) - 1):
        raise IrError("needs an array of ciphers, and keys")
    a, *keys = use.operands
    require_switchable(a, 1)
    for key in keys:
        require_key(use, key, "galois", a.track, a.level)
    return (replace(a, count=use.stated.count, scale=use.stated.scale, basis=QP if keys else Q),)


def _sum_map(run: Machine, use: Use, value: Slots, *keys: KeySpec) -> Slots:
    source, kind, sums = use.operands[0], use.stated, use.constants[use.immediate[0]]
    assert isinstance(sums, MapSums)
    babies = {
        (in_, baby): apply_key(run.with_key_noise(value[..., in_, :], source), keys[baby - 1])
        for in_, baby in sums.products.switches()
    }
    totals = [np.zeros_like(value[..., 0, :]) for _ in range(kind.count)]
    for (in_, baby, group), constant in zip(sums.products.rows.tolist(), sums.products.values, strict=True):
        copy = babies[in_, baby] if baby else value[..., in_, :]
        totals[group] = _add(totals[group], run.product(run.encode_constant(constant, kind.scale / source.scale), copy))
    return np.stack(totals, axis=-2)


def _add(total: Slots, product: Slots) -> Slots:
    """The sum, in the place of the total where that can hold it."""
    if np.can_cast(product.dtype, total.dtype):
        total += product
        return total
    return total + product


def _map_errors(errors: Errors, use: Use, value: Array, *keys: KeySpec) -> Array:
    source, kind, sums = use.operands[0], use.stated, use.constants[use.immediate[0]]
    assert isinstance(sums, MapSums)
    babies = {
        (in_, baby): errors.key_product(use, value[in_], keys[baby - 1]) for in_, baby in sums.products.switches()
    }
    totals = [errors.zero()] * len(sums.products.groups)
    for (in_, baby, group), constant in zip(sums.products.rows.tolist(), sums.products.values, strict=True):
        (plain,) = errors.encode_constant(constant, kind.scale / source.scale)
        product = errors.mul_plain(use, babies[in_, baby] if baby else value[in_], plain)
        totals[group] = errors.plus(totals[group], product)
    return tuple(totals)


def _products(use: Use) -> Products:
    sums = use.constants[use.immediate[0]]
    assert isinstance(sums, MapSums)
    return sums.products


def most_products(use: Use) -> int:
    """Products of the input that has the most of them; without keys, of the sum that has."""
    rows = _products(use).rows
    return max(Counter(rows[:, 0 if use.stated.basis == QP else 2].tolist()).values())


def _shape_of_map(use: Use) -> Shape:
    """Keys are only multiplied by over QP."""
    return shape_of_switch(use) if use.stated.basis == QP else shape_of(use)


def _map_parts(use: Use) -> Sequence[Part]:
    """Every product has its plaintext; each input is decomposed by itself and has separate sums."""
    sums, shape = use.constants[use.immediate[0]], _shape_of_map(use)
    assert isinstance(sums, MapSums)
    products = sums.products
    plain = Shape(shape.ring_degree, shape.q_limbs, shape.p_limbs, slots=sums.map.slots)
    encoded = encoding_part(use, plain, len(products.values))
    over = replace(shape, digit_limbs=())
    if not products.babies:
        return (encoded, Part("mul_plain", over, len(products.values)))
    by_input: dict[int, list[tuple[int, int]]] = {}
    for in_, baby, group in products.rows.tolist():
        by_input.setdefault(in_, []).append((baby, group))
    alike = Counter((len({b for b, _ in own} - {0}), len({g for _, g in own}), len(own)) for own in by_input.values())
    inner = [
        Part("diag_sums", replace(shape, keys=keys, sums=groups, terms=terms), times)
        for (keys, groups, terms), times in alike.items()
    ]
    added = sum(part.shape.sums * part.number for part in inner) - len(products.groups)
    return (encoded, Part("hoist", shape, len(by_input)), *inner, Part("add", over, added))


def _map_counts(use: Use) -> Mapping[str, int]:
    products = _products(use)
    switches = products.switches()
    return {
        "hoists": len({in_ for in_, _ in switches}),
        "key_switches": len(switches),
        "rotations": len(switches),
        "plaintext_products": len(products.values),
    }


def _map_scratch(use: Use, _stored: bool) -> int:
    """The sums of one input, before they are added to those of the others."""
    return rows_of_sums(_shape_of_map(use), 2 + use.stated.count, stored=False)


MAP_SUMS = Record(
    name="map_sums",
    line="inner sums of a block map: rotated copies of its inputs, times plaintexts",
    family="switch",
    traits=ORDINARY,
    rule=_map_sums,
    meaning=_sum_map,
    error=_map_errors,
    work=NO_WORK,
    parts=_map_parts,
    counts=_map_counts,
    keys=lambda use: Counter(baby for _, baby in _products(use).switches()),
    scratch=_map_scratch,
    reuse=own_rows,
)

RECORDS = (DIAG_SUMS, MAP_SUMS)
