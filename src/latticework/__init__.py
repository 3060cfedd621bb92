"""latticework: compile ordinary NumPy-like programs to run on encrypted data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latticework import errors
from latticework.compile import compile
from latticework.errors import UserError
from latticework.frontend import (
    Index,
    Program,
    Secret,
    avg_pool2d,
    conv1d,
    conv2d,
    exp,
    for_loop,
    gelu,
    polynomial,
    program,
    relu,
    sigmoid,
    square,
    sum_pool2d,
    tanh,
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
    "Client",
    "Encrypted",
    "Index",
    "Keys",
    "Model",
    "OwnerValue",
    "Program",
    "PublicKeys",
    "Secret",
    "Server",
    "Techniques",
    "UserError",
    "avg_pool2d",
    "compile",
    "conv1d",
    "conv2d",
    "errors",
    "exp",
    "for_loop",
    "gelu",
    "load",
    "polynomial",
    "program",
    "relu",
    "sigmoid",
    "square",
    "sum_pool2d",
    "tanh",
]
