"""Few rows in the place of all that a program is calibrated with, evenly spaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from latticework.compiler.options.compile_options import CompileOptions
from latticework.frontend.calibration.calibration_data import choose_evenly

ROWS, ROWS_FOR_DECISIONS = 32, 1024  # for ranges; where degrees are chosen by how many decisions stay


def take_rows(options: CompileOptions) -> CompileOptions:
    """Options with fewer rows of calibration data, and no labels: nothing is scored."""
    by_decisions = options.precision.agreement is not None or options.precision.tolerance is not None
    most = ROWS_FOR_DECISIONS if by_decisions else ROWS
    return options.override(calibrate=_cut(options.data.calibrate, most), labels=None, on_event=None)


def _cut(data: Any, most: int) -> Any:
    """Arrays with so many rows at most; what is of another kind as it is."""
    if isinstance(data, Mapping):
        return {name: _cut(each, most) for name, each in data.items()}
    if isinstance(data, tuple) and data and all(isinstance(each, np.ndarray) for each in data):
        return tuple(_cut(each, most) for each in data)
    if isinstance(data, np.ndarray) and data.ndim > 1 and len(data) > most:
        return data[choose_evenly(len(data), most)]
    return data
