"""Joining, borders and new sizes of images in ATen."""

from __future__ import annotations

from typing import Any

from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import concatenation as meant


def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    return meant.pad(x, list(pad), mode, 0 if value is None else value)


def _pad_by_mode(mode: str) -> Any:
    return lambda x, padding: meant.pad(x, list(padding), mode)


CONVERTERS = [
    *each("cat.default", meant.cat),
    *each("stack.default", meant.stack),
    *each("pad.default", _pad, "constant, reflect, replicate, circular"),
    *each("constant_pad_nd.default", lambda x, pad, value=0: _pad(x, pad, "constant", value)),
    *each("reflection_pad1d.default reflection_pad2d.default", _pad_by_mode("reflect")),
    *each("replication_pad1d.default replication_pad2d.default", _pad_by_mode("replicate")),
    *each("_pad_circular.default", _pad_by_mode("circular")),
    *each("pixel_shuffle.default", meant.pixel_shuffle),
    *each("pixel_unshuffle.default", meant.pixel_unshuffle),
    *each("channel_shuffle.default native_channel_shuffle.default", meant.channel_shuffle),
]
