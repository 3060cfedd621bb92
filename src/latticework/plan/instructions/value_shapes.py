"""Shapes and sizes of what instructions read and make, from the modulus chain."""

from __future__ import annotations

from typing import Any

from latticework.plan.instructions.register_kinds import CipherKind, DigitsKind, Kind, PlainKind
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.work_units import Shape
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bfv_chain import extension_primes
from latticework.plan.parameters.modulus_chain import digits_at
from latticework.values.packing.key_manifest import KeySpec

WORD_BYTES = 8
ROW_PADDING_WORDS = 8  # the core pads rows off power-of-two strides
PolynomialKind = CipherKind | DigitsKind | PlainKind


def chain_of(use: Use) -> ModulusChain:
    """The chain of an instruction of a plan, which is whole."""
    assert isinstance(use.chain, ModulusChain)
    return use.chain


def q_limbs(chain: ModulusChain, kind: PolynomialKind) -> int:
    """Number of Q limbs of a register."""
    return len(chain.tracks[kind.track].basis(kind.level))


def digit_limbs(chain: ModulusChain, kind: PolynomialKind) -> tuple[int, ...]:
    """Q limbs of each key-switching digit that a register's level has a part in."""
    return tuple(len(digit) for digit in digits_at(chain, kind.level, kind.track))


def b_limbs(chain: ModulusChain, kind: PolynomialKind) -> int:
    """Return the number of limbs of the auxiliary basis that BFV multiplies in; CKKS has none."""
    return len(extension_primes(chain, kind.level)) if chain.scheme == "bfv" else 0


def p_limbs(chain: ModulusChain, kind: PolynomialKind) -> int:
    """Number of P limbs of values over QP at the level of a register."""
    return chain.num_special_at(kind.level, kind.track)


def key_limbs(chain: ModulusChain, key: KeySpec) -> tuple[int, ...]:
    """Limbs of a key, or of what a switch at a level reads of it: special ones, then those of Q ascending."""
    special = chain.special_limbs_at(key.level, key.track)
    return (special[:1] if key.kind == "to_sparse" else special) + chain.tracks[key.track].basis(key.level)


def key_digits(chain: ModulusChain, key: KeySpec) -> tuple[int, ...]:
    """Numbers of its digits; a key from the sparse secret has one, on all limbs."""
    if key.kind == "to_dense":
        return (0,)
    basis = set(chain.tracks[key.track].basis(key.level))
    digits = chain.gadget_at(key.level, key.track).digits
    return tuple(number for number, digit in enumerate(digits) if basis & set(digit))


def key_row_bytes(chain: ModulusChain) -> int:
    """Bytes in memory of a row of a key: both halves."""
    return 2 * row_bytes(chain)


def packed_row_bytes(chain: ModulusChain, limb: int) -> int:
    """Bytes of a row of residues in a file: as many bits each as the prime has."""
    (prime,) = chain.limb_primes((limb,))
    return -(-prime.bit_length() * chain.ring_degree // 512) * 64


def row_bytes(chain: ModulusChain) -> int:
    """Bytes of one row of residues in memory."""
    return (chain.ring_degree + ROW_PADDING_WORDS) * WORD_BYTES


def cipher_rows(chain: ModulusChain, kind: CipherKind) -> int:
    """Rows of one ciphertext of a register."""
    return (kind.degree + 1) * (q_limbs(chain, kind) + kind.basis * p_limbs(chain, kind))


def plain_rows(chain: ModulusChain, kind: PlainKind | CipherKind) -> int:
    """Rows of one plaintext of a register, or of one that a ciphertext there is multiplied with."""
    return q_limbs(chain, kind) + kind.basis * p_limbs(chain, kind)


def digits_rows(chain: ModulusChain, kind: DigitsKind) -> int:
    """Rows of the extended digits of one hoisted ciphertext, which is not counted itself."""
    return len(digit_limbs(chain, kind)) * (q_limbs(chain, kind) + p_limbs(chain, kind))


def vectors_of(kind: Kind | KeySpec) -> int:
    """Ciphertexts or plaintexts in a register; 1 for keys and integers."""
    return kind.count if isinstance(kind, PolynomialKind) else 1


def vectors_made(use: Use) -> int:
    """Ciphertexts or plaintexts that an instruction makes, one result's for another's."""
    return max(map(vectors_of, use.results), default=1)


def level_shape(chain: ModulusChain, level: int, track: int = 0, *, over_p: bool = True) -> Shape:
    """Return the shape of a key switch of a ciphertext at a level; without `over_p` that of an operation over Q."""
    limbs, special = len(chain.tracks[track].basis(level)), chain.num_special_at(level, track)
    if not over_p:
        return Shape(chain.ring_degree, limbs)
    return Shape(chain.ring_degree, limbs, special, tuple(len(digit) for digit in digits_at(chain, level, track)))


def shape_of(use: Use, **changes: Any) -> Shape:
    """The shape of an operation on each ciphertext of its first operand.

    changes  what the operation does with other limbs or polynomials than those that the operand has
    """
    chain, source, result = chain_of(use), use.operands[0], use.results[0]
    sizes: dict[str, Any] = {
        "q_limbs": q_limbs(chain, source),
        "p_limbs": p_limbs(chain, source) if getattr(source, "basis", 0) else 0,
        "target": q_limbs(chain, result) if result.level < source.level else None,
        "polys": getattr(source, "degree", 1) + 1,
    }
    return Shape(chain.ring_degree, **(sizes | changes))


def shape_of_switch(use: Use, **changes: Any) -> Shape:
    """The shape of one that decomposes its operand, or multiplies digits by keys."""
    chain, source = chain_of(use), use.operands[0]
    return shape_of(use, **({"p_limbs": p_limbs(chain, source), "digit_limbs": digit_limbs(chain, source)} | changes))


def shape_of_move(use: Use, **changes: Any) -> Shape:
    """The shape of one for which it counts where the result lies."""
    return shape_of(use, target=q_limbs(chain_of(use), use.stated), **changes)


def shape_of_product(use: Use) -> Shape:
    """Return the sizes of a product."""
    return shape_of(use, b_limbs=b_limbs(chain_of(use), use.operands[0]))


def rows_of_lifts(shape: Shape) -> int:
    """Rows of all digits outside their own limbs."""
    return sum(shape.rows - limbs for limbs in shape.digit_limbs)
