"""Products, of ciphertexts and with what is public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from latticework.errors import IrError
from latticework.instructions.kinds import CipherKind, Kind, PlainKind
from latticework.instructions.protocols import Errors, Machine, Slots
from latticework.instructions.record import BFV, BOTH, CKKS, ORDINARY, Record, Traits
from latticework.instructions.rules import met, product_of, require_key, summed
from latticework.instructions.use import Use
from latticework.instructions.vectors import Array, added_up, each, kept, together


def _product(use: Use) -> CipherKind:
    """Of two ciphertexts, or of one with itself."""
    return product_of(use.operands[0], use.operands[-1])


def _with_plain(use: Use) -> CipherKind:
    a: CipherKind = use.operands[0]
    b: PlainKind = use.operands[1]
    return replace(a, count=met(a, b), scale=a.scale * b.scale)


MUL = Record(
    name="mul",
    line="product of two ciphertexts, of degree 2",
    family="product",
    schemes=BOTH,
    traits=ORDINARY,
    rule=lambda use: (_product(use),),
    meaning=lambda run, _use, a, b: run.product(a, b),
    error=each(lambda errors, use, a, b: errors.mul(use, a, b)),
)
SQUARE = Record(
    name="square",
    line="product of a ciphertext with itself, of degree 2",
    family="product",
    schemes=BOTH,
    traits=ORDINARY,
    rule=lambda use: (_product(use),),
    meaning=lambda run, _use, a: run.product(a, a),
    error=each(lambda errors, use, a: errors.mul(use, a, a)),
)
MUL_PLAIN = Record(
    name="mul_plain",
    line="product of a ciphertext and a plaintext",
    family="plain",
    schemes=BOTH,
    traits=ORDINARY,
    rule=lambda use: (_with_plain(use),),
    meaning=lambda run, _use, a, b: run.product(a, b),
    error=each(lambda errors, use, a, b: errors.mul_plain(use, a, b)),
)


def _dot(use: Use) -> Sequence[Kind]:
    """The second factor is an array of ciphertexts or of plaintexts."""
    if [type(kind) for kind in use.operands] not in ([CipherKind, CipherKind], [CipherKind, PlainKind]):
        raise IrError("needs a cipher, and a cipher or a plaintext")
    product = _with_plain(use) if isinstance(use.operands[1], PlainKind) else _product(use)
    return (summed(product, use.immediate[0]),)


def _dot_error(errors: Errors, use: Use, a: Array, b: Array) -> Array:
    product = errors.mul_plain if isinstance(use.operands[1], PlainKind) else errors.mul
    return added_up(errors, tuple([product(use, *parts) for parts in together([a, b])]), use.immediate[0])


DOT = Record(
    name="dot",
    line="sums of the products of two arrays, of neighbours, in groups",
    family="product",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_dot,
    meaning=lambda run, use, a, b: run.dot(a, b, use.immediate[0]),
    error=_dot_error,
)


def _relinearized(use: Use) -> Sequence[Kind]:
    a, b, key = use.operands
    require_key(use, key, "relin", a.track, a.level)
    return (replace(product_of(a, b), degree=1),)


MUL_RELINEARIZE = Record(
    name="mul_relinearize",
    line="mul and relinearize, with one division for both",
    family="product",
    schemes=BFV,
    traits=ORDINARY,
    rule=_relinearized,
    meaning=lambda run, _use, a, b, _key: run.product(a, b),
    error=each(lambda errors, use, a, b, _key: errors.mul_relinearize(use, a, b)),
)


def _rescaled(use: Use) -> Sequence[Kind]:
    """The scale of the product is free: the integer stands for any number near it."""
    return (replace(use.operands[0], scale=use.stated.scale),)


def _multiple(run: Machine, use: Use, a: Slots) -> Slots:
    return run.multiple(a, use.immediate[0], use.operands[0].scale / use.stated.scale)


MUL_INT = Record(
    name="mul_int",
    line="product of a ciphertext and an integer",
    family="plain",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_rescaled,
    meaning=_multiple,
    error=each(lambda errors, use, a: errors.mul_integer(use, a)),
)


def _by_monomial(use: Use) -> Sequence[Kind]:
    exponent, degree = use.immediate[0], use.chain.ring_degree
    if not 0 <= exponent < 2 * degree:
        raise IrError(f"X^{exponent} in a ring of degree {degree}; exponents are below 2N")
    return use.operands


def _turn(_run: Machine, use: Use, a: Slots) -> Slots:
    exponent, half = use.immediate[0], use.chain.ring_degree // 2
    if exponent % half:
        raise IrError(f"mul_monomial: X^{exponent} has no meaning on slots; multiples of N/2 = {half} have")
    product: Slots = a * (1, 1j, -1, -1j)[exponent // half]
    return product


MUL_MONOMIAL = Record(
    name="mul_monomial",
    line="product of a ciphertext and a power of X: of i, for multiples of N/2",
    family="plain",
    schemes=CKKS,
    traits=Traits(is_complex=True),
    rule=_by_monomial,
    meaning=_turn,
    error=kept,
)

RECORDS = (MUL, SQUARE, MUL_PLAIN, DOT, MUL_RELINEARIZE, MUL_INT, MUL_MONOMIAL)
