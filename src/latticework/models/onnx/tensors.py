"""Arrays of ONNX files: sizes are checked before anything is made, and external data stays in the file's folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import DtypeError, FormatError, RangeError, UserError
from latticework.lazy_dataclass import dataclass
from latticework.models.onnx.package import onnx_package
from latticework.models.onnx.size_limits import check_extents, check_size, format_shape, spend, take_data

Array = npt.NDArray[Any]

FLOAT, DOUBLE, HALF, BFLOAT16, STRING, BOOL = 1, 11, 10, 16, 8, 9
COMPLEX = (14, 15)
REAL = (FLOAT, DOUBLE, HALF, BFLOAT16)
_PLAIN = {
    1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8", 12: "<u4",
    13: "<u8",
}  # fmt: skip
_FIELDS = {1: "float_data", 11: "double_data", 7: "int64_data", 12: "uint64_data", 13: "uint64_data"}
NARROW = range(17, 27)  # floats of 8 bits and whole numbers of 4 and 2 bits, which the package unpacks
_IN_A_BYTE = {21: 2, 22: 2, 23: 2, 25: 4, 26: 4}  # numbers of 4 and of 2 bits
EXTERNAL = 1


@dataclass
class TensorReader:
    """Arrays of one file.

    folder  where external data may lie; None for none
    note    told what was changed: "weights of 16 bits ..."
    """

    folder: Path | None
    note: Callable[[str], None]
    _sizes: dict[Path, int] = field(default_factory=dict)

    def array(self, tensor: Any, name: str, *, may_be_nan: bool = False) -> Array:
        """The array of a TensorProto.

        raises  FormatError where the data do not fill the shape, DtypeError for what is no real number, RangeError
                for NaN, unless it `may_be_nan`
        """
        kind, shape = int(tensor.data_type), tuple(int(extent) for extent in tensor.dims)
        check_extents(shape, name)
        if kind in COMPLEX:
            raise DtypeError(f"{name} is of complex numbers; programs compute on real ones: split it into two arrays")
        if tensor.HasField("segment"):
            raise FormatError(f"{name} is stored in segments, which is not supported; save the model again")
        if kind == STRING:
            return self._strings(tensor, shape, name)
        if kind in NARROW:
            found = self._small(tensor, shape, name)
        elif kind in _PLAIN or kind == BFLOAT16:
            found = self._numbers(tensor, kind, shape, name)
        else:
            raise DtypeError(f"{name} is of ONNX's data type {kind}, which is not known; save it as float32")
        if found.dtype.kind == "f" and not may_be_nan and np.isnan(found).any():
            raise RangeError(f"{name} holds NaN; repair the model: no result could be told from it")
        return found

    def _strings(self, tensor: Any, shape: tuple[int, ...], name: str) -> Array:
        if prod(shape) != len(tensor.string_data):
            raise _misfit(name, shape, len(tensor.string_data), prod(shape), "strings")
        return np.array([text.decode("utf-8", "replace") for text in tensor.string_data]).reshape(shape)

    def _small(self, tensor: Any, shape: tuple[int, ...], name: str) -> Array:
        if tensor.data_location == EXTERNAL:
            raise FormatError(f"{name} has external data of less than 8 bits; save it within the model")
        stored, count = len(tensor.raw_data) or len(tensor.int32_data), prod(shape)
        needed = -(-count // _IN_A_BYTE.get(int(tensor.data_type), 1))
        if stored != needed:
            raise _misfit(name, shape, stored, needed, "bytes")
        check_size(shape)
        try:
            found = onnx_package().numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise FormatError(f"{name} cannot be unpacked: {error}; the file is damaged") from error
        spend(found.size)
        if "float" in found.dtype.name:
            self.note("weights of 8 bits were restored to numbers")
            return np.asarray(found.astype(np.float32))
        return np.asarray(found.astype(np.uint8 if found.dtype.name.startswith("u") else np.int8))

    def _numbers(self, tensor: Any, kind: int, shape: tuple[int, ...], name: str) -> Array:
        dtype = np.dtype(_PLAIN.get(kind, "<u2"))
        count = prod(shape)
        if tensor.data_location == EXTERNAL:
            found = self._external(tensor, dtype, count, name)
        elif tensor.HasField("raw_data"):
            data = tensor.raw_data
            if len(data) != count * dtype.itemsize:
                raise _misfit(name, shape, len(data), count * dtype.itemsize, "bytes")
            found = np.frombuffer(data, dtype)
        else:
            stored = getattr(tensor, _FIELDS.get(kind, "int32_data"))
            if len(stored) != count:
                raise _misfit(name, shape, len(stored), count, "numbers")
            found = _from_stored(np.array(stored), kind, dtype)
        found = found.reshape(shape)
        if kind == BFLOAT16:
            found = (found.astype(np.uint32) << 16).view(np.float32)
        if kind in (HALF, BFLOAT16):
            self.note("weights of 16 bits were restored to numbers")
            return found.astype(np.float32)
        return found

    def _external(self, tensor: Any, dtype: np.dtype[Any], count: int, name: str) -> Array:
        told = {entry.key: entry.value for entry in tensor.external_data}
        path = self._path(told.get("location", ""), name)
        size = _regular_size(path, name)
        try:
            offset = int(told.get("offset") or 0)
            length = int(told.get("length") or count * dtype.itemsize)
        except ValueError:
            raise FormatError(f"{name}: offset or length of its external data is no number; it is damaged") from None
        if length != count * dtype.itemsize or not 0 <= offset <= size - length:
            raise FormatError(
                f"{name}: needs {count * dtype.itemsize} bytes, the file gives {length} at {offset} of {path.name}, "
                f"which has {size}; the files do not belong together"
            )
        take_data(length, name)
        with path.open("rb") as file:
            return np.fromfile(file, dtype, count, offset=offset)

    def _path(self, location: str, name: str) -> Path:
        if self.folder is None:
            raise UserError(
                f"{name} lies in a file of its own ({location}); give the path of the model instead of bytes"
            )
        inside = Path(os.path.realpath(self.folder))
        path = Path(os.path.realpath(inside / location.replace("\0", "")))
        if not location or "\0" in location or os.path.isabs(location) or inside not in path.parents:
            raise FormatError(
                f"{name}: its data are said to lie in {location!r}, outside its folder; put them beside the model"
            )
        return path


def _regular_size(path: Path, name: str) -> int:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise FormatError(
            f"{name}: its data in {path.name} cannot be read: {error}; put them beside the model"
        ) from error
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(f"{name}: its data are said to lie in {path.name}, which is no file")
    return found.st_size


def _from_stored(stored: Array, kind: int, dtype: np.dtype[Any]) -> Array:
    """Numbers of a field of a file as what they stand for; halves are stored as their bits."""
    if kind in (HALF, BFLOAT16):
        return stored.astype(np.uint16).view(dtype)
    return stored.astype(dtype)


def _misfit(name: str, shape: tuple[int, ...], have: int, need: int, unit: str) -> FormatError:
    return FormatError(
        f"{name} has shape {format_shape(shape)}, which takes {need} {unit}, and the file holds {have}; it is damaged"
    )
