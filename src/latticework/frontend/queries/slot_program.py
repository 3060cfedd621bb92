"""Programs on slots: encrypted vectors times public ones, slot by slot, added up; on integers modulo t, exactly."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from latticework.frontend.programs.array_program import Program
from latticework.frontend.recording.annotations import Parameter, Secret
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.stages import OwnerStages

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SlotSum:
    """One vector of a result.

    vectors  numbers of encrypted vectors;  factors  as many public ones, (vectors, slots), that they are multiplied by
             before they are added up; None: there is one vector, as it is
    addend   a public vector that is added; None: nothing
    """

    vectors: tuple[int, ...]
    factors: IntArray | None = None
    addend: IntArray | None = None


@dataclass(frozen=True)
class SlotCode:
    """A program on vectors of so many slots.

    count      of encrypted vectors;  low, high  between which the numbers in them lie
    sums       the vectors of the result
    stages     of the owner, who makes the vectors `QUERY` of what is asked, and the answer of `ANSWER`
    """

    count: int
    slots: int
    low: int
    high: int
    sums: tuple[SlotSum, ...]
    stages: OwnerStages


class SlotProgram(Program):
    """A query of public data, compiled with scheme="bfv".

    Called with what a client would encrypt it computes in plain Python what the compiled program answers.

    plain_bits  of the plaintext modulus
    """

    QUERY: ClassVar[str] = "query"
    ANSWER: ClassVar[str] = "answer"
    plain_bits: int
    is_exact = True

    def __init__(self, name: str, given: str, shape: tuple[int, ...], loc: Loc) -> None:
        self.name = self.__name__ = name
        self.__doc__ = f"{name} of {given}."
        self.loc = loc
        self.function = self.answer
        empty = inspect.Parameter.empty
        self.parameters = (Parameter(given, Secret(shape), empty, loc),)
        self.signature = inspect.Signature([inspect.Parameter(given, inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Answer in plain Python, as the encrypted program does."""
        return self.answer(*self.signature.bind(*args, **kwargs).args)

    @abstractmethod
    def answer(self, given: Any) -> Any:
        """Answer in plain Python."""

    @abstractmethod
    def code(self, slots: int, modulus: int) -> SlotCode:
        """The program on vectors of so many slots, modulo a prime of `plain_bits` bits.

        raises  LayoutError for data that take too many vectors
        """
