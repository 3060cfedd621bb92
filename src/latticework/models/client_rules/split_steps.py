"""Steps of the owner on joined columns, taken apart into steps on each of the parts that were joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from latticework.plan.client_steps import Affine, Clip, Elementary, Fill, LookUp, Numbers, OwnerArray, Reshape
from latticework.plan.client_steps.step import OwnerStep


def split_step(step: OwnerStep, widths: Sequence[int]) -> list[OwnerStep] | None:
    """One step for each of several parts of so many columns, joined along the last axis; None if it mixes columns."""
    if isinstance(step, Elementary | LookUp | Numbers):
        return [step] * len(widths)
    if isinstance(step, Affine):
        scales, offsets = _cut(step.scale, widths), _cut(step.offset, widths)
        if scales is None or offsets is None:
            return None
        return [replace(step, scale=s, offset=o) for s, o in zip(scales, offsets, strict=True)]
    if isinstance(step, Clip):
        lows, highs = _cut(step.low, widths), _cut(step.high, widths)
        if lows is None or highs is None:
            return None
        return [replace(step, low=low, high=high) for low, high in zip(lows, highs, strict=True)]
    if isinstance(step, Fill):
        return _split_fill(step, widths)
    if isinstance(step, Reshape) and _squeezes(step):
        return [replace(step, old=(*step.old[:-1], width), new=(*step.new[:-1], width)) for width in widths]
    return None


def _squeezes(step: Reshape) -> bool:
    """Whether it only adds or leaves out axes of one element before the last one, which stays."""
    extents = (*step.old[:-1], *step.new[:-1])
    return bool(step.old and step.new) and step.old[-1] == step.new[-1] and set(extents) <= {1}


def _split_fill(step: Fill, widths: Sequence[int]) -> list[OwnerStep] | None:
    if step.numbers is not None:
        parts = _cut(step.numbers, widths)
        return None if parts is None else [replace(step, numbers=part) for part in parts]
    ends = np.cumsum([0, *widths]).tolist()
    return [replace(step, texts=step.texts[first:last]) for first, last in pairwise(ends)]


def _cut(array: OwnerArray, widths: Sequence[int]) -> list[OwnerArray] | None:
    """Parameters of each part, of those of all columns; None for parameters of several axes."""
    if not array.shape or array.shape == (1,):
        return [array] * len(widths)
    if array.shape != (sum(widths),):
        return None
    return [OwnerArray.of(part) for part in np.split(array.array, np.cumsum(widths)[:-1])]
