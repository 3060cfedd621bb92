"""All operators of ONNX files that have a meaning here."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.importers.converters import Converter, Converters
from latticework.importers.meanings.values import is_secret
from latticework.importers.onnx_door.limits import check_size, spend, take_elements
from latticework.importers.onnx_door.operators import (
    attending,
    control,
    elementwise,
    indexing,
    learned,
    linear,
    normalisation,
    public,
    quantised,
    recurrent,
    reductions,
    resizing,
    shaping,
    windows,
)
from latticework.importers.onnx_door.refused_operators import REMEDIES
from latticework.importers.onnx_door.written_softmax import CONVERTERS as WRITTEN


def _counted(converter: Converter) -> Converter:
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
    return Converters([_counted(converter) for family in families for converter in family], REMEDIES)


CONVERTERS: Converters = _table(
    (
        elementwise.CONVERTERS,
        linear.CONVERTERS,
        windows.CONVERTERS,
        reductions.CONVERTERS,
        shaping.CONVERTERS,
        indexing.CONVERTERS,
        normalisation.CONVERTERS,
        attending.CONVERTERS,
        recurrent.CONVERTERS,
        resizing.CONVERTERS,
        quantised.CONVERTERS,
        public.CONVERTERS,
        control.converters(lambda: CONVERTERS),
        learned.CONVERTERS,
        WRITTEN,
    )
)
