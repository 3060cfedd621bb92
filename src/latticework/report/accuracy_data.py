"""Data of a report on accuracy, as plain records; how it looks is decided elsewhere."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any

import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.report.blocks import Cell
from latticework.report.figure_labels import Column, Within, number
from latticework.report.quantities import count, percent_text, power_of_two, small

FLOAT, APPROXIMATED, SIMULATED, ENCRYPTED = "float", "approximated", "simulated", "encrypted"
_MEANINGS = {
    FLOAT: "the program itself",
    APPROXIMATED: "its functions as polynomials, no noise",
    SIMULATED: "with noise as modelled",
    ENCRYPTED: "a client and a server",
}


def meaning(name: str) -> tuple[tuple[str, str, str], ...]:
    """The explanation below the name of a column."""
    return (("", _MEANINGS[name], "soft"),) if name in _MEANINGS else ()


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
    error        largest difference of a number of the outputs, as they are decrypted, from the program itself;
                 relative  to the largest output in calibration
    first_off    None if results are as precise as was asked
    results      as the owner gets them, one array each: (rows, ...), or with rows along the batch axis; read-only, and
                 in no file
    """

    name: Annotated[str, Column("column", lambda name: Cell(name, asides=meaning(name)))]
    rows: Annotated[tuple[int, ...], number("rows", lambda rows: count(len(rows)))]
    score: Annotated[float | None, number("score")]
    float_score: Annotated[float | None, number("float")]
    agreement: Annotated[float | None, number("agrees", lambda part: "" if part is None else percent_text(part))]
    differing: Annotated[tuple[int, ...], Within("the sentences below")]
    error: Annotated[float, number("largest error", small)]
    relative: Annotated[float, number("of the largest", power_of_two)]
    first_off: Annotated[LineOff | None, Within("the section below")]
    results: Annotated[tuple[npt.NDArray[Any], ...], Within("no form: they may be large")] = field(
        default=(), repr=False, compare=False
    )


@dataclass(frozen=True, slots=True)
class DegreeStep:
    """Cost and gain of a polynomial of more terms: of the highest degree for as many levels, or for one more.

    degree     of it;  max_error  its largest distance from the function on the interval
    levels, products  more than now;  seconds  predicted, that a run takes more on one thread
    larger_ring  whether the levels do not fit the ring that the program has; None: the parameters are insecure anyhow
    """

    degree: int
    max_error: float
    levels: int
    products: int
    seconds: float
    larger_ring: bool | None


@dataclass(frozen=True, slots=True)
class FunctionAccuracy:
    """A function that is a polynomial.

    low, high      between which its arguments lie, in the program itself
    interval       on which the polynomial is close to it
    counts         of arguments in equal parts of the interval; those outside are in the first and the last
    outside        rows in which an argument leaves the interval
    may_leave      whether accepted inputs may do that;  leaving  the estimated share of inputs like those of
                   calibration that do, in any channel that has a polynomial of its own; None: not known
    degree         of the polynomial, or of each in a composition;  given  by the user
    max_error      largest distance from the function on the interval;  reached_error  of the arguments in these data
    effect         how far results are moved by this polynomial alone, all other functions exact, to the largest output
                   in calibration;  share  of the sum of all functions' and the noise's
    step           None where no higher degree is looked at
    """

    function: str
    low: float
    high: float
    interval: tuple[float, float]
    counts: tuple[int, ...]
    outside: int
    may_leave: bool
    leaving: float | None
    degree: tuple[int, ...]
    given: bool
    max_error: float
    reached_error: float
    effect: float
    share: float
    step: DegreeStep | None


@dataclass(frozen=True, slots=True)
class AccuracyLine:
    """A value of the program that can be looked at, and the function that made it, if one did.

    where, text  its line;  name  of the value, or the operation
    low, high    between which its elements lie, in the program itself on these data
    calibrated   the largest magnitude in calibration; None if that is not known
    errors       largest difference from the program itself in the columns approximated, simulated and encrypted; None
                 where it is not seen
    """

    where: str
    text: str
    name: str
    low: float
    high: float
    calibrated: float | None
    errors: tuple[float | None, float | None, float | None]
    function: FunctionAccuracy | None


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
    """Accuracy of a compiled program on data, and where it loses.

    rows       of the data;  unit  what a row is: "row" of inputs that hold any number, or "run" of the program
    measure    "accuracy" or "R^2"; None without labels
    decision   what is compared between columns, in words
    tolerance  within which numbers agree; None where decisions are compared
    columns    in the order float, approximated, simulated, encrypted; only those that have rows
    lines      values in program order;  noise_effect, noise_share  of encryption, as of a function
    effect_runs  runs that effects of functions were looked for in
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
    lines: tuple[AccuracyLine, ...]
    noise_effect: float
    noise_share: float
    effect_runs: int
    unlike: tuple[UnlikeData, ...]
    seed: int

    @property
    def refused(self) -> tuple[int, ...]:
        """Numbers of the rows that are in no column but perhaps the first."""
        kinds = ("refused", "not finite")
        return tuple(sorted({row for each in self.unlike if each.kind in kinds for row in each.rows}))
