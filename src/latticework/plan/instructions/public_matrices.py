"""Products of public matrices and arrays of ciphertexts: sums of whole ciphertexts times numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, log2

from latticework.errors import IrError
from latticework.plan.instructions.ciphertext_arrays import Array
from latticework.plan.instructions.instruction_record import ORDINARY, Record
from latticework.plan.instructions.load_constants import require_number
from latticework.plan.instructions.protocols import Errors, Machine, Slots
from latticework.plan.instructions.register_kinds import CipherKind, Kind
from latticework.plan.instructions.shared_rules import no_keys, own_rows
from latticework.plan.instructions.type_rules import Q
from latticework.plan.instructions.use import Use
from latticework.plan.instructions.value_shapes import chain_of, shape_of
from latticework.plan.instructions.work_units import Part, Shape, Work
from latticework.values.packing.packed_constants import NumberMatrix

WEIGHT_BITS = 24  # that kernels multiply with at once; larger integers have several parts
USUAL_BITS = 8  # that a weight of a trained model is below 1
WHOLE_BITS = 52  # of a prime and a weight whose products kernels add up in one float64 each; more take two parts
ROWS_AT_ONCE = 32  # sums of a further part of the integers that are in memory beside the result


def _rule(use: Use) -> Sequence[Kind]:
    """Type the sums: their number, and the scale of the matrix, are as the result states."""
    require_number(use, len(use.constants), "constant")
    a: CipherKind = use.operands[0]
    if a.basis != Q:
        raise IrError("needs an array of ciphers over Q")
    return (replace(a, count=use.stated.count, scale=use.stated.scale),)


def matrix_of(use: Use) -> NumberMatrix:
    """The matrix that an instruction names."""
    matrix = use.constants[use.immediate[0]]
    assert isinstance(matrix, NumberMatrix)
    return matrix


def _multiply(run: Machine, use: Use, value: Slots) -> Slots:
    return run.multiply_matrix(matrix_of(use), value, use.stated.scale / use.operands[0].scale)


def _errors(errors: Errors, use: Use, value: Array) -> Array:
    return errors.multiply_matrix(use, matrix_of(use), value)


def parts_of(scale: float) -> int:
    """Parts in which kernels take the integers of numbers, as those of trained models are, at this scale."""
    return max(1, ceil((log2(max(scale, 1.0)) - USUAL_BITS) / WEIGHT_BITS))


def residue_parts(prime: int, scale: float) -> int:
    """Parts in which kernels take residues modulo a prime, for numbers at this scale: 1 or 2."""
    weight_bits = min(max(log2(max(scale, 1.0)) - USUAL_BITS, 1), WEIGHT_BITS)
    return 1 if log2(prime) + weight_bits <= WHOLE_BITS else 2


def _parts(use: Use) -> Sequence[Part]:
    """Every product with a number, in each part of it and of residues."""
    chain, kind = chain_of(use), use.operands[0]
    scale = use.stated.scale / kind.scale
    prime = max(chain.primes[j] for j in chain.tracks[kind.track].basis(kind.level))
    products = matrix_of(use).products * parts_of(scale) * residue_parts(prime, scale)
    return (Part("public_matmul", shape_of(use), products),)


def _work(shape: Shape) -> Work:
    return {"matrix_mac": shape.polys * shape.rows}


def _counts(use: Use) -> Mapping[str, int]:
    return {"integer_products": matrix_of(use).products}


def _scratch(use: Use, _stored: bool) -> int:
    """Return the rows of sums of a further part."""
    shape = shape_of(use)
    rows: int = min(ROWS_AT_ONCE, use.stated.count) * shape.polys * shape.rows
    return rows


PUBLIC_MATMUL = Record(
    name="public_matmul",
    line="sums of the ciphertexts of an array times numbers: a public matrix times the array",
    family="plain",
    traits=ORDINARY,
    rule=_rule,
    meaning=_multiply,
    error=_errors,
    work={"public_matmul": _work},
    parts=_parts,
    counts=_counts,
    keys=no_keys,
    scratch=_scratch,
    reuse=own_rows,
)

RECORDS = (PUBLIC_MATMUL,)
