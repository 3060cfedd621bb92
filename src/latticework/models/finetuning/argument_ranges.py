"""Record the arguments of functions when a module runs on calibration data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from latticework.errors import RangeError
from latticework.models.finetuning.calls import Call, FunctionCalls
from latticework.models.finetuning.sequence import CallSequence

_KEPT = 1 << 16  # arguments kept of each function


class SeenArguments:
    """Arguments of one function: the smallest, the largest, and a sample evenly spaced."""

    def __init__(self, x: Tensor) -> None:
        self._numbers: npt.NDArray[np.float64] = x.detach().double().reshape(-1).cpu().numpy()

    def range_of(self, name: str) -> tuple[float, float]:
        """Smallest and largest; RangeError where they are no range."""
        numbers = self._numbers
        lost = int((~np.isfinite(numbers)).sum())
        if not numbers.size:
            raise RangeError("calibration has no arguments of it; give calibrate= at least one row, better hundreds")
        if lost:
            raise RangeError(
                f"{lost} of {numbers.size} arguments in calibration are NaN or infinite; clean the data, or train the "
                "module again"
            )
        if numbers.min() == numbers.max():
            raise RangeError(
                f"all arguments of {name} in calibration are {numbers[0]:g}; give calibrate= data like those to come"
            )
        return float(numbers.min()), float(numbers.max())

    def sample(self) -> npt.NDArray[np.float64]:
        """Some of the arguments."""
        return self._numbers[:: -(-self._numbers.size // _KEPT)]


class RecordedCalls(FunctionCalls):
    """Keeps the arguments of the functions that will be replaced, and computes them."""

    def __init__(self, sequence: CallSequence, *, averages: bool) -> None:
        super().__init__(averages=averages)
        self.turn = sequence.turn()
        self.arguments: list[SeenArguments] = []

    def answer(self, call: Call) -> Any:
        """The function's result."""
        if self.turn.place_of(call.name) is not None:
            self.arguments.append(SeenArguments(call.x))
        return call.of(call.x)
