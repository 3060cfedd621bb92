"""Reductions along axes, which are an attribute or, in newer versions, an operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.models.converters import Converter
from latticework.models.onnx.operators.onnx_shaping import axes_given
from latticework.models.semantics import reductions
from latticework.models.semantics.operand_checks import axes_of, is_secret

Meaning = Callable[..., Any]


def _reduction(name: str, core: Meaning, before: Meaning | None = None, after: Meaning | None = None) -> Converter:
    """core of before(x) along axes, and `after` of that; without axes all, or none where the node says so."""

    def reduce(
        x: Any,
        given: Any = None,
        *,
        axes: Sequence[int] | None = None,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Any:
        named = axes_given(name, given, axes)
        x = x if before is None else before(x)
        if named or not noop_with_empty_axes:
            x = _reduce_in_type(core, x, axes_of(name, named or None, np.ndim(x)), bool(keepdims))
        return x if after is None else after(x)

    return Converter(name, reduce)


def _reduce_in_type(core: Meaning, x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Whole numbers stay of their type."""
    if not axes:
        return x
    found = core(x, axes, keepdims)
    return (
        found if is_secret(x) or np.asarray(x).dtype.kind not in "iu" else np.asarray(found).astype(np.asarray(x).dtype)
    )


def _log_sum_exp(x: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return reductions.logsumexp(x, axes, keepdims)


CONVERTERS = (
    _reduction("ReduceSum", reductions.sum),
    _reduction("ReduceMean", reductions.mean),
    _reduction("ReduceProd", reductions.prod),
    _reduction("ReduceMax", reductions.amax),
    _reduction("ReduceMin", reductions.amin),
    _reduction("ReduceL1", reductions.sum, before=np.absolute),
    _reduction("ReduceL2", reductions.sum, before=np.square, after=np.sqrt),
    _reduction("ReduceSumSquare", reductions.sum, before=np.square),
    _reduction("ReduceLogSum", reductions.sum, after=np.log),
    _reduction("ReduceLogSumExp", _log_sum_exp),
)
