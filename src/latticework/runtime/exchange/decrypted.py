"""Decrypted values, for the key owner's eyes only.

A raw CKKS decryption carries noise from which its key can be computed (Li and
Micciancio, Eurocrypt 2021), so a decrypted value must not leave its owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from latticework.errors import SecretKeyError
from latticework.errors.shown import describe
from latticework.plan.schema.conditions import (
    UNLIKE,
    Condition,
    condition_words,
    merge_conditions,
    uncertain_conditions,
)

_WARNING = (
    "a decrypted value is hidden: .reveal() gives the array to the owner of the secret key. It must not leave its "
    "owner, because its noise reveals the key; pass on only what you decide from it"
)
TOO_LARGE = "LARGER THAN THE PROGRAM WAS MADE FOR, or beside a result that is; may be wrong"


class OwnerValue:
    """A decrypted tensor. It shows itself only through `reveal`, and refuses to be pickled or converted silently.

    shape        of the tensor
    error_bound  bound on the error of an element, against the program with its functions exact: noise by the noise
                 model, and the errors of polynomials in place of functions. Infinite where the value, or one beside
                 it, is larger than what the program was made for: then no bound is known, and it may be wrong. 0 for
                 BFV, whose values are exact integers (int64), and infinite where these may have wrapped around
    is_proved    whether the bound holds for every input that the client accepts. If not, it holds for those for which
                 `conditions` hold, and a result of other inputs may be wrong without being marked
    is_followed  whether intervals of all values show it, so that inputs need not be like those of calibration
    conditions   what has to hold of an input for the bound to, beside that it is accepted: comparisons that keep their
                 gap, functions whose polynomials are known at points alone, and where intervals show nothing that it is
                 like those of calibration. Nothing tells for which inputs it does
    usual_error  the bound for inputs like those of calibration, which is smaller
    rounds       runs one after the other that it is the result of. The bound of several is for inputs like those of
                 calibration, and infinite where results leave the range of the input that they are in calibration:
                 that cannot be seen while they are encrypted
    error_bounds  the bound of each element, in the shape of the tensor: infinite in rows that the client clipped before
                 it encrypted them, which are results of other numbers than were given, and where integers may have
                 wrapped around; `error_bound` is the worst
    wrapping     which elements may have wrapped around; None: all, where that is among `conditions`
    """

    __slots__ = (
        "_array",
        "_bound",
        "_doubted",
        "_reason",
        "_wrapping",
        "conditions",
        "rounds",
        "shape",
        "usual_error",
    )

    def __init__(
        self,
        array: npt.NDArray[Any],
        error_bound: float,
        *,
        usual_error: float = 0.0,
        is_followed: bool = True,
        conditions: Sequence[Condition] = (),
        rounds: int = 1,
        wrapping: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        if wrapping is None:
            wrapping = np.full(array.shape, any(each.modulus for each in conditions))
        elif not wrapping.any():
            conditions = [each for each in conditions if not each.modulus]
        self._wrapping = wrapping
        self._array = array
        self.shape = array.shape
        self._bound = error_bound
        self._doubted: npt.NDArray[np.bool_] | None = None
        self._reason = ""
        self.usual_error = usual_error
        self.conditions = merge_conditions([conditions, () if is_followed else (UNLIKE,)])
        self.rounds = rounds

    @property
    def error_bound(self) -> float:
        """The error bound of the worst element: infinite where some are doubted, or may have wrapped around."""
        return self._bound if self._doubted is None and not self._wrapping.any() else inf

    @property
    def error_bounds(self) -> npt.NDArray[np.float64]:
        """The error bound of each element, in the shape of the tensor."""
        return self._with_doubted(np.where(self._wrapping, inf, self._bound), inf)

    def doubt_rows(self, rows: Sequence[int] | None, axis: int | None, reason: str) -> None:
        """Mark results of rows that lie along an axis, None for all of it: no bound is known there, nothing is certain.

        reason  what `doubt` then begins with
        """
        marked = np.zeros(self.shape, dtype=bool)
        if rows is None or axis is None:
            marked[...] = True
        else:
            np.moveaxis(marked, axis, 0)[list(rows)] = True
        self._doubted, self._reason = marked, reason

    def _with_doubted(self, array: npt.NDArray[Any], value: Any) -> npt.NDArray[Any]:
        """An array for all elements, with another value where they are doubted."""
        return array if self._doubted is None else np.where(self._doubted, value, np.broadcast_to(array, self.shape))

    def reveal(self) -> npt.NDArray[Any]:
        """The tensor, for the owner: do not publish or send its low bits."""
        return self._array.copy()

    def as_array(self) -> npt.NDArray[Any]:
        """The result as an array, for the owner."""
        return self._array.copy()

    @property
    def is_followed(self) -> bool:
        """Whether the bound is for more than inputs like those of calibration."""
        return UNLIKE not in self.conditions

    @property
    def is_proved(self) -> bool:
        """Whether the bound holds for every input that the client accepts."""
        return not self.conditions

    @property
    def is_certain(self) -> npt.NDArray[np.bool_]:
        """Whether its error bound holds for every input that the client accepts (`is_proved`), of each element where
        rows are doubted or some may have wrapped around; of decisions, which of them no error within the bound could
        change.
        """
        is_held = all(each.modulus for each in self.conditions)
        fits = ~self._wrapping if self._wrapping.any() and not self._wrapping.all() else not self._wrapping.any()
        return self._with_doubted(np.array(isfinite(self._bound) and is_held) & fits, False)

    def doubt(self) -> str:
        """The doubt that a reader has to know of; nothing if the value's bound is proved."""
        return "; ".join(filter(None, [self._reason, doubt_about(self)]))

    def __repr__(self) -> str:
        return describe("OwnerValue", f"shape {self.shape}", "hidden: .reveal() gives it to its owner", self.doubt())

    def _repr_html_(self) -> str:
        said = f"<code>OwnerValue(shape {self.shape})</code>: hidden, <code>.reveal()</code> gives it to its owner"
        return ", ".join(filter(None, [said, self.doubt()]))

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SecretKeyError(_WARNING)

    __array__ = __reduce__ = __getstate__ = __copy__ = __deepcopy__ = _refuse
    __reduce_ex__ = _refuse
    __float__ = __int__ = __complex__ = __bool__ = __len__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __array_ufunc__ = __array_function__ = _refuse
    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Any]:  # type checkers allow what a tuple of results, which may be one, does
        return self._refuse()

    def __getitem__(self, place: Any) -> Any:
        return self._refuse()

    def __format__(self, spec: str) -> str:
        """Format as repr does; a number format is refused."""
        return self._refuse() if spec else repr(self)


def doubt_about(value: OwnerValue, conditions: Sequence[Condition] | None = None) -> str:
    """Describe what a reader has to know before relying on a value, rows apart; nothing if its bound is proved.

    conditions  of what is made of it, if not its own
    """
    some = 0 if conditions is not None or value._wrapping.all() else np.count_nonzero(value._wrapping)
    conditions = value.conditions if conditions is None else conditions
    if value.rounds > 1 and not isfinite(value._bound):
        return f"the result of {value.rounds} runs one after the other, for which no error bound is known"
    if not isfinite(value._bound):
        return TOO_LARGE
    counted = f"{some} of {value._wrapping.size} numbers " if some else ""
    certain = f"{counted}NOT CERTAIN: " if uncertain_conditions(conditions) else ""
    return f"{certain}error bound {condition_words(conditions)}" if conditions else ""


def of_several(
    array: npt.NDArray[Any], values: Sequence[OwnerValue], wrapping: npt.NDArray[np.bool_] | None = None
) -> OwnerValue:
    """Make the value of an array made of several values: the bound is that of the worst, and proved if all are.

    wrapping  which elements may have wrapped around; None: all, where some of the values may have
    """
    return OwnerValue(
        array,
        max((value._bound if value._doubted is None else inf for value in values), default=0.0),
        usual_error=max((value.usual_error for value in values), default=0.0),
        conditions=merge_conditions(value.conditions for value in values),
        rounds=max((value.rounds for value in values), default=1),
        wrapping=wrapping,
    )


def wrapping_elements(values: Iterable[OwnerValue]) -> list[npt.NDArray[np.bool_]]:
    """Masks, in the shape of each value, of what may have wrapped around."""
    return [value._wrapping for value in values]


def of_one_run(values: Sequence[OwnerValue]) -> list[OwnerValue]:
    """The results of a run: where one is too large to be trusted, so is every other that is not proved to be right.

    What was too large on the way may have wrapped around and gone on as a small number, in any of them.
    """
    if all(isfinite(value._bound) for value in values):
        return list(values)
    return [value if value.is_proved else _mark_uncertain(value) for value in values]


def _mark_uncertain(value: OwnerValue) -> OwnerValue:
    return OwnerValue(value.reveal(), inf, usual_error=value.usual_error, conditions=value.conditions)
