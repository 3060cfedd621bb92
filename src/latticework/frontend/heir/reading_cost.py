"""Costs of evaluating a text, within the budget of reading: operations, loop iterations, calls, arrays in memory.

Loops and calls whose numbers stand in the text are counted before anything is carried out (`least_work`), also where
they are empty; all others while they are. A unit of work is about a microsecond.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from latticework.errors import UserError
from latticework.frontend.heir.syntax import HeirFunction, HeirOperation, HeirRegion, HeirText, text_of
from latticework.lazy_dataclass import dataclass
from latticework.values.inputs.reading_budget import (
    ReadingBudget,
    ReadingLimits,
    current_budget,
    limit_remedy,
    reading,
    told_as_damage,
)

WORK_OF_OPERATION = 3
WORK_OF_VECTORS = 40  # of an operation on slot vectors, which is written down when a program is compiled
WORK_OF_CHARACTER = 60  # that a text may take beyond the limit for each of its characters
ELEMENTS_OF_WORK = 100  # of an array that is made, in a unit
NUMBERS_OF_WORK = 5  # of an array of whole numbers that is computed with, in a unit
_SMALL = 4096  # bytes of arrays that are not looked after: there is one for a name at the most


@contextmanager
def carrying_out(text: HeirText, limits: ReadingLimits) -> Iterator[ReadingBudget]:
    """Evaluate a text within a separate budget, once or as often as learning its packing takes."""
    with told_as_damage(text.name), reading(limits, text.size, WORK_OF_CHARACTER * text.size) as budget:
        yield budget


def take(units: int, where: str) -> None:
    """Count work. UserError with the place where it becomes too much."""
    budget = current_budget()
    if budget is not None and not budget.take_running(units):
        raise UserError(f"{where}: {too_much(budget)}")


def too_much(budget: ReadingBudget) -> str:
    """Return the message for a text that takes more work than is allowed."""
    return (
        f"more operations are carried out than the {budget.limits.work} units of work that are allowed here: "
        f"{limit_remedy('work')}"
    )


def room_for(count: int, shape: Any = None) -> None:
    """ValueError where an array of so many elements is more than may be held; it is counted as work."""
    budget = current_budget()
    if budget is None:
        return
    if count * 8 > budget.bytes_left:
        told = f"an array of shape {tuple(shape)}" if shape is not None else f"an array of {count} elements"
        raise ValueError(
            f"{told}, with those that are held, takes more memory than is allowed: {limit_remedy('memory_bytes')}"
        )
    if not budget.take_running(count // ELEMENTS_OF_WORK):
        raise ValueError(too_much(budget))


def hold(made: Any) -> Any:
    """The same array, whose memory is counted until it is given back."""
    budget = current_budget()
    if budget is not None and isinstance(made, np.ndarray) and made.base is None and made.nbytes > _SMALL:
        budget.bytes_left -= made.nbytes
        weakref.finalize(made, _give_back, budget, made.nbytes).atexit = False
    return made


def _give_back(budget: ReadingBudget, count: int) -> None:
    budget.bytes_left += count


def check_work(text: HeirText, functions: list[HeirFunction], budget: ReadingBudget) -> None:
    """UserError where a function takes more work than is allowed, whatever it is given."""
    known: dict[str, int] = {}
    for function in functions:
        if least_work(text, function, known) > budget.running:
            raise UserError(f"{text.name}:{function.line}: {function.name}: {too_much(budget)}")


def least_work(text: HeirText, function: HeirFunction, known: dict[str, int]) -> int:
    """Work that every call of a function takes at the least; `known` keeps that of functions by name."""
    if function.name not in known:
        known[function.name] = 0  # what calls itself is refused when it is called
        known[function.name] = _LeastWork(text, known).region(function.body)
    return known[function.name]


@dataclass
class _LeastWork:
    text: HeirText
    known: dict[str, int]

    def __post_init__(self) -> None:
        self.numbers: dict[str, int] = {}  # constants by name

    def region(self, region: HeirRegion) -> int:
        return sum(WORK_OF_OPERATION + self.operation(op) for op in region.operations)

    def operation(self, op: HeirOperation) -> int:
        value = op.attributes.get("value")
        if op.name == "arith.constant" and type(value) is int:
            self.numbers.update(dict.fromkeys(op.results, value))
        elif op.name == "scf.for" and op.regions:
            return self.turns(op) * (WORK_OF_OPERATION + self.region(op.regions[0]))
        elif op.name == "scf.if" and op.regions:
            return min(map(self.region, op.regions))
        elif op.name == "func.call":
            callee = self.text.functions.get(text_of(op.attributes, "callee"))
            if callee is not None and any(kind.is_number or kind.is_encrypted for kind in callee.types):
                return least_work(self.text, callee, self.known)
        return 0

    def turns(self, op: HeirOperation) -> int:
        """Return the trip count of a loop whose bounds stand in the text; 0 where they do not."""
        ends = [self.numbers.get(name) for name in op.operands[:3]]
        low, high, step = ends if len(ends) == 3 else (None,) * 3
        if low is None or high is None or step is None or step < 1:
            return 0
        return max(0, -((low - high) // step))
