"""Rules of a table: each turns a node into steps of the owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelNode
from latticework.plan.client_steps.step import OwnerStep
from latticework.plan.client_steps.step_arrays import Labels


class CannotMoveError(Exception):
    """A node that the owner's steps cannot express, and why."""


# What makers of steps, and steps, raise for nodes that they cannot express.
UNFIT = (CannotMoveError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


SECRET: Any = object()  # stands for the secret operand among public ones


@dataclass(frozen=True)
class MovedNode:
    """A node that is to become steps.

    args, options  public values as arrays or as they are, SECRET for the secret operand
    shape          of the secret operand
    decided        the step after decryption that made classes of numbers, where one did
    """

    node: ModelNode
    args: tuple[Any, ...]
    options: dict[str, Any]
    shape: tuple[int, ...]
    decided: OwnerStep | None = None

    def argument(self, place: int, name: str, default: Any = None) -> Any:
        """An argument by its place or by its name."""
        if place < len(self.args) and self.args[place] is not None:
            return self.args[place]
        value = self.options.get(name)
        return default if value is None else value

    def dim(self, axis: Any) -> int:
        """An axis, counted from the end."""
        number, rank = int(axis), len(self.shape)
        if not -rank <= number < rank:
            raise CannotMoveError(f"axis {number} of {rank} axes")
        return number - rank if number >= 0 else number

    def first_is_secret(self) -> None:
        """CannotMoveError unless the first argument is the secret one, and no other."""
        if not self.args or self.args[0] is not SECRET:
            raise CannotMoveError("its first operand is public")


Steps = tuple[OwnerStep, ...]
StepMaker = Callable[[MovedNode], Steps]


@dataclass(frozen=True)
class OwnerRule:
    """The owner's computation of one operator.

    before, after  its steps before encryption and after decryption; None: it is not moved there
    wanted         whether it is moved for its own sake, and not only where others beyond it are
    joins          of an operator that joins several values before encryption: along which axis, counted from the end
    wants          of an operator that is wanted before encryption in some of its forms: whether in that of a node
    renames        names of a decision, after what it computes of them
    """

    before: StepMaker | None = None
    after: StepMaker | None = None
    wanted: bool = True
    joins: Callable[[MovedNode], int] | None = None
    wants: Callable[[MovedNode], bool] | None = None
    renames: Callable[[MovedNode, Labels], Labels] | None = None


@dataclass(frozen=True)
class OwnerRules:
    """The rules of an importer, by operator.

    split      of nodes that are computed partly encrypted: other nodes in their place
    of_tables  whether inputs are columns of a table: the owner gives them by name, in any order
    """

    by_operator: dict[str, OwnerRule]
    split: Callable[[ModelNode], tuple[ModelNode, ...]] = field(default=lambda node: (node,))
    of_tables: bool = False


def rules(*entries: tuple[Iterable[str], OwnerRule]) -> dict[str, OwnerRule]:
    """A table of rules that several operators share."""
    return {operator: rule for operators, rule in entries for operator in operators}


def whole(value: Any) -> int:
    """A public whole number."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "iub":
        raise CannotMoveError(f"{value!r} is no whole number")
    return int(array.reshape(()))


def wholes(value: Any) -> tuple[int, ...]:
    """Public whole numbers."""
    array = np.asarray(value).reshape(-1)
    if array.size and array.dtype.kind not in "iub":
        raise CannotMoveError(f"{value!r} are no whole numbers")
    return tuple(int(n) for n in array)
