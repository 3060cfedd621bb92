"""Functions of one number, of the table: exact on arrays and one polynomial of secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.functions.function_record import FunctionRecord
from latticework.functions.table import RECORDS
from latticework.models.semantics.operand_checks import apply_function


def meaning_of(record: FunctionRecord) -> Callable[[Any], Any]:
    """The meaning of an operator without options that is a function of the table."""
    if isinstance(record.meaning, np.ufunc):  # traces to the function, and is named in refusals
        compute: Callable[[Any], Any] = record.meaning
    else:

        def compute(x: Any) -> Any:
            return apply_function(FUNCTIONS[record.name], x)

    def meaning(x: Any) -> Any:
        return compute(x)

    return meaning


MEANINGS: dict[str, Callable[[Any], Any]] = {record.name: meaning_of(record) for record in RECORDS}
