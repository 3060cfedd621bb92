"""`lw.set_intersection`: the elements of a client's set that are in a server's."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from latticework.errors import LayoutError, RangeError, ShapeError, UserError
from latticework.frontend.programs.array_program import Program
from latticework.frontend.queries.server_numbers import read_whole
from latticework.frontend.queries.slot_program import IntArray, SlotCode, SlotProgram, SlotSum
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.plan.client_steps.set_queries import CommonElements, NumCommon, SetQuery
from latticework.plan.client_steps.stages import Finished, Given, OwnerStages, Piece, Prepared
from latticework.values.centred_residues import MAX_MODULUS_BITS, centre, mul_mod
from latticework.values.packing.cuckoo_tables import TABLES, bins_of, log2_of_failure
from latticework.values.packing.number_hashes import hash_numbers

NAME = "set_intersection"
LEAST_PLAIN_BITS = 20
MAX_BITS = MAX_MODULUS_BITS - 3
MAX_SIZE = 1 << 16
MAX_DEGREE = 256
LOG2_FAILURE = -40.0  # of finding bins for a client's set


def set_intersection(elements: Any, size: int, *, bits: int = 32, only_size: bool = False) -> Program:
    """A program that tells which elements of a client's set are in a server's, exactly.

    `lw.compile(lw.set_intersection(elements, size), scheme="bfv")` makes a model. `client.encrypt(ids)` takes up to
    `size` integers; `client.decrypt(...).reveal()` are those that both sets have, ascending. There are no evaluation
    keys: `model.server()` answers any client.

    elements   the server's: integers from 0 to 2^bits - 1, each counts once
    size       elements that a client gives at most, up to 2^16
    bits       of an element, up to 46
    only_size  answer with the number of common elements instead; a client who looks further still sees which they are
    cost       for 1,000 against 10,000 elements of 32 bits 20 ciphertexts of 100 KB are sent, 2 of 200 KB come back.
               The client sends as many as the fullest bin of the server has elements. More than 256 take the next
               larger ring, where there is one; `model.costs()` predicts time and bytes

    The answer is exact: elements lie in bins (cuckoo hashing), and the server computes in each bin the polynomial whose
    roots are its own elements there, modulo a prime above 2^(bits + 1): at an element of the client it is 0 if and only
    if both sets have it. For a set chosen without a look at the hashes, the bins do not suffice with a probability
    below 2^-40 (a union bound over Hall's condition), and then the client refuses before encryption.

    Texts are for the user to hash: among n and m of them some hashes coincide with a probability below n m / 2^bits.

    The server sees ciphertexts alone, in a number that depends on `size`; a client's set may be smaller, unseen. The
    client learns how full the fullest bin is, and what `reveal` shows. A client who looks further learns more: each
    polynomial is times a random number that is made of the server's set, so that its value at one other element tells
    nothing, but values at two elements of a bin, over several queries, tell their ratio; and the noise of answers is
    not hidden. It can ask for any element that it guesses. Both sides are taken to follow the program.

    raises     DtypeError, RangeError or ShapeError for elements that are none, or empty sets; LayoutError at
               compilation for too many. At the client RangeError before encryption: too many, negative, too large, or
               fractions
    source     Chen, Laine and Rindal, CCS 2017, without its products of ciphertexts
    """
    at = user_loc()
    for name, value, most in (("size", size, MAX_SIZE), ("bits", bits, MAX_BITS)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
            raise RangeError(f"{NAME}: {name}={value!r}; give a whole number from 1 to {most}", at=at)
    if not isinstance(only_size, bool | np.bool_):
        raise UserError(f"{NAME}: only_size={only_size!r}; give True or False", at=at)
    read = read_whole(
        list(elements) if isinstance(elements, set | frozenset) else elements, f"{NAME}: the elements", int(bits), at
    )
    if read.ndim != 1 or not read.size:
        raise ShapeError(f"{NAME}: elements of shape {read.shape}; give one or more, in one list", at=at)
    return SetIntersection(np.unique(read), int(size), int(bits), bool(only_size), at)


class SetIntersection(SlotProgram):
    """An intersection with a set of elements, ascending."""

    def __init__(self, elements: IntArray, size: int, bits: int, only_size: bool, at: Loc) -> None:
        super().__init__(NAME, "elements", (size,), at)
        self.elements, self.size, self.bits, self.only_size = elements, size, bits, only_size
        self.plain_bits = max(LEAST_PLAIN_BITS, bits + 2)

    def answer(self, given: Any) -> Any:
        """The elements of both sets, or their number."""
        asked = np.unique(read_whole(given, f"{NAME}: the elements", self.bits, self.loc))
        if len(asked) > self.size:
            raise RangeError(f"{NAME}: {len(asked)} elements, of at most {self.size}", at=self.loc)
        common = np.intersect1d(asked, self.elements)
        return np.int64(len(common)) if self.only_size else common

    def code(self, slots: int, modulus: int) -> SlotCode:
        """Each bin's polynomial from the powers of what the client has there; and that itself, to read elements by."""
        blocks = max(1, self.size // slots)
        while log2_of_failure(self.size, blocks * slots // TABLES) > LOG2_FAILURE:
            blocks += 1
        width = blocks * slots // TABLES
        polynomials = self._polynomials(width, blocks * slots, modulus)
        polynomials = mul_mod(polynomials, self._masks(blocks * slots, modulus), modulus).reshape(-1, blocks, slots)
        degree = len(polynomials) - 1
        sums = []
        for block in range(blocks):
            powers = [power for power in range(1, degree + 1) if polynomials[power, block].any()] or [1]
            vectors = tuple((power - 1) * blocks + block for power in powers)
            sums.append(SlotSum(vectors, polynomials[powers, block], polynomials[0, block]))
        query = SetQuery(self.size, self.bits, width, blocks, slots, degree, modulus)
        if not self.only_size:
            sums = [*(SlotSum((block,)) for block in range(blocks)), *sums]
        step = NumCommon() if self.only_size else CommonElements(blocks)
        stages = OwnerStages(
            (Given("elements", (self.size,)),),
            (Prepared(self.QUERY, (Piece("elements", (query,)),)),),
            (Finished("result", self.ANSWER, (step,)),),
        )
        half = modulus // 2
        return SlotCode(degree * blocks, slots, -half, half, tuple(sums), stages)

    def _masks(self, places: int, modulus: int) -> IntArray:
        """A number for each bin, never 0, that nobody knows who does not know the set; the same at each compilation."""
        key = blake2b(self.elements.astype("<i8").tobytes(), digest_size=32).digest()
        return centre(hash_numbers(range(places), 1, key)[:, 0] % (modulus - 1) + 1, modulus)

    def _polynomials(self, width: int, places: int, modulus: int) -> IntArray:
        """Coefficients of each bin's polynomial, from the constant on, (degree + 1, places); 1 where a bin is empty."""
        bins = bins_of(self.elements, width).reshape(-1)
        order = np.argsort(bins, kind="stable")
        bins, roots = bins[order], np.repeat(self.elements, TABLES)[order]
        rank = np.arange(len(bins)) - np.searchsorted(bins, bins)  # which element of its bin each is
        degree = int(rank.max()) + 1
        if degree > MAX_DEGREE:
            raise LayoutError(
                f"{NAME}: {len(self.elements)} elements fill a bin with {degree}, of at most {MAX_DEGREE}; split them "
                f"into {-(-degree // MAX_DEGREE) + 1} programs, or ask for a larger size, which has more bins",
                at=self.loc,
            )
        made = np.zeros((degree + 1, places), dtype=np.int64)
        made[0] = 1
        for number in range(degree):
            at, root = bins[rank == number], roots[rank == number]
            before = made[: number + 2, at]
            times_x = np.concatenate([np.zeros((1, len(at)), dtype=np.int64), before[:-1]])
            after = times_x - mul_mod(before, root, modulus)
            made[: number + 2, at] = centre(after, modulus)
        return made
