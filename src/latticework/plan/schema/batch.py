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
