"""Functions of one number of ATen, of the table."""

from __future__ import annotations

from latticework.functions.table import RECORDS
from latticework.models.pytorch.operators import aten_activations
from latticework.models.pytorch.operators.table import each
from latticework.models.semantics.unary import MEANINGS

_WITH_OPTIONS = {converter.operator for converter in aten_activations.CONVERTERS}  # gelu
CONVERTERS = [
    converter
    for record in RECORDS
    for converter in each(" ".join(f"{name}.default" for name in record.aten_names), MEANINGS[record.name])
    if converter.operator not in _WITH_OPTIONS
]
