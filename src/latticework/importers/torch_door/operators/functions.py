"""Functions of one number of ATen, of the table."""

from __future__ import annotations

from latticework.functions.table import RECORDS
from latticework.importers.meanings.functions import MEANINGS
from latticework.importers.torch_door.operators import activations
from latticework.importers.torch_door.operators.table import each

_WITH_OPTIONS = {converter.operator for converter in activations.CONVERTERS}  # gelu
CONVERTERS = [
    converter
    for record in RECORDS
    for converter in each(" ".join(f"{name}.default" for name in record.aten_names), MEANINGS[record.name])
    if converter.operator not in _WITH_OPTIONS
]
