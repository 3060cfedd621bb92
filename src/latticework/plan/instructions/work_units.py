"""The work of one operation, in units that a cost table prices.

A unit is one kernel on one row of N residues (`matrix_mac`: a product of a part of a row of a list and a part of a
number of a matrix), except `fft` (one transform of N/2 slots), `key_row` (a row of a key that was read before, both
halves, read from its file again) and two that are bytes: `read_byte`, read from a file, and `fresh_byte`, got from the
system and touched for the first time. Counts follow the core's algorithms: a lift of k limbs to t is k sources, k*t
terms and t reductions (priced like a pointwise product); an inner product is its terms and one reduction a row.

What only one instruction does stands with its record; here is what several consist of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from latticework.lazy_dataclass import dataclass

UNITS = (
    "ntt", "lift_source", "lift_term", "key_mac", "plain_mac",
    "pointwise", "automorphism", "fft", "expand", "matrix_mac", "key_row", "read_byte", "fresh_byte",
)  # fmt: skip
Work = dict[str, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes that the price of one operation depends on.

    q_limbs, p_limbs  limbs of the operand that take part
    digit_limbs       Q limbs of each key-switching digit in use
    target            Q limbs of the result, where an operation drops some
    polys             polynomials of the operand (degree + 1)
    slots             length of the vector that is encoded
    keys, sums, terms rotated copies, results and products of `diag_sums`
    b_limbs           limbs of the auxiliary basis that a product of BFV is computed in
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


@dataclass(frozen=True, slots=True)
class Part:
    """A number of equal operations.

    operation  as cost tables call it;  number  of ciphertexts that it is done to
    once       only in the first run: its result is kept
    """

    operation: str
    shape: Shape
    number: int
    once: bool = False


Works = Mapping[str, Callable[[Shape], Work]]  # operation, as cost tables call it -> its units
NO_WORK: Works = {}


def add_work(*parts: Work) -> Work:
    """Add several counts up."""
    total: dict[str, float] = defaultdict(float)
    for part in parts:
        for unit, count in part.items():
            total[unit] += count
    return dict(total)


def pointwise(shape: Shape) -> Work:
    """Return the work of one kernel on every row of the operand."""
    return {"pointwise": shape.polys * shape.rows}


def lift(sources: float, targets: float) -> Work:
    """One polynomial brought from some limbs to others."""
    return {"lift_source": sources, "lift_term": sources * targets, "pointwise": targets}


def decompose(shape: Shape) -> Work:
    """Return the work of a digit decomposition: to coefficients, and every digit to the limbs outside itself, those
    before and those after in two base conversions."""
    total: Work = {"ntt": shape.q_limbs}
    before = shape.p_limbs
    for limbs in shape.digit_limbs:
        after = shape.rows - before - limbs
        parts = [lift(limbs, count) for count in (before, after) if count]
        total = add_work(total, {"ntt": before + after}, *parts)
        before += limbs
    return total


def multiply_by_key(shape: Shape) -> Work:
    """Two inner products, P times the polynomials that are not switched, and for a rotation the automorphism."""
    rows, unswitched = shape.rows, shape.polys - 1
    total: Work = {"key_mac": 2 * rows * len(shape.digit_limbs), "pointwise": 2 * rows + 2 * unswitched * shape.q_limbs}
    return total if shape.polys == 3 else add_work(total, {"automorphism": 2 * rows})


def divide(shape: Shape) -> Work:
    """Return the work of dividing all polynomials by the limbs that go."""
    dropped = shape.rows - shape.kept
    if dropped == 0:
        return {}
    polys, remaining = shape.polys, shape.kept
    ends: Work = {"ntt": polys * (dropped + remaining), "pointwise": polys * remaining}
    return add_work(ends, *([lift(dropped, remaining)] * polys))
