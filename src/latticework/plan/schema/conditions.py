"""Conditions on an accepted input under which the error bound of an output holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass

MOST_NAMED = 3
_UNCHECKED = "combinations of elements are not checked, and others may give wrong results"


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that accepted inputs may break, so that an error bound does not hold for all of them.

    function  a comparison, whose argument they may take closer to 0 than its gap, or out of its range: then its result
              is any number between the outcomes, or the wrong one. Or a user's function, whose distance from its
              polynomial is known at points alone. Or a result that integers modulo t may not hold, so that it wraps.
              Or a function whose argument many inputs take out of the interval that its polynomial is for
    place     "program.py:7", the line that it is at
    gap       of a comparison, else 0
    told      another output tells of each result how far its comparisons are decided (`owner.stages.Doubt`)
    modulus   t of a result that may wrap, else 0
    leaves    as many inputs like those of calibration may leave that interval as compiling warns of
    changed   the program was changed while it was compiled, by `function`, at the stage `place`: results were compared
              on some inputs
    unlike    intervals of all values say too little: the bound is for inputs like those of calibration. Of no function
              and no place: `UNLIKE`, which no file holds, since outputs without `reach` have it
    """

    function: str
    place: str
    gap: float = 0.0
    told: bool = field(default=False, metadata={"unstored_default": True})
    modulus: int = field(default=0, metadata={"unstored_default": True})
    leaves: bool = field(default=False, metadata={"unstored_default": True})
    changed: bool = field(default=False, metadata={"unstored_default": True})
    unlike: bool = field(default=False, metadata={"unstored_default": True})

    @property
    def is_sampled(self) -> bool:
        """Whether it is of a user's function."""
        return not (self.gap or self.modulus or self.leaves or self.changed or self.unlike)

    def __str__(self) -> str:
        if self.unlike:
            return f"inputs like those of calibration: {_UNCHECKED}"
        text = f"{plain_text(self.function)} at {plain_text(self.place)}"
        return f"{text} (gap={self.gap:.4g})" if self.gap else text

    def __repr__(self) -> str:
        return f"Condition({str(self)!r})"


UNLIKE = Condition("", "", unlike=True)


def uncertain_conditions(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Those that inputs are known to break: of comparisons, results that may wrap, and functions that many leave."""
    return tuple(each for each in conditions if not (each.is_sampled or each.changed or each.unlike))


def left_by(conditions: Iterable[Condition], *, is_told: bool) -> tuple[Condition, ...]:
    """Those of a result; `is_told`: an output tells how far it may be off, where comparisons are that it tells of."""
    return tuple(each for each in conditions if not (is_told and each.told))


def merge_conditions(several: Iterable[Sequence[Condition]]) -> tuple[Condition, ...]:
    """Return all conditions of some lists, each once."""
    return tuple(dict.fromkeys(each for conditions in several for each in conditions))


def list_conditions(conditions: Sequence[Condition]) -> str:
    """Names, the first few of many."""
    text = ", ".join(map(str, conditions[:MOST_NAMED]))
    return text if len(conditions) <= MOST_NAMED else f"{text} and {len(conditions) - MOST_NAMED} more"


def condition_words(conditions: Sequence[Condition]) -> str:
    """Say for which inputs a bound holds that has these conditions; "" without any."""
    guarded = [each for each in conditions if each.gap]
    fitting = [each for each in conditions if each.modulus]
    staying = [each for each in conditions if each.leaves]
    sampled = [each for each in conditions if each.is_sampled]
    changed = [each for each in conditions if each.changed]
    lines = []
    if guarded:
        lines.append(f"holds only for inputs whose comparisons keep their gap and range: {list_conditions(guarded)}")
    if fitting:
        most = fitting[0].modulus // 2
        lines.append(
            f"holds only where integers modulo {fitting[0].modulus}, -{most} to {most}, hold what is exact: "
            f"{list_conditions(fitting)}. What is larger wraps around, and is wrong; compile with a larger "
            "plain_bits=, or declare low= and high= of all inputs, as narrow as they are"
        )
    if staying:
        lines.append(f"holds only for inputs that stay within ranges which many leave: {list_conditions(staying)}")
    if sampled:
        lines.append(f"not proved, as functions were sampled: {list_conditions(sampled)}")
    if changed:
        lines.append(f"not proved, as the program was changed while it was compiled: {list_conditions(changed)}")
    if UNLIKE in conditions:
        lines.append(f"holds for inputs like those of calibration only: {_UNCHECKED}")
    return "; ".join(lines)
