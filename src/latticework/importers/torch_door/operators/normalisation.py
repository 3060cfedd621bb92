"""Normalisations of ATen."""

from __future__ import annotations

from typing import Any

from latticework.importers.meanings import normalisation as meant
from latticework.importers.torch_door.operators.table import each


def _batch_norm(x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float) -> tuple[Any, ...]:
    return (meant.batch_norm(x, mean, var, weight, bias, eps),)


CONVERTERS = [*each("_native_batch_norm_legit_no_training.default", _batch_norm)]
