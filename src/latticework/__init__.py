"""latticework: compile ordinary NumPy-like programs to run on encrypted data.

A public name is imported when it is first used, so that whoever only makes keys, encrypts or runs a plan, or uses
`bfv` or `ckks` alone, never loads the compiler.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latticework import errors
from latticework.errors import ApproximationWarning, EffortWarning, LeftoverWarning, RangeWarning, UserError
from latticework.moved_modules import find_moved_modules

if TYPE_CHECKING:  # the same names as in _HOMES, for type checkers and editors
    from builtins import int as Index  # as what an annotation says: Secret[Array, 1, 64] is an array, an Index an int
    from typing import Annotated as Secret

    from latticework import bfv as bfv
    from latticework import ckks as ckks
    from latticework import ir as ir
    from latticework import torch as torch
    from latticework.compiler.compile import compile
    from latticework.compiler.compile_ir import compile_ir
    from latticework.compiler.options.techniques import Techniques
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
    from latticework.frontend.circuits.circuit import circuit
    from latticework.frontend.functions.array_functions import (
        abs,
        approximate,
        divide,
        log,
        reciprocal,
        rsqrt,
        softmax,
        sqrt,
    )
    from latticework.frontend.functions.comparing import argmax, greater, sign, where
    from latticework.frontend.heir import from_heir
    from latticework.frontend.programs.array_program import program
    from latticework.frontend.queries import private_lookup, set_intersection
    from latticework.frontend.recording.annotations import Array, Number
    from latticework.model import Model, load
    from latticework.models.onnx import from_onnx
    from latticework.models.pytorch.import_pytorch import from_torch
    from latticework.models.sklearn import from_sklearn, load_skops
    from latticework.quoting import quote
    from latticework.runtime.client.client import Client
    from latticework.runtime.devices.device import Device, devices
    from latticework.runtime.devices.frames import frame
    from latticework.runtime.devices.profiles import profile
    from latticework.runtime.exchange.decrypted import OwnerValue
    from latticework.runtime.exchange.encrypted import Encrypted
    from latticework.runtime.keys.key_sets import Keys, PublicKeys
    from latticework.runtime.server.checkpoint import Checkpoint
    from latticework.runtime.server.server import Server
    from latticework.values.inputs.reading_budget import ReadingLimits

__version__ = "0.1.0"

_PACKAGES = ("bfv", "ckks", "ir", "torch")
_HOMES = {
    "compiler.compile": ("compile",),
    "compiler.compile_ir": ("compile_ir",),
    "runtime.client.client": ("Client",),
    "runtime.devices.device": ("Device", "devices"),
    "runtime.devices.frames": ("frame",),
    "runtime.devices.profiles": ("profile",),
    "frontend": (
        "Circuit", "Index", "Program", "Secret", "avg_pool2d", "bits", "conv1d", "conv2d", "conv_transpose2d",
        "exp", "for_loop", "gelu", "isin", "matrix", "maximum", "minimum", "polynomial", "public", "relu", "scalar",
        "scan", "select", "sigmoid", "square", "sum_pool2d", "table", "tanh", "vector",
    ),
    "frontend.recording.annotations": ("Array", "Number"),
    "frontend.circuits.circuit": ("circuit",),
    "frontend.functions.comparing": ("argmax", "greater", "sign", "where"),
    "frontend.functions.array_functions": (
        "abs", "approximate", "divide", "log", "reciprocal", "rsqrt", "softmax", "sqrt",
    ),
    "frontend.programs.array_program": ("program",),
    "frontend.queries": ("private_lookup", "set_intersection"),
    "quoting": ("quote",),
    "models.onnx": ("from_onnx",),
    "models.sklearn": ("from_sklearn", "load_skops"),
    "models.pytorch.import_pytorch": ("from_torch",),
    "frontend.heir": ("from_heir",),
    "model": ("Model", "load"),
    "runtime.exchange.encrypted": ("Encrypted",),
    "runtime.exchange.decrypted": ("OwnerValue",),
    "runtime.keys.key_sets": ("Keys", "PublicKeys"),
    "runtime.server.checkpoint": ("Checkpoint",),
    "runtime.server.server": ("Server",),
    "compiler.options.techniques": ("Techniques",),
    "values.inputs.reading_budget": ("ReadingLimits",),
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
    "compile_ir",
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
    "private_lookup",
    "profile",
    "program",
    "public",
    "quote",
    "reciprocal",
    "relu",
    "rsqrt",
    "scalar",
    "scan",
    "select",
    "set_intersection",
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

find_moved_modules()


def __getattr__(name: str) -> Any:
    if name == "_core":
        return import_module(f"{__name__}.values.extension")._core
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        instead = f"; see lw.{_OTHER_NAMES[name]}" if name in _OTHER_NAMES else ""
        if name in ("from_keras", "from_tensorflow"):
            instead = f"; {import_module(f'{__name__}.values.inputs.keras_models').WAY}"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{instead}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, "__version__"})  # what users need, also in an editor's list
