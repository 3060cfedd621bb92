"""Record of the rows that a client clipped before it encrypted them; it stays with the client.

Ciphertexts of clipped rows carry a random number, whether or not any value was changed, and results of them do too: so
much the server learns. What the number stands for is in the client's memory, and beside its secret key where that is in
a folder. Results whose record is not found are marked in all rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from latticework.errors import FormatError
from latticework.errors.shown import count_noun, describe
from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core

ID_BYTES = 16
MAX_IDS = 4096  # of one ciphertext file, which results of many parts may have
FOLDER = "clipped"  # beside the secret key
_KIND = "rows that were clipped before encryption"
_SHOWN = 8


@dataclass(frozen=True)
class ClippedRows:
    """The record of one encryption of clipped rows.

    number   at random, which ciphertexts and results carry
    count    how many rows or runs were encrypted
    clipped  which of them were changed, counted from 0; None: one run, or what all share, was
    """

    number: bytes
    count: int
    clipped: tuple[int, ...] | None

    @classmethod
    def of(cls, count: int, clipped: Iterable[int] | None) -> ClippedRows:
        """Make a record with a new random number."""
        return cls(os.urandom(ID_BYTES), count, None if clipped is None else tuple(sorted(clipped)))

    def save(self, path: str | Path) -> None:
        """Write it for the client alone: it tells something of the data."""
        told = {"kind": _KIND, "number": self.number.hex(), "count": self.count, "clipped": self.clipped}
        _core.write_file_atomic(str(path), (json.dumps(told) + "\n").encode(), 0o600)

    @classmethod
    def load(cls, path: str | Path) -> ClippedRows:
        """Read it; FormatError for what is none."""
        try:
            told = json.loads(Path(path).read_bytes())
            return cls._of_data(told)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FormatError(
                f"{path} is no record of clipped rows; give the file that encrypting them wrote"
            ) from None

    @classmethod
    def _of_data(cls, told: Any) -> ClippedRows:
        number, count, clipped = bytes.fromhex(told["number"]), told["count"], told["clipped"]
        rows = [] if clipped is None else clipped
        fits = type(count) is int and count >= 1 and all(type(n) is int and 0 <= n < count for n in rows)
        if told["kind"] != _KIND or len(number) != ID_BYTES or not fits:
            raise ValueError("of another kind")
        return cls(number, count, None if clipped is None else tuple(clipped))

    def __repr__(self) -> str:
        changed = "what all share" if self.clipped is None else count_noun(len(self.clipped), "row")
        return describe("ClippedRows", f"{changed} clipped of {self.count}")


class ClippedRecords:
    """Those that a client has, in memory and in a folder."""

    def __init__(self) -> None:
        self._known: dict[bytes, ClippedRows] = {}
        self._folder: Path | None = None

    def lie_beside(self, key: Path) -> None:
        """Keep them beside this secret key file too, from now on."""
        self._folder = key.parent / FOLDER

    def lie_nowhere(self) -> None:
        """Keep those to come in memory alone."""
        self._folder = None

    @property
    def are_kept(self) -> bool:
        """Whether they outlast the process."""
        return self._folder is not None

    def note(self, rows: ClippedRows, *, keep: bool = True) -> None:
        """Remember one, in the folder too where there is one and it was changed by this client."""
        if keep and self._folder is not None and rows.number not in self._known:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            rows.save(self._path(self._folder, rows.number))
        self._known[rows.number] = rows

    def find(self, numbers: Iterable[bytes]) -> Iterator[ClippedRows | None]:
        """The record of each number, None where there is none; FormatError for a damaged one."""
        for number in numbers:
            path = None if self._folder is None else self._path(self._folder, number)
            if number not in self._known and path is not None and path.is_file():
                found = ClippedRows.load(path)
                if found.number != number:
                    raise FormatError(f"{path} is the record of other rows; the file was exchanged")
                self._known[number] = found
            yield self._known.get(number)

    @staticmethod
    def _path(folder: Path, number: bytes) -> Path:
        return folder / f"{number.hex()}.json"


@dataclass(frozen=True)
class Doubted:
    """Rows of a result that are of other numbers than were given, or may be.

    rows    which, counted from 0; None: all
    reason  for whoever reads the result
    """

    rows: tuple[int, ...] | None
    reason: str


def doubted_rows(records: ClippedRecords, numbers: Iterable[bytes], count: int | None) -> Doubted | None:
    """Find the doubted rows of a result of `count` rows or runs (None: one run); None where nothing was clipped."""
    found = list(records.find(numbers))
    if not found:
        return None
    if any(each is None or each.count not in (1, count or 1) for each in found):
        return Doubted(
            None,
            "rows of it may have been CLIPPED before encryption, and the record of which is not here: results of such "
            "rows are of other numbers than were given",
        )
    known = [each for each in found if each is not None]
    if any(each.clipped is None or (each.clipped and each.count != (count or 1)) for each in known):
        return Doubted(
            None, "inputs of all of it were CLIPPED before encryption: it is of other numbers than were given"
        )
    rows = sorted({row for each in known for row in each.clipped or ()})
    if not rows:
        return None
    listed = ", ".join(map(str, rows[:_SHOWN])) + (f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else "")
    noun, verb = ("row", "was") if len(rows) == 1 else ("rows", "were")
    return Doubted(
        tuple(rows), f"{noun} {listed} {verb} CLIPPED before encryption: results there are of other numbers than given"
    )
