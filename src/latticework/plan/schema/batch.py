"""Inputs that hold rows which a program computes alike and apart from each other: there may be any number of them."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """The batch axis of a program.

    rows        of one run; 0 if there is no such axis
    inputs      whose first axis it is
    axes        of every output, which of its axes it is
    mixed       other inputs, and what brings together the rows that they might hold
    calibrated  rows that calibration had, where they were fewer than `rows` and were used repeatedly; else 0
    """

    rows: int = 0
    inputs: tuple[str, ...] = ()
    axes: tuple[int, ...] = ()
    mixed: tuple[tuple[str, str], ...] = ()
    calibrated: int = 0

    def reason(self, name: str) -> str:
        """Say why an input cannot have any number of rows; "" where it can."""
        return dict(self.mixed).get(name, "")

    def runs(self, rows: int) -> int:
        """Return the number of runs that `rows` rows take."""
        return -(-rows // self.rows)


@dataclass(frozen=True, slots=True)
class RowsWay:
    """A way to compute rows of a batch in one run.

    slots     of one row in a vector: of 1, a ciphertext holds one number of every row, and products with public
              matrices take no rotations
    rows      of a run;  ring_degree: N;  0 where nothing was planned
    num_keys  evaluation keys, and their bytes as stored
    sent_bytes, returned_bytes  of a run
    seconds   predicted of a later run
    refused   why there is no plan; "": there is one, or it was far behind
    behind    how many times as long as another it takes, with its sending, by its layouts: too long to be planned
    """

    slots: int
    rows: int = 0
    ring_degree: int = 0
    num_keys: int = 0
    key_bytes: int = 0
    sent_bytes: int = 0
    returned_bytes: int = 0
    seconds: float = 0.0
    refused: str = ""
    behind: float = 0.0
    chosen: bool = False

    @property
    def is_planned(self) -> bool:
        """Whether its figures are those of a plan."""
        return self.ring_degree > 0


@dataclass(frozen=True, slots=True)
class RowsChoice:
    """The choice among ways to compute rows of a batch.

    objective  of `lw.compile`;  bits_a_second: of the network between client and server
    """

    objective: str
    bits_a_second: float
    ways: tuple[RowsWay, ...]
