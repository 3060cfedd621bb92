"""Results as the owner wants them: steps after decryption, with the bounds that errors still have there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors.shown import describe
from latticework.plan.client_steps.run_steps import error_of, errors_of, finish_exact, finish_of, to_result
from latticework.plan.client_steps.stages import Finished
from latticework.plan.schema.conditions import left_by, merge_conditions, uncertain_conditions
from latticework.plan.schema.schema import ClientSpec
from latticework.runtime.exchange.clipped import Doubted
from latticework.runtime.exchange.decrypted import OwnerValue, doubt_about


class FinishedValue(OwnerValue):
    """A result of a program whose owner goes on computing after decryption: probabilities, classes, names.

    numbers      the decrypted output that it is made of
    is_certain   of every decision (a class, a side of a threshold) whether all numbers within the error bound of the
                 decrypted ones lead to it; of numbers, whether their bound is proved, and where another output tells
                 how far they may be off, whether it tells nothing of theirs
    error_bound  of numbers; of decisions 0 where all are certain, else infinite. What another output tells of doubts is
                 read with its usual error, and then the bound is not proved: the interval that is proved of it hardly
                 tells rows in doubt from others
    conditions   those of the outputs that it is made of, less what another output tells of them
    error_bounds the same of each element, in the shape of the result; infinite in rows that were clipped
    """

    __slots__ = ("_are_numbers", "_bounds", "_certain", "_is_told", "_shown", "numbers")

    def __init__(self, result: Finished, values: Mapping[str, OwnerValue]) -> None:
        numbers, doubt = values[result.output], result.doubt
        raw = {name: values[name].reveal() for name in result.reads()}
        errors = {name: values[name].error_bound for name in raw}
        is_followed = True
        if doubt is not None and 0.0 < values[doubt.output].usual_error < errors[doubt.output] < inf:
            errors[doubt.output] = values[doubt.output].usual_error
            is_followed = False  # what is proved hides all doubts
        conditions = left_by(merge_conditions(values[name].conditions for name in raw), is_told=doubt is not None)
        found = finish_of(result, raw, errors)
        if uncertain_conditions(conditions) and found.certain is not None:
            found = replace(found, certain=np.zeros_like(found.certain))
        usual = finish_of(result, raw, {name: values[name].usual_error for name in raw})
        super().__init__(
            found.value,
            error_of(found),
            usual_error=error_of(usual),
            is_followed=is_followed,
            conditions=conditions,
            rounds=numbers.rounds,
        )
        self.numbers = numbers
        self._bounds, self._are_numbers, self._is_told = errors_of(found), found.certain is None, doubt is not None
        self._shown = to_result(found) if found.names else None
        bounded = np.array(isfinite(self.error_bound))
        self._certain = bounded if found.certain is None else found.certain
        if doubt is not None and found.certain is None and bounded:
            clear = doubt.has_none(raw[doubt.output], errors[doubt.output])
            follows = self.shape[: clear.ndim] == clear.shape
            kept = clear.reshape(*clear.shape, *(1,) * (len(self.shape) - clear.ndim)) if follows else clear.all()
            self._certain = np.broadcast_to(kept, self.shape)
        if uncertain_conditions(conditions):
            self._certain = np.zeros_like(self._certain)

    def reveal(self) -> Any:
        """The finished result, for the owner: an array, or a dictionary for each row where its numbers have names."""
        return self.as_array() if self._shown is None else self._shown

    @property
    def is_certain(self) -> npt.NDArray[np.bool_]:
        """Whether each decision is certain, in the result's shape; of numbers one for all,
        unless an output tells of each, or rows are doubted.
        """
        holds = self.is_proved or self._is_told or not self._are_numbers
        return self._with_doubted(self._certain & np.bool_(holds), False)

    @property
    def num_unsure(self) -> int:
        """The number of decisions that errors within the bound could change, or numbers that another output doubts."""
        return int(np.count_nonzero(~self._certain))

    @property
    def error_bounds(self) -> npt.NDArray[np.float64]:
        """The error bound of each element, in the shape of the result."""
        return self._with_doubted(self._bounds, inf)

    def doubt(self) -> str:
        """The doubt that a reader has to know of; nothing if the value is certain for every input."""
        told = self._doubt_of_errors()
        return "; ".join(filter(None, [self._reason, told]))

    def _doubt_of_errors(self) -> str:
        """The same of errors alone, whatever rows are doubted."""
        about = doubt_about(self.numbers, self.conditions)
        unsure = self.num_unsure
        if not unsure or not isfinite(self.numbers.error_bound) or uncertain_conditions(self.conditions):
            return about
        what = "numbers" if self._are_numbers else "decisions"
        count = f"{unsure} of {self._certain.size} {what}" if self._certain.ndim else "the result"
        said = f"{count} NOT CERTAIN: errors within the bound could change {'them' if unsure > 1 else 'it'}"
        if self._are_numbers:
            said = f"{count} NOT CERTAIN: bounds in error_bounds are larger there"
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
    with np.errstate(all="ignore"):  # what a server makes up may overflow in any step: no warning, no error tells of it
        return {result.name: FinishedValue(result, values) for result in spec.owner.after}


def finished_arrays(spec: ClientSpec, outputs: list[npt.NDArray[Any]]) -> list[Any]:
    """Exact outputs as the results that the owner makes of them, in order."""
    if spec.owner is None or not spec.owner.after:
        return outputs
    by_name = dict(zip((output.name for output in spec.outputs), outputs, strict=True))
    return finish_exact(spec.owner.after, by_name)


def doubt_results(
    spec: ClientSpec, values: Mapping[str, OwnerValue], doubted: Doubted, axes: Mapping[str, int] | None
) -> None:
    """Mark results of doubted rows.

    axes  along which rows lie in each output, by name; None: those of a stack, along the first one of all
    """
    outputs = {} if spec.owner is None else {result.name: result.output for result in spec.owner.after}
    for name, value in values.items():
        axis = 0 if axes is None else axes.get(outputs.get(name, name))
        if isinstance(value, FinishedValue):
            value.numbers.doubt_rows(doubted.rows, axis, doubted.reason)
            if axis and axes is not None:  # steps may have taken away axes before it
                axis = None
        value.doubt_rows(doubted.rows, axis, doubted.reason)
