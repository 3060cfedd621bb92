"""Models of Keras and TensorFlow, which are no programs: how they become ONNX files.

They are known by the names of their classes, by the names of files, and by how files begin; no package is imported.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

_PACKAGES = ("keras", "tf_keras", "tensorflow")
_CONVERT = "python -m tf2onnx.convert --{kind} {source} --output net.onnx"
_EXPORT = 'in Keras 3, model.export("net.onnx", format="onnx")'
_THEN = 'then lw.from_onnx("net.onnx")'
WAY = (
    "convert Keras models to ONNX: `" + _CONVERT.format(kind="keras", source="net.keras") + f"` or, {_EXPORT}; {_THEN}"
)
_HDF5, _ZIP, _TFLITE = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"TFL3"
_FIRST_ENTRIES = (b"metadata.json", b"config.json", b"model.weights.h5")  # of the archive that Keras 3 writes
_SUFFIXES = {".keras": "keras", ".h5": "keras", ".hdf5": "keras", ".tflite": "tflite"}


def find_keras_way(given: Any) -> str:
    """Say what a model of Keras or TensorFlow is, and how to convert it; "" for everything else.

    given   an object, a path, or bytes
    """
    if isinstance(given, bytes | bytearray | memoryview):
        kind = _kind_by_start(bytes(given[:64]))
        return _way(f"a model of {_name(kind)}", kind, f"net.{kind}") if kind else ""
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        kind = _kind_of_path(path)
        return _way(f"{path.name or path} is a model of {_name(kind)}", kind, str(path)) if kind else ""
    ancestors = type(given).__mro__ if not isinstance(given, type) else given.__mro__
    if not any(each.__module__.partition(".")[0] in _PACKAGES for each in ancestors):
        return ""
    return f"a {ancestors[0].__name__} is a model of Keras or TensorFlow; {WAY}"


def _kind_of_path(path: Path) -> str:
    """The name of an option of tf2onnx; "" where it takes none."""
    try:
        if path.is_dir():
            return "saved-model" if (path / "saved_model.pb").is_file() else ""
        if path.is_file() and path.suffix not in _SUFFIXES:
            with path.open("rb") as file:
                return _kind_by_start(file.read(64))
    except (OSError, ValueError):
        return ""
    return _SUFFIXES.get(path.suffix, "")


def _kind_by_start(start: bytes) -> str:
    if start.startswith(_HDF5):
        return "keras"
    if start.startswith(_ZIP) and start[30:].startswith(_FIRST_ENTRIES):
        return "keras"
    return "tflite" if start[4:8] == _TFLITE else ""


def _name(kind: str) -> str:
    return "Keras" if kind == "keras" else "TensorFlow"


def _way(what: str, kind: str, source: str) -> str:
    convert = _CONVERT.format(kind=kind, source=shlex.quote(source))
    return f"{what}; convert it to ONNX: `{convert}`" + (f" or, {_EXPORT}" if kind == "keras" else "") + f"; {_THEN}"
