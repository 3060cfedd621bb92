"""A report as JSON, for programs: the same fields and numbers as `Contents`, seconds and bytes unrounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from latticework.plan.pack import PackMap
from latticework.report.data import Contents


def render_json(report: Contents) -> str:
    """One object; layouts in words, numbers that are not finite as null, names of others escaped by JSON itself."""
    return json.dumps(_plain(report), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, PackMap):
        return str(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
