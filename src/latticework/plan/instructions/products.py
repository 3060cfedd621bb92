"""Products, of ciphertexts and with what is public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from latticework.errors import IrError
from latticework.plan.instructions.ciphertext_arrays import Array, added_up, each, keep_error, together
from latticework.plan.instructions.instruction_record import ORDINARY, Record, Traits
from latticework.plan.instructions.protocols import Errors, Machine, Slots
from latticework.plan.instructions.register_kinds import CipherKind, Kind, PlainKind
from latticework.plan.instructions.shared_rules import (
    count_each,
    each_key,
    in_place,
    no_keys,
    no_scratch,
    of_scheme,
    one_part,
    own_rows,
)
from latticework.plan.instructions.type_rules import group_sum_kind, match_operands, product_of, require_key
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import (
    b_limbs,
    chain_of,
    p_limbs,
    q_limbs,
    rows_of_lifts,
    shape_of,
    shape_of_product,
    shape_of_switch,
    vectors_made,
    vectors_of,
)
from latticework.plan.instructions.work_units import (
    NO_WORK,
    Part,
    Shape,
    Work,
    add_work,
    decompose,
    lift,
    multiply_by_key,
    pointwise,
)
from latticework.values.extension import _core

MAX_DEGREE = _core.MAX_CIPHERTEXT_DEGREE
MOST_WEIGHT = 1 << 61  # of a term of a linear combination


def _product(use: Use) -> CipherKind:
    """Return the type of a product of two ciphertexts, or of one with itself."""
    most = 2 if use.chain.scheme == "bfv" else MAX_DEGREE
    return product_of(use.operands[0], use.operands[-1], most)


def _with_plain(use: Use) -> CipherKind:
    a: CipherKind = use.operands[0]
    b: PlainKind = use.operands[1]
    return replace(a, count=match_operands(a, b), scale=a.scale * b.scale)


def _each_product(operation: str, use: Use) -> Sequence[Part]:
    return (Part(of_scheme(operation, use), shape_of_product(use), vectors_made(use)),)


def _tensor(shape: Shape) -> Work:
    """Return the work of products of all pairs of polynomials."""
    return {"pointwise": shape.polys**2 * shape.rows}


def _exact_tensor(shape: Shape, *, is_square: bool) -> Work:
    """The product of two BFV ciphertexts modulo Q and B: one factor is lifted to B, the other one brought there."""
    q, b = shape.q_limbs, shape.b_limbs
    ends: Work = {"ntt": (2 if is_square else 4) * q + 2 * q + 7 * b, "pointwise": 4 * (q + b)}
    return add_work(ends, *[lift(q, b)] * 4, *[lift(b, q)] * 2)


def _divide_by(shape: Shape, by: int) -> Work:
    """Return the work of dividing one polynomial by some limbs, over Q."""
    return add_work(lift(by, shape.q_limbs), {"ntt": shape.q_limbs, "pointwise": shape.q_limbs})


def _product_of_bfv(shape: Shape, *, is_square: bool) -> Work:
    """Return the work of a product, all three polynomials of which are divided by B."""
    return add_work(_exact_tensor(shape, is_square=is_square), *[_divide_by(shape, shape.b_limbs)] * 3)


def _product_scratch(use: Use, _stored: bool) -> int:
    """Return the scratch rows: for BFV both factors over B, one of them brought back, and the product over P and B; for
    CKKS none."""
    chain, factor = chain_of(use), use.operands[0]
    q, p, b = q_limbs(chain, factor), p_limbs(chain, factor), b_limbs(chain, factor)
    return 2 * q + 3 * p + 7 * b if b else 0


MUL = Record(
    name="mul",
    line="product of two ciphertexts, whose degrees add up",
    family="product",
    traits=ORDINARY,
    rule=lambda use: (_product(use),),
    meaning=lambda run, _use, a, b: run.product(a, b),
    error=each(lambda errors, use, a, b: errors.mul(use, a, b)),
    work={"mul": _tensor, "bfv.mul": lambda shape: _product_of_bfv(shape, is_square=False)},
    parts=lambda use: _each_product("mul", use),
    counts=count_each(ciphertext_products=1),
    keys=no_keys,
    scratch=_product_scratch,
    reuse=own_rows,
)
SQUARE = Record(
    name="square",
    line="product of a ciphertext with itself, of twice its degree",
    family="product",
    traits=ORDINARY,
    rule=lambda use: (_product(use),),
    meaning=lambda run, _use, a: run.product(a, a),
    error=each(lambda errors, use, a: errors.mul(use, a, a)),
    work={"square": _tensor, "bfv.square": lambda shape: _product_of_bfv(shape, is_square=True)},
    parts=lambda use: _each_product("square", use),
    counts=count_each(ciphertext_products=1),
    keys=no_keys,
    scratch=_product_scratch,
    reuse=own_rows,
)
MUL_PLAIN = Record(
    name="mul_plain",
    line="product of a ciphertext and a plaintext",
    family="plain",
    traits=ORDINARY,
    rule=lambda use: (_with_plain(use),),
    meaning=lambda run, _use, a, b: run.product(a, b),
    error=each(lambda errors, use, a, b: errors.mul_plain(use, a, b)),
    work={"mul_plain": pointwise},
    parts=one_part("mul_plain", shape_of),
    counts=count_each(plaintext_products=1),
    keys=no_keys,
    scratch=no_scratch,
    reuse=in_place,
)


def _dot(use: Use) -> Sequence[Kind]:
    """The second factor is an array of ciphertexts or of plaintexts."""
    if [type(kind) for kind in use.operands] not in ([CipherKind, CipherKind], [CipherKind, PlainKind]):
        raise IrError("needs a cipher, and a cipher or a plaintext")
    product = _with_plain(use) if isinstance(use.operands[1], PlainKind) else _product(use)
    return (group_sum_kind(product, use.immediate[0]),)


def _dot_error(errors: Errors, use: Use, a: Array, b: Array) -> Array:
    product = errors.mul_plain if isinstance(use.operands[1], PlainKind) else errors.mul
    return added_up(errors, tuple([product(use, *parts) for parts in together([a, b])]), use.immediate[0])


def _dot_parts(use: Use) -> Sequence[Part]:
    """A product for each pair; that they are added up costs no more."""
    operation = "mul_plain" if isinstance(use.operands[1], PlainKind) else of_scheme("mul", use)
    return (Part(operation, shape_of_product(use), _pairs(use)),)


def _dot_counts(use: Use) -> Mapping[str, int]:
    is_plain = isinstance(use.operands[1], PlainKind)
    return {"plaintext_products" if is_plain else "ciphertext_products": _pairs(use)}


def _pairs(use: Use) -> int:
    return max(map(vectors_of, use.operands))


DOT = Record(
    name="dot",
    line="sums of the products of two arrays, of neighbours, in groups",
    family="product",
    traits=ORDINARY,
    rule=_dot,
    meaning=lambda run, use, a, b: run.dot(a, b, use.immediate[0]),
    error=_dot_error,
    work=NO_WORK,
    parts=_dot_parts,
    counts=_dot_counts,
    keys=no_keys,
    scratch=_product_scratch,
    reuse=own_rows,
)


def _infer_relinearize(use: Use) -> Sequence[Kind]:
    a, b, key = use.operands
    require_key(use, key, "relin", a.track, a.level)
    return (replace(product_of(a, b), degree=1),)


def _shape_of_both(use: Use) -> Shape:
    return shape_of_switch(use, b_limbs=b_limbs(chain_of(use), use.operands[0]))


def _work_of_both(shape: Shape) -> Work:
    """The last polynomial is divided by B and switched; then one division by B and P ends the other two."""
    switched = replace(shape, polys=3)
    both: Work = add_work({"ntt": 2 * shape.p_limbs}, *[_divide_by(shape, shape.b_limbs + shape.p_limbs)] * 2)
    first = add_work(_exact_tensor(shape, is_square=False), _divide_by(shape, shape.b_limbs))
    return add_work(first, decompose(switched), multiply_by_key(switched), both)


def _relinearizing_scratch(use: Use, _stored: bool) -> int:
    """The product over Q, P and B while its last polynomial is switched."""
    shape = _shape_of_both(use)
    q, p, b = shape.q_limbs, shape.p_limbs, shape.b_limbs
    return max(3 * q + 3 * p + 7 * b, 6 * q + 7 * p + 3 * b + rows_of_lifts(shape))


MUL_RELINEARIZE = Record(
    name="mul_relinearize",
    line="mul and relinearize, with one division for both",
    family="product",
    traits=ORDINARY,
    rule=_infer_relinearize,
    meaning=lambda run, _use, a, b, _key: run.product(a, b),
    error=each(lambda errors, use, a, b, _key: errors.mul_relinearize(use, a, b)),
    work={"mul_relinearize": _work_of_both},
    parts=one_part("mul_relinearize", _shape_of_both),
    counts=count_each(ciphertext_products=1, key_switches=1, relinearizations=1),
    keys=each_key,
    scratch=_relinearizing_scratch,
    reuse=own_rows,
)


def _infer_rescale(use: Use) -> Sequence[Kind]:
    """The scale of the product is free: the integer stands for any number near it."""
    return (replace(use.operands[0], scale=use.stated.scale),)


def _multiple(run: Machine, use: Use, a: Slots) -> Slots:
    return run.multiple(a, use.immediate[0], use.operands[0].scale / use.stated.scale)


MUL_INT = Record(
    name="mul_int",
    line="product of a ciphertext and an integer",
    family="plain",
    traits=Traits(linear=lambda immediate, _degree: abs(immediate[0]) <= MOST_WEIGHT, begins=True),
    rule=_infer_rescale,
    meaning=_multiple,
    error=each(lambda errors, use, a: errors.mul_integer(use, a)),
    work={"mul_int": pointwise},
    parts=one_part("mul_int", shape_of),
    counts=count_each(integer_products=1),
    keys=no_keys,
    scratch=no_scratch,
    reuse=in_place,
)


def _by_monomial(use: Use) -> Sequence[Kind]:
    exponent, degree = use.immediate[0], use.chain.ring_degree
    if not 0 <= exponent < 2 * degree:
        raise IrError(f"X^{exponent} in a ring of degree {degree}; exponents are below 2N")
    return use.operands


def _multiply_by_unit(_run: Machine, use: Use, a: Slots) -> Slots:
    exponent, half = use.immediate[0], use.chain.ring_degree // 2
    if exponent % half:
        raise IrError(f"mul_monomial: X^{exponent} has no meaning on slots; multiples of N/2 = {half} have")
    product: Slots = a * (1, 1j, -1, -1j)[exponent // half]
    return product


MUL_MONOMIAL = Record(
    name="mul_monomial",
    line="product of a ciphertext and a power of X: of i, for multiples of N/2",
    family="plain",
    traits=Traits(is_complex=True, linear=lambda immediate, degree: immediate[0] % (degree // 2) == 0),
    rule=_by_monomial,
    meaning=_multiply_by_unit,
    error=keep_error,
    work={"mul_monomial": lambda shape: {"ntt": shape.rows, "pointwise": shape.polys * shape.rows}},
    parts=one_part("mul_monomial", shape_of),
    counts=count_each(),
    keys=no_keys,
    scratch=lambda use, _stored: shape_of(use).rows,
    reuse=in_place,
)

RECORDS = (MUL, SQUARE, MUL_PLAIN, DOT, MUL_RELINEARIZE, MUL_INT, MUL_MONOMIAL)
