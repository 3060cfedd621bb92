"""Tensors of a safetensors file: the length of a header, a header in JSON that says where each lies, numbers."""

from __future__ import annotations

import json
from math import prod

import numpy as np
import numpy.typing as npt

from latticework.errors import FormatError

_LENGTH = 8  # bytes of the header's length
_MOST = 100 << 20  # bytes of a header, as the format has it
_TYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}


def read_safetensors(file: bytes) -> dict[str, npt.NDArray[np.float64 | np.int64]]:
    """All tensors by name: float64 or int64.

    raises  FormatError for a file that is damaged, or that holds tensors of other types
    """
    length = int.from_bytes(file[:_LENGTH], "little")
    if len(file) < _LENGTH or length > min(_MOST, len(file) - _LENGTH):
        raise FormatError(f"safetensors: {len(file)} bytes are fewer than a header of {length} bytes takes")
    start = _LENGTH + length
    try:
        header = json.loads(file[_LENGTH:start])
        return {
            name: _tensor(name, said["dtype"], [int(n) for n in said["shape"]], *said["data_offsets"], file[start:])
            for name, said in header.items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"safetensors: the header is damaged: {error}") from None


def _tensor(
    name: str, kind: str, shape: list[int], first: int, end: int, data: bytes
) -> npt.NDArray[np.float64 | np.int64]:
    if kind not in _TYPES:
        raise FormatError(f"safetensors: {name} is of type {kind}; {', '.join(_TYPES)} are read")
    taken = np.dtype(_TYPES[kind])
    if min(shape, default=0) < 0 or not 0 <= first <= end <= len(data) or end - first != prod(shape) * taken.itemsize:
        raise FormatError(f"safetensors: {name} of shape {tuple(shape)} does not fill bytes {first} to {end}")
    found = np.frombuffer(data[first:end], taken).reshape(shape)
    return found.astype(np.float64 if taken.kind == "f" else np.int64)
