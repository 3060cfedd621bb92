"""All operators of ONNX files that have a meaning here."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.models.converters import Converter, Converters
from latticework.models.onnx import written_softmax, written_votes
from latticework.models.onnx.operators import (
    onnx_attention,
    onnx_control,
    onnx_elementwise,
    onnx_indexing,
    onnx_matrices,
    onnx_ml,
    onnx_normalisation,
    onnx_public,
    onnx_quantised,
    onnx_recurrent,
    onnx_reductions,
    onnx_resizing,
    onnx_shaping,
    onnx_windows,
)
from latticework.models.onnx.refused_operators import REMEDIES
from latticework.models.onnx.size_limits import check_size, spend, take_elements
from latticework.models.semantics.operand_checks import is_secret


def _count_elements(converter: Converter) -> Converter:
    """A converter whose results are counted, and bounded where they are secret."""

    @functools.wraps(converter.meaning)
    def meaning(*args: Any, **options: Any) -> Any:
        take_elements(sum(np.size(arg) for arg in args if isinstance(arg, np.ndarray)))
        made = converter.meaning(*args, **options)
        for result in made if isinstance(made, tuple) else (made,):
            if is_secret(result):
                check_size(result.shape, secret=True)
                take_elements(result.size)
            else:
                spend(np.size(result))
        return made

    return replace(converter, meaning=meaning)


def _table(families: Iterable[Iterable[Converter]]) -> Converters:
    return Converters([_count_elements(converter) for family in families for converter in family], REMEDIES)


CONVERTERS: Converters = _table(
    (
        onnx_elementwise.CONVERTERS,
        onnx_matrices.CONVERTERS,
        onnx_windows.CONVERTERS,
        onnx_reductions.CONVERTERS,
        onnx_shaping.CONVERTERS,
        onnx_indexing.CONVERTERS,
        onnx_normalisation.CONVERTERS,
        onnx_attention.CONVERTERS,
        onnx_recurrent.CONVERTERS,
        onnx_resizing.CONVERTERS,
        onnx_quantised.CONVERTERS,
        onnx_public.CONVERTERS,
        onnx_control.converters(lambda: CONVERTERS),
        onnx_ml.CONVERTERS,
        written_softmax.CONVERTERS,
        written_votes.CONVERTERS,
    )
)
