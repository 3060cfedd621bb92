"""The user's choice of how trees are computed, alike for every importer."""

from __future__ import annotations

from typing import Any, Literal

from latticework.errors import UserError
from latticework.errors.remedies import CALIBRATE_APART
from latticework.lazy_dataclass import dataclass

Ways = Literal["sign", "exact"]
MAX_DIGITS = 24
UNCHOSEN = "trees compare, and there are two ways to"
CHOOSE = (
    'choose trees="sign", samples=rows (approximate; rows like those of training), and compile the program with '
    f'{CALIBRATE_APART}, precision_bits=8; or, of trees alone, trees="exact", samples=rows (on digits), and compile '
    'the circuit with scheme="bfv" to encrypt circuit.encoded(rows)'
)
NO_TREES_ALONE = 'trees="exact" takes trees alone, and here steps are around them'
TAKE_SIGNS = f'choose trees="sign" and compile with {CALIBRATE_APART}'
UNSEEN = "how far features keep from thresholds is not known"
NO_SAMPLES = "the range of its features is not known"
GIVE_SAMPLES = "give samples=, rows like those of training"
GIVE_APART = f"{GIVE_SAMPLES}; then compile with {CALIBRATE_APART}"


@dataclass(frozen=True)
class TreeChoice:
    """The options of an importer that are about trees.

    importer  the function that is given them, for messages
    trees     "sign": composite signs, approximately; "exact": a circuit on digits of features; None: not said
    gap       of signs, as a part of the range of a feature; as far as all samples keep from thresholds if not given
    mark      of signs, whether results of rows that come closer are marked
    digits    binary ones of each feature, of exact trees
    """

    importer: str
    trees: Any = None
    gap: Any = None
    mark: Any = True
    digits: Any = 8

    def __post_init__(self) -> None:
        if self.trees not in (None, "sign", "exact"):
            raise UserError(f'{self.importer}: trees={self.trees!r}; give "sign" or "exact"')
        if self.gap is not None and not (isinstance(self.gap, int | float) and 0 < self.gap < 1):
            raise UserError(f"{self.importer}: gap={self.gap!r}; give a part of the range of features, such as 2**-10")
        if not isinstance(self.digits, int) or isinstance(self.digits, bool) or not 1 <= self.digits <= MAX_DIGITS:
            raise UserError(f"{self.importer}: digits={self.digits!r}; give 1 to {MAX_DIGITS}")
        if not isinstance(self.mark, bool) or (not self.mark and self.trees != "sign"):
            raise UserError(f'{self.importer}: mark={self.mark!r}; give True, or of trees="sign" False')
