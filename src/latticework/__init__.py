"""latticework: compile ordinary NumPy-like programs to run on encrypted data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latticework import errors
from latticework.compile import compile
from latticework.errors import RangeWarning, UserError
from latticework.frontend import (
    Circuit,
    Index,
    Program,
    Secret,
    avg_pool2d,
    circuit,
    conv1d,
    conv2d,
    exp,
    for_loop,
    gelu,
    matrix,
    polynomial,
    program,
    relu,
    scalar,
    select,
    sigmoid,
    square,
    sum_pool2d,
    tanh,
    vector,
)
from latticework.model import Model
from latticework.runtime import Client, Encrypted, Keys, OwnerValue, PublicKeys, Server
from latticework.techniques import Techniques

if TYPE_CHECKING:
    from latticework import bfv as bfv
    from latticework import ckks as ckks

__version__ = "0.1.0"

load = Model.load

_LAZY = {"bfv", "ckks"}  # packages that are imported when they are first used


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Circuit",
    "Client",
    "Encrypted",
    "Index",
    "Keys",
    "Model",
    "OwnerValue",
    "Program",
    "PublicKeys",
    "RangeWarning",
    "Secret",
    "Server",
    "Techniques",
    "UserError",
    "avg_pool2d",
    "circuit",
    "compile",
    "conv1d",
    "conv2d",
    "errors",
    "exp",
    "for_loop",
    "gelu",
    "load",
    "matrix",
    "polynomial",
    "program",
    "relu",
    "scalar",
    "select",
    "sigmoid",
    "square",
    "sum_pool2d",
    "tanh",
    "vector",
]
