"""Plain operands of a traced program: numbers and arrays that are public, checked before they become constants."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.errors import UnsupportedError
from latticework.frontend.recording.circuit_values import holds_numbers
from latticework.values.inputs.public_numbers import real_array


def plain_array(operand: object, function: str = "") -> npt.NDArray[np.float64]:
    """The operand of a function as float64.

    raises  DtypeError for what is not real numbers, RangeError for NaN and infinity, UnsupportedError for numbers of a
            circuit, naming the function if it is given
    """
    if holds_numbers(operand):
        of = f"{function}: " if function else ""
        raise UnsupportedError(
            f"{of}functions that are approximated belong to programs on arrays (@lw.program); in a circuit write a "
            "polynomial of the encrypted numbers"
        )
    return real_array(operand, function)
