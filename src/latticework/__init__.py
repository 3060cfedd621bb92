"""latticework: compile ordinary NumPy-like programs to run on encrypted data.

A public name is imported when it is first used, so that whoever only makes keys, encrypts or runs a plan, or uses
`bfv` or `ckks` alone, never loads the compiler.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from latticework import errors
from latticework.errors import ApproximationWarning, EffortWarning, LeftoverWarning, RangeWarning, UserError

if TYPE_CHECKING:  # the same names as in _HOMES, for type checkers and editors
    from builtins import int as Index  # as what an annotation says: Secret[Array, 1, 64] is an array, an Index an int
    from typing import Annotated as Secret

    from latticework import bfv as bfv
    from latticework import ckks as ckks
    from latticework import torch as torch
    from latticework.compiler.compile import compile
    from latticework.devices.device import Device, devices
    from latticework.devices.frames import frame
    from latticework.devices.profiles import profile
    from latticework.frontend import (
        Circuit,
        Program,
        avg_pool2d,
        bits,
        conv1d,
        conv2d,
        conv_transpose2d,
        exp,
        for_loop,
        gelu,
        isin,
        matrix,
        maximum,
        minimum,
        polynomial,
        public,
        relu,
        scalar,
        scan,
        select,
        sigmoid,
        square,
        sum_pool2d,
        table,
        tanh,
        vector,
    )
    from latticework.frontend.annotations import Array, Number
    from latticework.frontend.circuit import circuit
    from latticework.frontend.comparing import argmax, greater, sign, where
    from latticework.frontend.functions import abs, approximate, divide, log, reciprocal, rsqrt, softmax, sqrt
    from latticework.frontend.program import program
    from latticework.importers.onnx_door import from_onnx
    from latticework.importers.sklearn_door import from_sklearn, load_skops
    from latticework.importers.torch_door.door import from_torch
    from latticework.interop.heir import from_heir
    from latticework.model import Model, load
    from latticework.runtime import Checkpoint, Client, Encrypted, Keys, OwnerValue, PublicKeys, Server
    from latticework.techniques import Techniques
    from latticework.user.reading import ReadingLimits

__version__ = "0.1.0"

_PACKAGES = ("bfv", "ckks", "torch")
_HOMES = {
    "compiler.compile": ("compile",),
    "devices.device": ("Device", "devices"),
    "devices.frames": ("frame",),
    "devices.profiles": ("profile",),
    "frontend": (
        "Circuit", "Index", "Program", "Secret", "avg_pool2d", "bits", "conv1d", "conv2d", "conv_transpose2d",
        "exp", "for_loop", "gelu", "isin", "matrix", "maximum", "minimum", "polynomial", "public", "relu", "scalar",
        "scan", "select", "sigmoid", "square", "sum_pool2d", "table", "tanh", "vector",
    ),
    "frontend.annotations": ("Array", "Number"),
    "frontend.circuit": ("circuit",),
    "frontend.comparing": ("argmax", "greater", "sign", "where"),
    "frontend.functions": ("abs", "approximate", "divide", "log", "reciprocal", "rsqrt", "softmax", "sqrt"),
    "frontend.program": ("program",),
    "importers.onnx_door": ("from_onnx",),
    "importers.sklearn_door": ("from_sklearn", "load_skops"),
    "importers.torch_door.door": ("from_torch",),
    "interop.heir": ("from_heir",),
    "model": ("Model", "load"),
    "runtime": ("Checkpoint", "Client", "Encrypted", "Keys", "OwnerValue", "PublicKeys", "Server"),
    "techniques": ("Techniques",),
    "user.reading": ("ReadingLimits",),
}  # fmt: skip
_OTHER_NAMES = {"inverse": "reciprocal", "inverse_sqrt": "rsqrt", "less": "greater"}  # that people look for
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "ApproximationWarning",
    "Array",
    "Checkpoint",
    "Circuit",
    "Client",
    "Device",
    "EffortWarning",
    "Encrypted",
    "Index",
    "Keys",
    "LeftoverWarning",
    "Model",
    "Number",
    "OwnerValue",
    "Program",
    "PublicKeys",
    "RangeWarning",
    "ReadingLimits",
    "Secret",
    "Server",
    "Techniques",
    "UserError",
    "abs",
    "approximate",
    "argmax",
    "avg_pool2d",
    "bits",
    "circuit",
    "compile",
    "conv1d",
    "conv2d",
    "conv_transpose2d",
    "devices",
    "divide",
    "errors",
    "exp",
    "for_loop",
    "frame",
    "from_heir",
    "from_onnx",
    "from_sklearn",
    "from_torch",
    "gelu",
    "greater",
    "isin",
    "load",
    "load_skops",
    "log",
    "matrix",
    "maximum",
    "minimum",
    "polynomial",
    "profile",
    "program",
    "public",
    "reciprocal",
    "relu",
    "rsqrt",
    "scalar",
    "scan",
    "select",
    "sigmoid",
    "sign",
    "softmax",
    "sqrt",
    "square",
    "sum_pool2d",
    "table",
    "tanh",
    "vector",
    "where",
]


def __getattr__(name: str) -> Any:
    if name == "_core":
        return _load_extension()
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        instead = f"; see lw.{_OTHER_NAMES[name]}" if name in _OTHER_NAMES else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def _load_extension() -> ModuleType:
    """The C++ extension; where it cannot be loaded or rebuilt, an ImportError that says what to do."""
    try:
        return import_module(f"{__name__}._core")
    except ImportError as error:
        raise import_module(f"{__name__}.words.extension").explain(error) from error


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, "__version__"})  # what users need, also in an editor's list


class _Package(ModuleType):
    """`circuit` is a submodule too: importing it does not put it in the place of the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
