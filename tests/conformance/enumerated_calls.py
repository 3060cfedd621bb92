"""Every function of NumPy, numpy.linalg, math, operator and the built-ins, every operator and special method, in calls.

All of them are found in the modules and types themselves, so those that a new version brings are covered.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

MODULES: tuple[ModuleType, ...] = (np, np.linalg, math, operator, builtins)
TYPES = (int, float, list, np.ndarray)

# They ask whoever runs the tests, end the process, change how NumPy prints, read a file, or make Python's own objects.
EXCLUDED = {
    "builtins.breakpoint", "builtins.exit", "builtins.quit", "builtins.input", "builtins.help", "builtins.open",
    "builtins.copyright", "builtins.credits", "builtins.license", "builtins.print", "np.info", "np.test",
    "np.show_config", "np.show_runtime", "np.linalg.test", "np.set_printoptions", "np.setbufsize", "np.seterr",
    "np.seterrcall", "np.printoptions",
    "np.load", "np.fromfile", "np.loadtxt", "np.genfromtxt", "np.fromregex", "np.memmap",
    "builtins.property", "builtins.classmethod", "builtins.staticmethod", "builtins.super", "builtins.dir",
}  # fmt: skip
# They make or change Python objects, whatever these mean, or describe how memory holds them.
OF_OBJECTS = {
    "__class__", "__init__", "__new__", "__init_subclass__", "__subclasshook__", "__setattr__", "__delattr__", "__dir__",
    "__getattribute__", "__setstate__", "__getstate__", "__sizeof__", "__doc__", "__class_getitem__", "__array_priority__",
}  # fmt: skip
# What lies in memory behind an array of objects is addresses, which nobody can compute with.
OF_MEMORY = {
    "builtins.id", "builtins.bytes", "builtins.bytearray", "builtins.memoryview", "np.frombuffer", "np.bytes_", ".tobytes", ".data",
    ".ctypes", ".byteswap", ".view", ".getfield", ".setfield", ".__array_interface__", ".__array_struct__", ".from_bytes",
    "np.may_share_memory", "np.shares_memory", "builtins.eval", "builtins.exec", ".tofile", "operator.is_", "operator.is_not",
    ".__buffer__", "._set_dtype",
}  # fmt: skip
# Results are whatever was in memory.
UNINITIALISED = {"np.empty", "np.empty_like", "np.ndarray", "np.recarray"}


def functions() -> dict[str, Callable[..., Any]]:
    """All public callables of the modules by name, methods of ufuncs among them."""
    found: dict[str, Callable[..., Any]] = {}
    for module in MODULES:
        prefix = module.__name__.replace("numpy", "np")
        for name in dir(module):
            function = getattr(module, name)
            is_error = isinstance(function, type) and issubclass(function, BaseException)
            if name.startswith("_") or isinstance(function, ModuleType) or is_error:
                continue
            if callable(function):
                found[f"{prefix}.{name}"] = function
            elif hasattr(function, "__getitem__") and not isinstance(function, str | dict | list | tuple):
                found[f"{prefix}.{name}[]"] = function.__getitem__  # np.r_ and its like
            if isinstance(function, np.ufunc):
                for method in ("reduce", "accumulate", "outer", "reduceat", "at"):
                    found[f"{prefix}.{name}.{method}"] = getattr(function, method)
    once = {id(function): name for name, function in reversed(found.items())}  # np.abs is np.absolute
    return {name: found[name] for name in reversed(once.values()) if name not in EXCLUDED}


def methods() -> dict[str, Callable[..., Any]]:
    """Everything that a number, a list or an array has, called on an object: special methods among them."""
    names = sorted({name for kind in TYPES for name in dir(kind)} - OF_OBJECTS)

    def caller(name: str) -> Callable[..., Any]:
        def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
            found = getattr(owner, name)
            return found(*args, **kwargs) if callable(found) else found

        return call

    return {f".{name}": caller(name) for name in names}


def first(*args: Any) -> Any:
    """A function to be given to functions."""
    return args[0]


def mask() -> Any:
    """A public mask."""
    return np.array([True, False, True])


def numbers() -> Any:
    """Public numbers."""
    return np.array([0.5, 2.0, -1.0])


# Plausible arguments, of vectors v and w (3,), a square matrix m, and numbers s and t.
CALLS: dict[str, Callable[[Any, Any, Any, Any, Any], tuple[Any, ...]]] = {
    "v": lambda v, w, m, s, t: (v,),
    "m": lambda v, w, m, s, t: (m,),
    "s": lambda v, w, m, s, t: (s,),
    "list": lambda v, w, m, s, t: ([s, t],),
    "list of one": lambda v, w, m, s, t: ([s],),
    "pair": lambda v, w, m, s, t: ((v, w),),
    "with public": lambda v, w, m, s, t: ([v, numbers()],),
    "rows": lambda v, w, m, s, t: ([[s, t], [t, s]],),
    "ragged": lambda v, w, m, s, t: ([[s, t], [s]],),
    "v w": lambda v, w, m, s, t: (v, w),
    "v v": lambda v, w, m, s, t: (v, v),
    "m m": lambda v, w, m, s, t: (m, m),
    "m v": lambda v, w, m, s, t: (m, v),
    "v p": lambda v, w, m, s, t: (v, numbers()),
    "p v": lambda v, w, m, s, t: (numbers(), v),
    "s t": lambda v, w, m, s, t: (s, t),
    "s 2": lambda v, w, m, s, t: (s, 2),
    "2 s": lambda v, w, m, s, t: (2, s),
    "s half": lambda v, w, m, s, t: (s, 0.5),
    "v s": lambda v, w, m, s, t: (v, s),
    "s v": lambda v, w, m, s, t: (s, v),
    "v 0": lambda v, w, m, s, t: (v, 0),
    "v 1": lambda v, w, m, s, t: (v, 1),
    "1 v": lambda v, w, m, s, t: (1, v),
    "m 1": lambda v, w, m, s, t: (m, 1),
    "p s": lambda v, w, m, s, t: (numbers(), s),
    "p list": lambda v, w, m, s, t: (numbers(), [s, t, s]),
    "lists": lambda v, w, m, s, t: ([s, t], [s, t]),
    "list s": lambda v, w, m, s, t: ([2, s, t], t),
    "s list": lambda v, w, m, s, t: (s, [2, 3]),
    "v numbers": lambda v, w, m, s, t: (v, [0, 1]),
    "v mask": lambda v, w, m, s, t: (v, mask()),
    "mask v": lambda v, w, m, s, t: (mask(), v),
    "v slice": lambda v, w, m, s, t: (v, slice(0, 2)),
    "v str": lambda v, w, m, s, t: (v, "f"),
    "str v": lambda v, w, m, s, t: ("{}", v),
    "s str": lambda v, w, m, s, t: (s, "f"),
    "v float": lambda v, w, m, s, t: (v, float),
    "v w v": lambda v, w, m, s, t: (v, w, v),
    "s t s": lambda v, w, m, s, t: (s, t, s),
    "s 2 5": lambda v, w, m, s, t: (s, 2, 5),
    "mask v w": lambda v, w, m, s, t: (mask(), v, w),
    "mask v 0": lambda v, w, m, s, t: (mask(), v, 0.0),
    "v 0 1": lambda v, w, m, s, t: (v, 0, 1),
    "m 0 1": lambda v, w, m, s, t: (m, 0, 1),
    "v p p": lambda v, w, m, s, t: (v, numbers(), numbers()),
    "p p v": lambda v, w, m, s, t: (numbers(), numbers(), v),
    "v 0 s": lambda v, w, m, s, t: (v, 0, s),
    "v s 1": lambda v, w, m, s, t: (v, s, 1),
    "f v": lambda v, w, m, s, t: (first, v),
    "f v w": lambda v, w, m, s, t: (first, v, w),
    "f 0 m": lambda v, w, m, s, t: (first, 0, m),
    "einsum": lambda v, w, m, s, t: ("ij,j->i", m, v),
}
OPTIONS: dict[str, Callable[[Any, Any, Any, Any, Any], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "axis=": lambda v, w, m, s, t: ((m,), {"axis": 0}),
    "axes=": lambda v, w, m, s, t: ((m,), {"axis": (0, 1)}),
    "keepdims=": lambda v, w, m, s, t: ((m,), {"axis": 1, "keepdims": True}),
    "a secret axis=": lambda v, w, m, s, t: ((m,), {"axis": s}),
    "pair, axis=": lambda v, w, m, s, t: (((v, w),), {"axis": 0}),
    "where=": lambda v, w, m, s, t: ((v,), {"where": mask()}),
    "a secret where=": lambda v, w, m, s, t: ((v,), {"where": w}),
    "v w where= out=": lambda v, w, m, s, t: ((v, w), {"where": mask(), "out": numbers()}),
    "out=": lambda v, w, m, s, t: ((v,), {"out": numbers()}),
    "v w out=": lambda v, w, m, s, t: ((v, w), {"out": numbers()}),
    "a secret out=": lambda v, w, m, s, t: ((numbers(),), {"out": v}),
    "dtype=": lambda v, w, m, s, t: ((v,), {"dtype": np.float32}),
    "double dtype=": lambda v, w, m, s, t: ((v,), {"dtype": np.float64}),
    "int dtype=": lambda v, w, m, s, t: ((v,), {"dtype": int}),
    "bool dtype=": lambda v, w, m, s, t: ((v,), {"dtype": bool}),
    "object dtype=": lambda v, w, m, s, t: ((v,), {"dtype": object}),
    "v w int dtype=": lambda v, w, m, s, t: ((v, w), {"dtype": int}),
    "casting=": lambda v, w, m, s, t: ((v, w), {"casting": "unsafe"}),
    "initial=": lambda v, w, m, s, t: ((v,), {"initial": s}),
    "public, initial=": lambda v, w, m, s, t: ((numbers(),), {"initial": s}),
    "weights=": lambda v, w, m, s, t: ((v,), {"weights": w}),
    "key=": lambda v, w, m, s, t: (([s, t],), {"key": first}),
    "default=": lambda v, w, m, s, t: (([],), {"default": s}),
    "start=": lambda v, w, m, s, t: (([s, t],), {"start": s}),
    "ddof=": lambda v, w, m, s, t: ((v,), {"ddof": 1}),
    "mode=": lambda v, w, m, s, t: ((v, w), {"mode": "same"}),
    "order=": lambda v, w, m, s, t: ((m,), {"order": "F"}),
    "shape=": lambda v, w, m, s, t: ((v,), {"shape": (2,)}),
    "n=": lambda v, w, m, s, t: ((v,), {"n": 2}),
    "k=": lambda v, w, m, s, t: ((m,), {"k": 1}),
    "side=": lambda v, w, m, s, t: ((numbers(), v), {"side": "right"}),
    "bins=": lambda v, w, m, s, t: ((v,), {"bins": 2}),
}
OF_METHODS = (
    "v", "m", "s", "list", "v w", "v p", "p v", "s t", "s 2", "2 s", "s half", "v s", "s v", "v 0", "v 1", "1 v", "m 1", "m v",
    "p s", "list s", "s list", "v numbers", "v mask", "v slice", "v str", "s str", "s 2 5", "v 0 1", "v 0 s", "v s 1",
    "axis=", "keepdims=", "where=", "a secret where=", "out=", "a secret out=", "dtype=", "int dtype=", "initial=",
)  # fmt: skip
# There are five methods of each ufunc, and they differ in nothing but the numbers that they compute.
OF_UFUNC_METHODS = (
    "v", "m", "s", "list of one", "v w", "v p", "p v", "s 2", "2 s", "v numbers", "v 0 1", "m 1", "axis=", "keepdims=", "where=",
    "out=", "a secret out=", "dtype=", "initial=", "public, initial=", "a secret axis=",
)  # fmt: skip


def arguments(call: str, given: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, those given as v, w, m, s, t; arrays are copied."""
    copies = [array.copy() if isinstance(array, np.ndarray) else array for array in given]
    return (CALLS[call](*copies), {}) if call in CALLS else OPTIONS[call](*copies)


@cache
def fitting(name: str, function: Callable[..., Any]) -> tuple[str, ...]:
    """The calls that a function's signature has room for; where none can be read, those without options."""
    given = (numbers(), numbers(), np.eye(3), 2.0, 3.0)
    if name.count(".") == 2 and name.startswith("np.") and not name.startswith("np.linalg"):
        return OF_UFUNC_METHODS
    if name.startswith("."):
        return OF_METHODS
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return tuple(CALLS)
    found = []
    for call in (*CALLS, *OPTIONS):
        args, kwargs = arguments(call, given)
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        found.append(call)
    return tuple(found)


def is_random(name: str, call: str) -> bool:
    """Whether the result of a call is whatever was in memory: also of a ufunc, where a mask leaves out elements."""
    return name in UNINITIALISED or (call == "where=" and name.count(".") == 1 and hasattr(np, name[3:]))


def finished(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result, iterators run through; of a call that gives a function (np.vectorize), what that gives."""
    result = function(*args, **kwargs)
    if isinstance(result, Iterator):
        return list(itertools.islice(result, 20))
    if callable(result) and not isinstance(result, type) and not hasattr(result, "shape") and args:
        return result(args[-1])
    return result


def equal(got: Any, wanted: Any) -> bool:
    """Whether two results are the same numbers in the same structure; a text may name an encrypted number instead."""
    if (isinstance(wanted, np.ndarray | np.generic) and np.asarray(wanted).dtype.kind in "USV") or isinstance(
        wanted, str
    ):
        return "encrypted" in str(got) or "secret" in str(got) or str(got) == str(wanted)
    if isinstance(got, list | tuple) and isinstance(wanted, list | tuple):
        return len(got) == len(wanted) and all(equal(a, b) for a, b in zip(got, wanted, strict=True))
    if isinstance(got, dict) and isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(equal(got[key], wanted[key]) for key in got)
    if isinstance(got, slice) and isinstance(wanted, slice):
        return all(equal(getattr(got, a), getattr(wanted, a)) for a in ("start", "stop", "step"))
    if isinstance(wanted, np.dtype | type) or wanted is None:
        return got is wanted or (isinstance(got, np.dtype) and got.hasobject) or isinstance(wanted, type)
    a, b = _numeric(got), _numeric(wanted)
    if isinstance(got, np.ndarray) and isinstance(wanted, np.ndarray) and (a is None or b is None):
        return got.shape == wanted.shape and equal(got.reshape(-1).tolist(), wanted.reshape(-1).tolist())
    if a is None or b is None:
        return type(got) is type(wanted) and bool(got == wanted)
    return a.shape == b.shape and (a.dtype != bool or b.dtype == bool) and np.allclose(a, b, equal_nan=True)


def _numeric(given: Any) -> Any:
    try:
        array = np.asarray(given)
        if array.dtype == object:
            array = np.reshape([float(x) for x in array.reshape(-1)], array.shape)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "biufc" else None
