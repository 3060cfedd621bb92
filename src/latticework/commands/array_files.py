"""Arrays in .npy and .npz files."""

from __future__ import annotations

import io
import struct
import tokenize
import zlib
from math import prod
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

import numpy as np

from latticework.commands.command_files import STANDARD, source
from latticework.commands.sparse_files import dense_rows, is_sparse
from latticework.commands.table_files import is_table, read_table_file
from latticework.errors import DtypeError, FormatError, UserError
from latticework.values.extension import _core
from latticework.values.inputs.archives import check_archive
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits, open_regular

_HEADER_BYTES = 10_000
_FAULTS = (
    ValueError, TypeError, SyntaxError, EOFError, OverflowError, MemoryError, RecursionError, BadZipFile, zlib.error,
    struct.error, tokenize.TokenError,
)  # fmt: skip


def read_arrays(path: Path, limits: ReadingLimits = DEFAULTS) -> Any:
    """An array from .npy, a dictionary of arrays from .npz; `-` is standard input.

    raises  FormatError for what is neither, holds other than numbers, or unpacks to more than the limits allow
    """
    given = source(path)
    try:
        with (
            io.BytesIO(given) if isinstance(given, bytes) else open_regular(given) as file
        ):  # NumPy would leave it open
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            if not is_zipfile(file):
                file.seek(0)
                return _read_array(file, size)
            file.seek(0)
            check_archive(file, str(path), limits, size)
            with ZipFile(file) as archive:
                return {entry.filename.removesuffix(".npy"): _entry(archive, entry) for entry in archive.infolist()}
    except UserError:
        raise
    except _FAULTS:
        raise FormatError(
            f"{path} is not a .npy or .npz file of numbers; save it with np.save({str(path.with_suffix('.npy'))!r}, "
            "array), or several arrays by name with np.savez"
        ) from None


def _entry(archive: ZipFile, entry: ZipInfo) -> Any:
    with archive.open(entry) as file:
        return _read_array(file, entry.file_size)


def _read_array(file: IO[bytes], size: int) -> Any:
    """An array of numbers, of a file of so many bytes; ValueError where its header says another size than that."""
    version = np.lib.format.read_magic(file)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version}")
    shape, in_columns, dtype = readers[version](file, max_header_size=_HEADER_BYTES)
    if dtype.hasobject or dtype.itemsize == 0 or any(extent < 0 for extent in shape):
        raise ValueError("no numbers")
    count = prod(shape)
    if count * dtype.itemsize != size - file.tell():
        raise ValueError("another size")
    data = bytearray(count * dtype.itemsize)
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise ValueError("another size")
    return np.frombuffer(data, dtype, count).reshape(shape, order="F" if in_columns else "C")


def read_values(path: Path, limits: ReadingLimits = DEFAULTS) -> Any:
    """Read data: integers of no axes, run-time integers, as Python's, and what scipy.sparse.save_npz wrote as an array.

    Tables of .csv and .parquet files come as they are (`table_files.py`).

    raises  as `read_arrays`
    """
    if is_table(path):
        return read_table_file(path, limits)
    read = read_arrays(path, limits)
    if isinstance(read, dict) and is_sparse(read):
        return dense_rows(read, str(path), limits)
    return {name: _value(array) for name, array in read.items()} if isinstance(read, dict) else _value(read)


def _value(array: np.ndarray[Any, Any]) -> Any:
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else array


def _without_objects(array: Any) -> Any:
    is_whole = isinstance(array, np.ndarray) and array.dtype == object and all(isinstance(n, int) for n in array.flat)
    return np.array([b"%d" % n for n in array.flat], dtype=np.bytes_).reshape(array.shape) if is_whole else array


def check_form(path: Path) -> None:
    """DtypeError for a name that arrays cannot be written to."""
    if path != STANDARD and path.suffix not in (".npy", ".npz"):
        raise DtypeError(f"{path}: name it .npy, or .npz for several outputs")


def write_arrays(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """One array as .npy or several as .npz, atomically, readable by the owner only."""
    check_form(path)
    if path.suffix == ".npy" and len(arrays) != 1:
        raise DtypeError(f"{path}: {len(arrays)} outputs ({', '.join(arrays)}) do not fit one .npy; name it .npz")
    _core.write_file_atomic(str(path), array_bytes(arrays, named=path.suffix == ".npz"), 0o600)


def array_bytes(arrays: dict[str, np.ndarray[Any, Any]], *, named: bool = False) -> bytes:
    """One array as .npy; several, or one that is to be named, as .npz. Integers beyond int64 are written in decimal, a
    byte a digit, which int() reads: what else holds them in such a file is code."""
    arrays = {name: _without_objects(array) for name, array in arrays.items()}
    buffer = io.BytesIO()
    if named or len(arrays) != 1:
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
    else:
        np.save(buffer, next(iter(arrays.values())))
    return buffer.getvalue()
