"""The optional package that reads ONNX files."""

from __future__ import annotations

from typing import Any

from latticework.errors import MissingPackageError


def onnx_package() -> Any:
    """The package `onnx`. MissingPackageError where it is not installed."""
    try:
        import onnx
    except ImportError as error:
        raise MissingPackageError(
            "from_onnx: ONNX files are read with the package onnx, which is not installed: "
            "pip install latticework[onnx]"
        ) from error
    return onnx
