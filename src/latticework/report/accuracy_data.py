"""What a report on accuracy says, as plain data; how it looks is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

FLOAT, APPROXIMATED, SIMULATED, ENCRYPTED = "float", "approximated", "simulated", "encrypted"


@dataclass(frozen=True, slots=True)
class LineOff:
    """The first line of the program after which results cannot be as precise as was asked.

    where, text   the line;  name  of the value that it makes, or the operation
    error         largest difference of an element of that value from the program itself
    moves         how far a result is moved when everything after this value is exact
    allowed       how far the precision asked for lets it be moved: 2^-precision_bits of the largest
    row           of the data, or the first row of the run, in which that was seen
    """

    where: str
    text: str
    name: str
    error: float
    moves: float
    allowed: float
    row: int


@dataclass(frozen=True, slots=True)
class AccuracyColumn:
    """One way to compute the program.

    name         "float": the program itself; "approximated": its functions as polynomials; "simulated": that with
                 noise as modelled; "encrypted": a client and a server
    rows         numbers of the rows of the data that were computed
    score        against labels of these rows; None without labels, or where R^2 is not defined
    float_score  of the program itself, on the same rows
    agreement    share of decisions that are those of the column before, on the rows that both have; None of the first
    differing    numbers of rows of which a decision is another one than in the column before
    error        largest difference of a number of the outputs from the program itself;  relative  to the largest
                 output in calibration
    first_off    None if results are as precise as was asked
    results      of every output, (rows, ...), or with its rows along the batch axis; read-only, in no file
    """

    name: str
    rows: tuple[int, ...]
    score: float | None
    float_score: float | None
    agreement: float | None
    differing: tuple[int, ...]
    error: float
    relative: float
    first_off: LineOff | None
    results: tuple[npt.NDArray[Any], ...] = field(default=(), repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class UnlikeData:
    """Rows that are unlike the data of calibration.

    kind  "refused": clients do not encrypt them; "not finite": the program itself has no finite result; "argument": a
          function's argument leaves the interval on which its polynomial is close; "constant" and "varies": columns
          that hold one value here and not in calibration, or the other way round; "overflow": the simulation finds a
          value that its modulus cannot hold
    rows  their numbers, from 0
    said  in words
    """

    kind: str
    rows: tuple[int, ...]
    said: str


@dataclass(frozen=True)
class AccuracyContents:
    """How accurate a compiled program is on data, and where it loses.

    rows       of the data;  unit  what a row is: "row" of inputs that hold any number, or "run" of the program
    measure    "accuracy" or "R^2"; None without labels
    decision   what is compared between columns, in words
    tolerance  within which numbers agree; None where decisions are compared
    columns    in the order float, approximated, simulated, encrypted; only those that have rows
    unlike     rows that are unlike calibration
    seed       of the simulated noise
    """

    name: str
    precision_bits: float
    rows: int
    unit: str
    measure: str | None
    decision: str
    tolerance: float | None
    columns: tuple[AccuracyColumn, ...]
    unlike: tuple[UnlikeData, ...]
    seed: int

    @property
    def refused(self) -> tuple[int, ...]:
        """Numbers of the rows that are in no column but perhaps the first."""
        kinds = ("refused", "not finite")
        return tuple(sorted({row for each in self.unlike if each.kind in kinds for row in each.rows}))
