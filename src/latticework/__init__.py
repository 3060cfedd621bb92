"""latticework: compile ordinary NumPy-like programs to run on encrypted data."""

from latticework import errors
from latticework.compile import compile
from latticework.errors import UserError
from latticework.frontend import (
    Index,
    Program,
    Secret,
    exp,
    for_loop,
    gelu,
    polynomial,
    program,
    relu,
    sigmoid,
    square,
    tanh,
)
from latticework.model import Model
from latticework.runtime import Client, Encrypted, Keys, OwnerValue, PublicKeys, Server

__version__ = "0.1.0"

load = Model.load

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
    "UserError",
    "compile",
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
    "tanh",
]
