"""`lw.private_lookup`: rows of a server's table, by an encrypted number or key."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from latticework.errors import LayoutError, RangeError, ShapeError
from latticework.frontend.programs.array_program import Program
from latticework.frontend.queries.server_numbers import read_whole
from latticework.frontend.queries.slot_program import IntArray, SlotCode, SlotProgram, SlotSum
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.plan.client_steps.row_queries import (
    MAX_KEY_BITS,
    MAX_NUMBER_BITS,
    IsKeyFound,
    KeyQuery,
    RowQuery,
    TableRow,
)
from latticework.plan.client_steps.stages import Finished, Given, OwnerStages, Piece, Prepared
from latticework.plan.client_steps.step_arrays import OwnerArray
from latticework.values.packing.perfect_hash import find_perfect_hash

NAME = "private_lookup"
DIGIT_BITS = 18  # of numbers and keys; a modulus of 20 bits holds them and their differences
FREE = 8  # one place in so many stays free, so that a perfect hash is found at once
MAX_PLACES = 1 << 24  # numbers of the table in slots


def private_lookup(table: Any, *, keys: Any = None) -> Program:
    """A program that answers with one row of a table, exactly, where the server does not learn which.

    `lw.compile(lw.private_lookup(table), scheme="bfv")` makes a model. `client.encrypt(index)` takes a plain integer,
    or a list of them for several look-ups; `client.decrypt(...).reveal()` is the row, int64. There are no evaluation
    keys: `model.server()` answers any client.

    table    (rows, ...) integers from 0 to 2^62 - 1, rows of any shape: index 3 asks for table[3]. Or a dictionary of
             such rows by key: a key then asks for its row
    keys     of the rows of an array, in the place of a dictionary: different integers from 0 to 2^52 - 1
    returns  with keys the answer is a dictionary: "found" says whether the table has the key, and "row" is its row, or
             -1 everywhere
    cost     a ciphertext of 36 KB sent for each 2,048 rows, and one of 72 KB back for each number of a row, and of its
             key (18 bits each, larger ones take several). Tables of more than 2^24 such numbers are refused

    The server sees ciphertexts, and how many look-ups there are. The client learns the number of rows and the shape of
    one, and of tables with keys a hash that was chosen for them: an absent key gets no row, but what it decrypts tells
    some other row. The table is not hidden from a client who keeps secret keys and looks at the noise of answers.

    raises   DtypeError, RangeError or ShapeError for tables and keys that are none, or empty. At the client RangeError,
             before encryption, for an index beyond the rows, fractions, and keys that are negative or have more bits
             than any of the table's
    source   one-hot queries of linear private information retrieval; keys by hash and displace
    """
    at = user_loc()
    if isinstance(table, Mapping):
        if keys is not None:
            raise ShapeError(f"{NAME}: keys= is given, and the table is a dictionary, which has keys", at=at)
        table, keys = list(table.values()), list(table)
    rows = read_whole(table, f"{NAME}: the table", MAX_NUMBER_BITS, at)
    if not rows.ndim or not rows.size:
        raise ShapeError(f"{NAME}: a table of shape {rows.shape}; give one row at least, of one number", at=at)
    if keys is None:
        return RowLookup(rows, at)
    return KeyLookup(rows, _read_keys(keys, len(rows), at), at)


def _read_keys(keys: Any, rows: int, at: Loc) -> IntArray:
    read = read_whole(keys, f"{NAME}: the keys", MAX_KEY_BITS, at)
    if read.shape != (rows,):
        raise ShapeError(f"{NAME}: keys of shape {read.shape} for {rows} rows; give one for each", at=at)
    different, counts = np.unique(read, return_counts=True)
    if len(different) < rows:
        twice = different[counts > 1][0]
        raise RangeError(f"{NAME}: key {twice} has {counts.max()} rows; give every key once", at=at)
    return read


class RowLookup(SlotProgram):
    """A look-up of rows by their numbers."""

    plain_bits = DIGIT_BITS + 2

    def __init__(self, rows: IntArray, at: Loc, given: str = "index") -> None:
        super().__init__(NAME, given, (), at)
        self.rows, self.row_shape = rows, rows.shape[1:]
        self.digits = _num_digits(rows)

    def answer(self, given: Any) -> Any:
        """The row of a number, or those of several."""
        numbers = read_whole(given, f"{NAME}: the index", MAX_KEY_BITS, self.loc)
        if (numbers >= len(self.rows)).any():
            raise RangeError(f"{NAME}: row {numbers.max()} of a table of {len(self.rows)}", at=self.loc)
        return self.rows[numbers]

    def code(self, slots: int, modulus: int) -> SlotCode:
        """Each digit of each number of a row is a vector of the result, of which one slot is not 0."""
        vectors = -(-len(self.rows) // slots)
        columns = self.lay_rows(np.arange(len(self.rows)), vectors, slots)
        sums = tuple(SlotSum(tuple(range(vectors)), column) for column in columns)
        query = RowQuery(len(self.rows), vectors, slots)
        stages = self.stages_around(query, Finished("result", self.ANSWER, (self.row_step(),)))
        return SlotCode(vectors, slots, 0, 1, sums, stages)

    def row_step(self, key_digits: int = 0) -> TableRow:
        """The owner's step that makes a row of digits."""
        return TableRow(self.row_shape, self.digits, DIGIT_BITS, key_digits)

    def stages_around(self, query: RowQuery | KeyQuery, *finished: Finished) -> OwnerStages:
        """The owner's steps around a query."""
        (parameter,) = self.parameters
        prepared = Prepared(self.QUERY, (Piece(parameter.name, (query,)),))
        return OwnerStages((Given(parameter.name, ()),), (prepared,), finished)

    def lay_rows(self, places: IntArray, vectors: int, slots: int) -> IntArray:
        """Digits of the rows at their places, (digits, vectors, slots), 0 where there is no row.

        raises  LayoutError for more than fit
        """
        numbers = self.rows.reshape(len(self.rows), -1)
        count = numbers.shape[1] * self.digits
        if count * vectors * slots > MAX_PLACES:
            raise LayoutError(
                f"{NAME}: {len(self.rows)} rows of {prod(self.row_shape)} numbers take {count} x {vectors * slots} "
                f"slots; at most {MAX_PLACES} are possible: split the table, by rows or by columns",
                at=self.loc,
            )
        return _lay_out(numbers, self.digits, places, vectors, slots)


class KeyLookup(RowLookup):
    """A look-up of rows by keys: each lies at the place of its key's hash, with the key beside it."""

    def __init__(self, rows: IntArray, keys: IntArray, at: Loc) -> None:
        super().__init__(rows, at, "key")
        self.keys, self.key_digits = keys, _num_digits(keys)

    def answer(self, given: Any) -> Any:
        """Whether the table has a key, and its row; or of several keys."""
        keys = read_whole(given, f"{NAME}: the key", MAX_KEY_BITS, self.loc)
        order = np.argsort(self.keys)
        near = order[np.searchsorted(self.keys, keys, sorter=order).clip(max=len(order) - 1)]
        found = np.asarray(self.keys[near] == keys)
        rows = np.where(found.reshape(found.shape + (1,) * len(self.row_shape)), self.rows[near], -1)
        return {"found": found, "row": rows}

    def code(self, slots: int, modulus: int) -> SlotCode:
        """The digits of the key at the place, less those asked for; then those of its row."""
        vectors = -(-(len(self.keys) + len(self.keys) // FREE) // slots)
        hashed = find_perfect_hash(self.keys, vectors * slots)
        places = hashed.places_of(self.keys)
        columns = self.lay_rows(places, vectors, slots)
        stored = _lay_out(self.keys[:, None], self.key_digits, places, vectors, slots)
        stored[0].reshape(-1)[np.setdiff1d(np.arange(vectors * slots), places)] = -1  # a digit of no key
        number = tuple(range(vectors))
        less = np.full((1, slots), -1)
        compared = [
            SlotSum((*number, vectors + digit), np.concatenate([column, less])) for digit, column in enumerate(stored)
        ]
        query = KeyQuery(vectors, slots, hashed.salt, OwnerArray.of(hashed.shifts), self.key_digits, DIGIT_BITS)
        stages = self.stages_around(
            query,
            Finished("found", self.ANSWER, (IsKeyFound(self.key_digits),)),
            Finished("row", self.ANSWER, (self.row_step(self.key_digits),)),
        )
        sums = (*compared, *(SlotSum(number, column) for column in columns))
        return SlotCode(vectors + self.key_digits, slots, 0, (1 << DIGIT_BITS) - 1, sums, stages)


def _num_digits(numbers: IntArray) -> int:
    return max(1, -(-int(numbers.max()).bit_length() // DIGIT_BITS))


def _lay_out(numbers: IntArray, digits: int, places: IntArray, vectors: int, slots: int) -> IntArray:
    """The digits of rows of numbers, units first, at the rows' places: (numbers * digits, vectors, slots)."""
    split = numbers[..., None] >> (DIGIT_BITS * np.arange(digits)) & (1 << DIGIT_BITS) - 1
    made = np.zeros((numbers.shape[1] * digits, vectors * slots), dtype=np.int64)
    made[:, places] = split.reshape(len(numbers), -1).T
    return made.reshape(-1, vectors, slots)
