"""Results as the owner wants them: steps after decryption, with the bounds that errors still have there."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.owner.run import error_of, finish, shown
from latticework.owner.stages import Finished
from latticework.plan.schema import ClientSpec
from latticework.runtime.owner import OwnerValue, doubt_about
from latticework.words.shown import describe


class FinishedValue(OwnerValue):
    """A result of a program whose owner goes on computing after decryption: probabilities, classes, names.

    numbers      the decrypted output that it is made of
    is_certain   of every decision (a class, a side of a threshold) whether all numbers within the error bound of the
                 decrypted ones lead to it; of numbers, whether they have a bound
    error_bound  of numbers; of decisions 0 where all are certain, else infinite
    """

    __slots__ = ("_certain", "_shown", "numbers")

    def __init__(self, result: Finished, numbers: OwnerValue) -> None:
        raw = numbers.reveal()
        found = finish(result, raw, numbers.error_bound)
        super().__init__(
            found.value,
            error_of(found),
            usual_error=error_of(finish(result, raw, numbers.usual_error)),
            is_proved=numbers.is_proved,
            rounds=numbers.rounds,
        )
        self.numbers = numbers
        self._shown = shown(found) if found.names else None
        bounded = np.array(isfinite(self.error_bound))
        self._certain = bounded if found.certain is None else found.certain

    def reveal(self) -> Any:
        """The finished result, for the owner: an array, or a dictionary for each row where its numbers have names."""
        return self.as_array() if self._shown is None else self._shown

    @property
    def is_certain(self) -> npt.NDArray[np.bool_]:
        """Of every decision, in the shape of the result; of numbers one for all."""
        return self._certain.copy()

    def doubt(self) -> str:
        """What a reader has to know before relying on it; nothing if it is certain for every input."""
        about = doubt_about(self.numbers)
        unsure = int(np.count_nonzero(~self.is_certain))
        if not unsure or not isfinite(self.numbers.error_bound):
            return about
        count = f"{unsure} of {self.is_certain.size} decisions" if self.is_certain.ndim else "the result"
        said = f"{count} NOT CERTAIN: errors within the bound could change {'them' if unsure > 1 else 'it'}"
        return f"{said}; {about}" if about else said

    def __repr__(self) -> str:
        return describe("FinishedValue", f"shape {self.shape}", "hidden: .reveal() gives it to its owner", self.doubt())

    def _repr_html_(self) -> str:
        said = f"<code>FinishedValue(shape {self.shape})</code>: hidden, <code>.reveal()</code> gives it to its owner"
        return ", ".join(filter(None, [said, self.doubt()]))


def finished_values(spec: ClientSpec, values: Mapping[str, OwnerValue]) -> dict[str, OwnerValue]:
    """Decrypted outputs as the results that the owner makes of them, by name."""
    if spec.owner is None or not spec.owner.after:
        return dict(values)
    return {result.name: FinishedValue(result, values[result.output]) for result in spec.owner.after}


def finished_arrays(spec: ClientSpec, outputs: list[npt.NDArray[Any]]) -> list[Any]:
    """Exact outputs as the results that the owner makes of them, in order."""
    if spec.owner is None or not spec.owner.after:
        return outputs
    by_name = dict(zip((output.name for output in spec.outputs), outputs, strict=True))
    return [shown(finish(result, by_name[result.output], 0.0)) for result in spec.owner.after]
