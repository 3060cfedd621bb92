"""Shapes and sizes of the registers of a plan, from its modulus chain."""

from __future__ import annotations

from latticework.cost.work import Shape
from latticework.instructions.code import Instruction
from latticework.instructions.kinds import CipherKind, DigitsKind, Kind, PlainKind
from latticework.packing.constants import ConstRef, MapSums
from latticework.params import ModulusChain
from latticework.params.bfv_chain import extension_primes
from latticework.plan.schema import Plan

WORD_BYTES = 8
ROW_PADDING_WORDS = 8  # the core pads rows off power-of-two strides
ROW_ALIGNMENT_BITS = 512  # stored rows are padded to 64 bytes
Held = CipherKind | DigitsKind | PlainKind
_OF_BFV = ("mul", "square", "encode")
_PRODUCTS = ("mul", "square", "dot", "mul_relinearize")
_MOVES = ("mod_down", "drop_level", "mod_raise")  # to a level that is part of their price


def q_limbs(chain: ModulusChain, kind: Held) -> int:
    """Number of Q limbs of a register."""
    return len(chain.tracks[kind.track].basis(kind.level))


def digit_limbs(chain: ModulusChain, kind: Held) -> tuple[int, ...]:
    """Q limbs of each key-switching digit that a register's level has a part in."""
    basis = set(chain.tracks[kind.track].basis(kind.level))
    return tuple(len(basis & set(digit)) for digit in chain.digits if basis & set(digit))


def b_limbs(chain: ModulusChain, kind: Held) -> int:
    """Limbs of the basis beside Q that BFV multiplies in; CKKS has none."""
    return len(extension_primes(chain, kind.level)) if chain.scheme == "bfv" else 0


def row_bytes(chain: ModulusChain) -> int:
    """Bytes of one row of residues in memory."""
    return (chain.ring_degree + ROW_PADDING_WORDS) * WORD_BYTES


def cipher_rows(chain: ModulusChain, kind: CipherKind) -> int:
    """Rows of one ciphertext of a register."""
    return (kind.degree + 1) * (q_limbs(chain, kind) + kind.basis * len(chain.special))


def digits_rows(chain: ModulusChain, kind: DigitsKind) -> int:
    """Rows of the extended digits of one hoisted ciphertext, which is not counted itself."""
    return len(digit_limbs(chain, kind)) * (q_limbs(chain, kind) + len(chain.special))


def plain_rows(chain: ModulusChain, kind: PlainKind) -> int:
    """Rows of one plaintext of an encoded constant."""
    return q_limbs(chain, kind) + kind.basis * len(chain.special)


def stored_bytes(chain: ModulusChain, level: int, track: int, polys: int) -> int:
    """Bytes of a ciphertext in a file, without the header: rows bit-packed at the width of their primes."""
    primes = chain.limb_primes(chain.tracks[track].basis(level))
    rows = (-(-p.bit_length() * chain.ring_degree // ROW_ALIGNMENT_BITS) * (ROW_ALIGNMENT_BITS // 8) for p in primes)
    return polys * sum(rows)


def vectors_of(kind: Kind) -> int:
    """Ciphertexts or plaintexts in a register; 1 for keys and integers."""
    return kind.count if isinstance(kind, Held) else 1


def map_sums_of(plan: Plan, instruction: Instruction) -> MapSums:
    """The block map of a `map_sums`."""
    sums = plan.constants[instruction.immediate[0]]
    assert isinstance(sums, MapSums)
    return sums


def priced_as(plan: Plan, instruction: Instruction) -> tuple[str, int]:
    """The operation on one ciphertext that an instruction consists of, and how often it does it."""
    if instruction.op in ("for", "if", "map_sums"):
        return instruction.op, 1
    if instruction.op not in ("sum", "dot"):
        vectors = max((vectors_of(plan.kind(r)) for r in instruction.results), default=1)
        return named(plan.chain, instruction.op), vectors
    counts = [vectors_of(plan.kind(o.register)) for o in instruction.operands]
    if instruction.op == "sum":
        return "add", counts[0] - instruction.immediate[0]
    is_plain = isinstance(plan.kind(instruction.operands[1].register), PlainKind)
    return "mul_plain" if is_plain else named(plan.chain, "mul"), max(counts)


def named(chain: ModulusChain, op: str) -> str:
    """What an operation is called where prices are looked up: those that only BFV does like this have its name."""
    return f"bfv.{op}" if chain.scheme == "bfv" and op in _OF_BFV else op


def shape_of(plan: Plan, instruction: Instruction) -> Shape:
    """The shape that a plan instruction is priced by, for each of an array of ciphertexts; operations on keys and
    integers have an empty one."""
    chain, op = plan.chain, instruction.op
    if op == "encode":
        kind = plan.kind(instruction.results[0])
        assert isinstance(kind, PlainKind)
        constant = plan.constants[instruction.immediate[0]]
        assert isinstance(constant, ConstRef)
        slots = constant.slots
        return Shape(chain.ring_degree, q_limbs(chain, kind), kind.basis * len(chain.special), slots=slots)
    source = plan.kind(instruction.operands[0].register) if instruction.operands else None
    result = plan.kind(instruction.results[0]) if instruction.results else None
    if op in ("for", "if") or not isinstance(source, Held) or not isinstance(result, CipherKind | DigitsKind):
        return Shape(chain.ring_degree, 0)
    switches = op in ("hoist", "key_product", "rotate", "relinearize", "mul_relinearize", "to_sparse", "diag_sums")
    switches |= op == "map_sums" and result.basis == 1  # type: ignore[union-attr]
    over_p = switches or op == "mod_raise" or (not isinstance(source, DigitsKind) and source.basis == 1)
    degree = 1 if isinstance(source, PlainKind) else source.degree
    if op in ("add", "sub", "sum") and isinstance(result, CipherKind):
        degree = result.degree
    return Shape(
        chain.ring_degree,
        q_limbs(chain, source),
        (1 if op == "to_sparse" else len(chain.special)) if over_p else 0,
        digit_limbs(chain, source) if switches else (),
        q_limbs(chain, result) if op in _MOVES or result.level < source.level else None,
        degree + 1,
        keys=instruction.immediate[0] if op == "diag_sums" else 0,
        sums=instruction.immediate[1] if op == "diag_sums" else result.count if op == "map_sums" else 0,
        terms=len(instruction.immediate) // 2 - 1 if op == "diag_sums" else 0,
        b_limbs=b_limbs(chain, source) if op in _PRODUCTS else 0,
    )
