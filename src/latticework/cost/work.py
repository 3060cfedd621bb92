"""How much work one operation is, in units that a cost table prices.

A unit is one kernel on one row of N residues, except `fft` (one transform of
N/2 slots) and two that are bytes: `read_byte`, read from a file, and
`fresh_byte`, got from the system and touched for the first time. Counts follow the core's algorithms: a lift of k
limbs to t is k sources, k*t terms and t reductions (priced like a pointwise
product); an inner product is its terms and one reduction a row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from math import log2

UNITS = (
    "ntt", "lift_source", "lift_term", "key_mac", "plain_mac",
    "pointwise", "automorphism", "fft", "expand", "read_byte", "fresh_byte",
)  # fmt: skip
Work = dict[str, float]

_POINTWISE = {
    "add", "sub", "sum", "neg", "add_plain", "sub_plain", "add_int", "mul_int", "mul_plain", "trivial", "extend",
}  # fmt: skip
_FREE = {"take", "concat", "key", "relabel", "for", "if", "yield", "iconst", "iadd", "isub", "imul", "imin", "ilt"}


@dataclass(frozen=True, slots=True)
class Shape:
    """What the price of one operation depends on.

    q_limbs, p_limbs  limbs of the operand that take part
    digit_limbs       Q limbs of each key-switching digit in use
    target            Q limbs of the result, where an operation drops some
    polys             polynomials of the operand (degree + 1)
    slots             length of the vector that is encoded
    keys, sums, terms rotated copies, results and products of `diag_sums`
    b_limbs           limbs of the basis beside Q that a product of BFV is computed in
    """

    ring_degree: int
    q_limbs: int
    p_limbs: int = 0
    digit_limbs: tuple[int, ...] = ()
    target: int | None = None
    polys: int = 2
    slots: int = 0
    keys: int = 0
    sums: int = 0
    terms: int = 0
    b_limbs: int = 0

    @property
    def rows(self) -> int:
        """Limbs of one polynomial of the operand."""
        return self.q_limbs + self.p_limbs

    @property
    def kept(self) -> int:
        """Q limbs of the result."""
        return self.q_limbs if self.target is None else self.target


def work(op: str, shape: Shape) -> Work:
    """Units of one plan instruction for one ciphertext of an array; of one addition of a `sum`, one product of a `dot`.

    An opcode that does something else in BFV is called "bfv." and its name there. `generate_key`, `encrypt` and
    `decrypt` are what a client does, for one evaluation key or one ciphertext.

    Loops and branches are free: their bodies are counted by themselves.
    """
    if op in _FREE:
        return {}
    if op in _POINTWISE:
        return {"pointwise": shape.polys * shape.rows}
    match op:
        case "mul" | "square" | "dot":
            return {"pointwise": 4 * shape.rows}
        case "drop_level":
            return {"pointwise": shape.polys * (shape.kept + shape.p_limbs)}
        case "encode":
            half = shape.ring_degree // 2
            share = shape.slots * max(log2(shape.slots), 1.0) / (half * log2(half)) if shape.slots else 0.0
            return {"fft": share, "pointwise": shape.rows, "ntt": shape.rows}
        case "bfv.encode":
            return {"pointwise": shape.rows, "ntt": 1 + shape.rows}
        case "bfv.mul" | "bfv.square":
            return add_work(_tensor(shape, is_square=op == "bfv.square"), *[_divide(shape, shape.b_limbs)] * 3)
        case "generate_key":
            return _generate_key(shape)
        case "encrypt":  # with the secret key, of an encoded message: a row for each limb, one more draw for the error
            return {"expand": shape.q_limbs + 1, "ntt": 2 * shape.q_limbs, "pointwise": 8 * shape.q_limbs}
        case "decrypt":  # and decode; mixed radix takes a product for each pair of limbs
            limbs = shape.q_limbs
            return {"ntt": 2 * limbs, "pointwise": 7 * limbs + limbs**2, "fft": 1.0}
        case "bfv.decrypt":
            return {"ntt": 2 * shape.q_limbs + 1, "pointwise": 10 * shape.q_limbs}
        case "mul_relinearize":
            return _mul_relinearize(shape)
        case "hoist":
            return _hoist(shape)
        case "key_product":
            return _key_product(shape)
        case "mod_down":
            return _mod_down(shape)
        case "mul_monomial":
            return {"ntt": shape.rows, "pointwise": shape.polys * shape.rows}
        case "diag_sums" | "map_sums":
            return add_work(*[_key_product(shape)] * shape.keys, {"plain_mac": 2 * shape.rows * shape.terms})
        case "to_sparse":
            return add_work(_hoist(shape), _key_product(shape), _mod_down(replace(shape, target=shape.q_limbs)))
        case "mod_raise":
            raised = shape.kept + shape.p_limbs
            rest: Work = {"ntt": 2 * (shape.q_limbs + raised), "key_mac": 2 * raised, "pointwise": 4 * raised}
            return add_work(rest, *[_lift(shape.q_limbs, raised)] * 2)
        case "rotate" | "relinearize":
            last = replace(shape, polys=2, target=shape.kept)
            return add_work(_hoist(shape), _key_product(shape), _mod_down(last))
    raise ValueError(f"work: there is no opcode {op!r}")


def _generate_key(shape: Shape) -> Work:
    """Every digit a row for each limb, and an error; once the secret, as it is and as it is switched to."""
    rows, digits = shape.rows, len(shape.digit_limbs)
    return {
        "expand": digits * (rows + 1),
        "ntt": digits * rows + rows + shape.q_limbs,
        "pointwise": 6 * digits * rows + 3 * rows,
    }


def _tensor(shape: Shape, *, is_square: bool) -> Work:
    """The product of two BFV ciphertexts modulo Q and B: one factor is lifted to B, the other one brought there."""
    q, b = shape.q_limbs, shape.b_limbs
    ends: Work = {"ntt": (2 if is_square else 4) * q + 2 * q + 7 * b, "pointwise": 4 * (q + b)}
    return add_work(ends, *[_lift(q, b)] * 4, *[_lift(b, q)] * 2)


def _divide(shape: Shape, by: int) -> Work:
    """One polynomial divided by some limbs, over Q."""
    return add_work(_lift(by, shape.q_limbs), {"ntt": shape.q_limbs, "pointwise": shape.q_limbs})


def _mul_relinearize(shape: Shape) -> Work:
    """The last polynomial is divided by B and switched; then one division by B and P ends the other two."""
    switched = replace(shape, polys=3)
    both: Work = add_work({"ntt": 2 * shape.p_limbs}, *[_divide(shape, shape.b_limbs + shape.p_limbs)] * 2)
    first = add_work(_tensor(shape, is_square=False), _divide(shape, shape.b_limbs))
    return add_work(first, _hoist(switched), _key_product(switched), both)


def add_work(*parts: Work) -> Work:
    """The sum of several counts."""
    total: dict[str, float] = defaultdict(float)
    for part in parts:
        for unit, count in part.items():
            total[unit] += count
    return dict(total)


def _lift(sources: float, targets: float) -> Work:
    return {"lift_source": sources, "lift_term": sources * targets, "pointwise": targets}


def _hoist(shape: Shape) -> Work:
    """To coefficients, and every digit to the limbs outside itself: those before and those after in two lifts."""
    total: Work = {"ntt": shape.q_limbs}
    before = shape.p_limbs
    for limbs in shape.digit_limbs:
        after = shape.rows - before - limbs
        parts = [_lift(limbs, count) for count in (before, after) if count]
        total = add_work(total, {"ntt": before + after}, *parts)
        before += limbs
    return total


def _key_product(shape: Shape) -> Work:
    """Two inner products, P times the polynomials that are not switched, and for a rotation the automorphism."""
    rows, kept = shape.rows, shape.polys - 1
    total: Work = {"key_mac": 2 * rows * len(shape.digit_limbs), "pointwise": 2 * rows + 2 * kept * shape.q_limbs}
    return total if shape.polys == 3 else add_work(total, {"automorphism": 2 * rows})


def _mod_down(shape: Shape) -> Work:
    dropped = shape.rows - shape.kept
    if dropped == 0:
        return {}
    polys, kept = shape.polys, shape.kept
    ends: Work = {"ntt": polys * (dropped + kept), "pointwise": polys * kept}
    return add_work(ends, *([_lift(dropped, kept)] * polys))
