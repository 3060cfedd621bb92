"""The tracer: turns what a program does with its arguments into operations of a module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import TraceError, UnsupportedError, UserError
from latticework.errors.remedies import REMEDIES
from latticework.frontend.recording.faults import Faults
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.unsupported import remedy
from latticework.functions.approximation.real_functions import Function, elementwise
from latticework.functions.table import RECORDS
from latticework.ir.builder import Builder, locate
from latticework.ir.core import Block, Op, OpSpec, Value
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.ir.module import Module
from latticework.ir.types import INDEX
from latticework.tensor.ops import ALL_OPS, COMPOSED, TensorOp, apply
from latticework.tensor.ops.constant import CONSTANT
from latticework.values.inputs.reading_budget import take_traced

NUMPY: dict[Callable[..., Any], Callable[..., Any]] = {
    function: trace for op in ALL_OPS for function, trace in op.numpy.items()
} | COMPOSED
_WORK_OF_OPERATION = 20  # to trace it, in units of ReadingLimits
_OF_SCIPY = {record.scipy: record.name for record in RECORDS if record.scipy}
_active: ContextVar[FunctionTracer | None] = ContextVar("latticework_tracer", default=None)


class Traced:
    """A value of the program being traced: an array or an index. It has no number yet, only a type."""

    __slots__ = ("_tracer", "_value")

    def __init__(self, tracer: FunctionTracer, value: Value) -> None:
        self._tracer = tracer
        self._value = value


class FunctionTracer:
    """One run of a user's function that records instead of computing.

    program  its name, for messages
    wrap     makes the user's view of a value (the classes of arrays and indices know the tracer, not it them)
    """

    def __init__(self, module: Module, program: str, wrap: Callable[[FunctionTracer, Value], Traced]) -> None:
        self.module = module
        self.program = program
        self._wrap = wrap
        self._builder = Builder(module.body)
        self._open: list[Block] = [module.body]
        self._calling = ""  # the NumPy function that is being traced, for messages
        self.rows: dict[Value, Value] = {}  # arrays with their leading axis along vectors (`subscripts.in_rows`)
        self.trips: dict[Value, int | None] = {}  # of the loops that are being traced, by their variable
        self.faults = Faults(f"program {program}", remedy)

    def wrap(self, value: Value) -> Traced:
        """Wrap a value for the user's function."""
        return self._wrap(self, value)

    def value_of(self, traced: Traced) -> Value:
        """The value behind a traced array or index, which must be visible in the block being traced."""
        value = traced._value
        if traced._tracer is not self or not self._open:
            raise TraceError(
                f"a value of an earlier run of program {traced._tracer.program} is used; a traced value lives only "
                "while its program is traced: do not keep it in a global or an attribute"
            )
        block = value.owner.block if isinstance(value.owner, Op) else value.owner
        if block not in self._open:
            raise TraceError(
                "a value computed inside the body of lw.for_loop is used outside it; "
                "return it from the body as one of the carried values"
            )
        return value

    def lift(self, operand: object) -> Value:
        """The tensor value of a traced array, of a plain operand (as a new constant), or of a value itself."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, Traced):
            value = self.value_of(operand)
            if value.type is INDEX:
                raise TraceError(
                    f"an index is used as a number in array arithmetic: {REMEDIES['counter'].for_programs}"
                )
            return value
        return self._constant(plain_array(operand, self._calling))

    def plain(self, operand: object) -> npt.NDArray[np.float64] | None:
        """A plain operand as a checked array, None for a traced one."""
        return None if isinstance(operand, (Traced, Value)) else plain_array(operand, self._calling)

    def emit(self, op: TensorOp, *operands: Value, **attrs: Any) -> Value:
        """Append a tensor operation at the user's line; what has public operands only is computed at once."""
        arrays = [self._public(value) for value in operands]
        if arrays and all(array is not None for array in arrays):
            (kind,) = op.spec.infer(operands, attrs, ())
            if not getattr(kind, "secret", True):
                return self._constant(plain_array(op.reference(arrays, attrs, self.module.sources), op.name))  # type: ignore[arg-type]
        take_traced(_WORK_OF_OPERATION)
        return self._builder.create(op.spec, operands, attrs, loc=user_loc()).result

    def create(self, spec: OpSpec, operands: Sequence[Value], attrs: dict[str, Any], **kwargs: Any) -> Op:
        """Append an operation of any dialect at the user's line."""
        return self._builder.create(spec, operands, attrs, loc=kwargs.pop("loc", None) or user_loc(), **kwargs)

    def call(self, trace: Callable[..., Value], *args: Any, **kwargs: Any) -> Any:
        """Run a trace function for the user; errors without a location get the user's line."""
        with user_line():
            self._calling = ""
            return self._wrap_results(trace(self, *args, **kwargs))

    def call_numpy(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a NumPy function of which an argument is traced."""
        with user_line():
            trace = NUMPY.get(function) or _of_another_package(function)
            if trace is None:
                raise UnsupportedError(
                    f"{_numpy_name(function)} is not supported on secret arrays: {remedy(function.__name__)}"
                )
            self._calling = _numpy_name(function)
            return self._wrap_results(trace(self, **_arguments(function, trace, args, kwargs)))

    def _wrap_results(self, result: Value | list[Value] | tuple[Value, ...]) -> Any:
        if isinstance(result, Value):
            return self.wrap(result)
        wrapped = [self.wrap(value) for value in result]
        return tuple(wrapped) if isinstance(result, tuple) else wrapped

    def _public(self, value: Value) -> npt.NDArray[np.float64] | None:
        """The array of a constant, None for what depends on a secret."""
        if not isinstance(value.owner, Op) or value.owner.spec is not CONSTANT.spec:
            return None
        return self.module.sources[value.owner.attrs["source"]]

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Trace into a nested block; its values are out of reach afterwards."""
        outer = self._builder
        self._builder = Builder(block)
        self._open.append(block)
        try:
            yield
        finally:
            self._open.pop()
            self._builder = outer

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the tracer of `current_tracer` for the length of the user's function."""
        token = _active.set(self)
        try:
            yield
        finally:
            _active.reset(token)
            self._open.clear()

    def _constant(self, array: npt.NDArray[np.float64]) -> Value:
        return self.emit(CONSTANT, source=self.module.add_source(array), shape=array.shape)


@lru_cache(maxsize=256)
def _of_another_package(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return how a ufunc of one number from another package, such as scipy.special.erf, is traced: approximated."""
    name = function.__name__
    if (
        not isinstance(function, np.ufunc)
        or getattr(np, name, None) is function
        or (function.nin, function.nout) != (1, 1)
    ):
        return None
    return apply.tracing(_OF_SCIPY.get(name) or Function(name, elementwise(function), unknown=True))


def current_tracer() -> FunctionTracer | None:
    """The tracer of the program being traced here, None if none is."""
    return _active.get()


class user_line:
    """Give errors that have no location the user's line, or `loc`."""

    __slots__ = ("_loc",)

    def __init__(self, loc: Loc | None = None) -> None:
        self._loc = loc

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, UserError) and error.at is None:
            raise locate(error, self._loc or user_loc()) from None


def _arguments(
    function: Callable[..., Any], trace: Callable[..., Value], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments of a NumPy call by name; UnsupportedError for options that the trace function does not know."""
    known, defaults = _parameters(trace), {}
    if isinstance(function, np.ufunc):
        if len(args) > function.nin:
            raise _unknown_option(_numpy_name(function), "out")
        if len(args) < function.nin:
            raise TraceError(f"{_numpy_name(function)} takes {function.nin} arrays, got {len(args)}")
        given = dict(zip(known, args, strict=True)) | dict(kwargs)
    else:
        signature = _signature(function)
        try:
            given = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TraceError(f"{_numpy_name(function)}: {error}; its arguments are {signature}") from None
        defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    result = {}
    for name, value in given.items():
        if name in known:
            result[name] = value
        elif value is not None and value is not defaults.get(name) and not (name == "dtype" and _is_double(value)):
            raise _unknown_option(_numpy_name(function), name)
    return {name: value for name, value in result.items() if value is not defaults.get(name, inspect.Parameter.empty)}


def _is_double(dtype: Any) -> bool:
    """Whether a dtype is that of all results."""
    return isinstance(dtype, type | str | np.dtype) and np.dtype(dtype) == np.float64


def _unknown_option(function: str, name: str) -> UnsupportedError:
    if name == "out":
        return UnsupportedError(
            f"{function} would write a secret result into a NumPy array (out=, or an in-place operator on an "
            "array); make a new value instead: y = y + x"
        )
    return UnsupportedError(f"{function}: the option {name}= is not supported on secret arrays; leave it out")


def _numpy_name(function: Callable[..., Any]) -> str:
    """The name as users write it: np.add, np.linalg.inv."""
    if isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function:
        return function.__name__  # of SciPy, mostly: a ufunc does not know where it is defined
    module = "numpy" if isinstance(function, np.ufunc) else function.__module__
    return f"{module}.{function.__name__}".replace("numpy", "np", 1)


@lru_cache(maxsize=256)
def _parameters(trace: Callable[..., Value]) -> tuple[str, ...]:
    return tuple(inspect.signature(trace).parameters)[1:]


@lru_cache(maxsize=256)
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)
