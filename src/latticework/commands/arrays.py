"""Arrays in .npy and .npz files."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from latticework import _core
from latticework.commands.files import STANDARD, source
from latticework.errors import DtypeError, FormatError


def read_arrays(path: Path) -> Any:
    """An array from .npy, a dictionary of arrays from .npz; `-` is standard input."""
    given = source(path)
    try:
        with io.BytesIO(given) if isinstance(given, bytes) else given.open("rb") as file:  # NumPy would leave it open
            loaded = np.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, BadZipFile, zlib.error):
        raise FormatError(
            f"{path} is not a .npy or .npz file of numbers; save it with np.save({str(path.with_suffix('.npy'))!r}, "
            "array), or several arrays by name with np.savez"
        ) from None


def read_values(path: Path) -> Any:
    """What `read_arrays` reads, single integers as Python's: files hold a run-time integer as an array of no axes."""
    read = read_arrays(path)
    return {name: _value(array) for name, array in read.items()} if isinstance(read, dict) else _value(read)


def _value(array: np.ndarray[Any, Any]) -> Any:
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else array


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
    """One array as .npy; several, or one that is to be named, as .npz."""
    buffer = io.BytesIO()
    if named or len(arrays) != 1:
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
    else:
        np.save(buffer, next(iter(arrays.values())))
    return buffer.getvalue()
