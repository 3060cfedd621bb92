"""Work of all operations that cost tables price: of plan instructions, by their records, of several, and of clients."""

from __future__ import annotations

from latticework.plan.instructions.table import RECORDS
from latticework.plan.instructions.work_units import Shape, Work, Works

WEIGHTED_SUM = "weighted_sum"  # a linear combination of `terms` ciphertexts in one pass


def work(op: str, shape: Shape) -> Work:
    """Units of one operation on one ciphertext.

    An operation that does something else in BFV is called "bfv." and its name there. `generate_key`, `encrypt` and
    `decrypt` are what a client does, for one evaluation key or one ciphertext.

    raises  ValueError if there is no such operation
    """
    if op not in _WORKS:
        raise ValueError(f"work: there is no operation {op!r}")
    return _WORKS[op](shape)


def _generate_key(shape: Shape) -> Work:
    """Every digit a row for each limb, and an error; once the secret, as it is and as it is switched to."""
    rows, digits = shape.rows, len(shape.digit_limbs)
    return {
        "expand": digits * (rows + 1),
        "ntt": digits * rows + rows + shape.q_limbs,
        "pointwise": 6 * digits * rows + 3 * rows,
    }


def _encrypt(shape: Shape) -> Work:
    """Return the work of encrypting an encoded message under the secret key: a row for each limb, one more draw for the
    error."""
    return {"expand": shape.q_limbs + 1, "ntt": 2 * shape.q_limbs, "pointwise": 8 * shape.q_limbs}


def _decrypt(shape: Shape) -> Work:
    """And decode; mixed radix takes a product for each pair of limbs."""
    limbs = shape.q_limbs
    return {"ntt": 2 * limbs, "pointwise": 7 * limbs + limbs**2, "fft": 1.0}


def _weighted_sum(shape: Shape) -> Work:
    """Reads what it combines and writes one: four terms take 2.2 times as long as one addition."""
    return {"pointwise": shape.polys * shape.rows * (shape.terms + 1) / 2.25}


_OTHERS: Works = {
    WEIGHTED_SUM: _weighted_sum,
    "generate_key": _generate_key,
    "encrypt": _encrypt,
    "decrypt": _decrypt,
    "bfv.decrypt": lambda shape: {"ntt": 2 * shape.q_limbs + 1, "pointwise": 10 * shape.q_limbs},
}
_ALL = [item for works in (*(record.work for record in RECORDS.values()), _OTHERS) for item in works.items()]
_WORKS = dict(_ALL)
assert len(_WORKS) == len(_ALL), "two operations of one name"
