"""The arrays a traced program computes with: NumPy's operators, functions and methods, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, NoReturn

import numpy as np

from latticework.errors import DtypeError, TraceError, UnsupportedError
from latticework.errors.escaping import plain_text
from latticework.errors.remedies import REMEDIES
from latticework.frontend.programs import torch_calls
from latticework.frontend.recording.faults import MissingMethodError
from latticework.frontend.recording.indices import TracedIndex, refuse_indices
from latticework.frontend.recording.subscripts import take_subscript
from latticework.frontend.recording.tracing import FunctionTracer, Traced, user_line
from latticework.frontend.recording.unsupported import remedy
from latticework.ir.core import Value
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.lines import user_loc
from latticework.ir.types import INDEX
from latticework.tensor.ops import indexing
from latticework.tensor.ops.base import normal_axes


def _binary(function: np.ufunc, *, swapped: bool = False) -> Callable[[TracedArray, Any], Any]:
    def operator(self: TracedArray, other: Any) -> Any:
        refuse_indices((other,))
        return self._tracer.call_numpy(function, (other, self) if swapped else (self, other), {})

    return operator


def _refuse(what: str, advice: str) -> Callable[..., NoReturn]:
    def refuse(self: TracedArray, *_args: Any, **_kwargs: Any) -> NoReturn:
        message = f"{what}, but {self!r} has no value while the program is compiled; {advice}"
        raise self._tracer.faults.note(TraceError(message, at=user_loc()))

    return refuse


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method that does what a NumPy function does, with the function's own options."""

    def method(self: TracedArray, *args: Any, **kwargs: Any) -> Any:
        return self._tracer.call_numpy(function, (self, *args), kwargs)

    method.__doc__ = f"As ndarray.{function.__name__}."
    return method


class TracedArray(Traced):
    """A secret array in a program being traced; behaves as an ndarray of float64 without values."""

    __slots__ = ()
    __array_priority__ = 1000.0
    __pandas_priority__ = 5000  # so that frame * x asks this class, not for numbers

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        refuse_indices(inputs)
        if method == "reduce" and ufunc in _REDUCED:
            return self._tracer.call_numpy(_REDUCED[ufunc], inputs, {"axis": 0} | kwargs)
        if method != "__call__":
            raise UnsupportedError(
                f"np.{ufunc.__name__}.{method} is not supported on secret arrays: {remedy(ufunc.__name__)}",
                at=user_loc(),
            )
        return self._tracer.call_numpy(ufunc, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _ABOUT:
            with user_line():
                return _ABOUT[function](*args, **kwargs)
        return self._tracer.call_numpy(function, args, kwargs)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch_calls.call(function, args, kwargs or {})

    __array__ = _refuse(
        "NumPy asks for the numbers of a secret (np.asarray, np.array, assignment into an array, ndarray.dot)",
        "use operators and functions on it directly: w @ x, np.sum(x), np.stack([x, y])",
    )
    __bool__ = _refuse("if, while, and, or, not needs True or False", REMEDIES["branch"].for_programs)
    __float__ = _refuse("float() needs a number", REMEDIES["value"].for_programs)
    __int__ = _refuse("int() needs a number", REMEDIES["value"].for_programs)
    __complex__ = _refuse("complex() needs a number", REMEDIES["value"].for_programs)
    __index__ = _refuse(
        "range(), a subscript or a repeat count needs an integer",
        "use a public number; one known only at run time is a parameter annotated lw.Index",
    )
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse(
        "a comparison needs numbers", REMEDIES["comparison"].for_programs
    )
    __setitem__ = __delitem__ = _refuse("an element is assigned", REMEDIES["mutation"].for_programs)
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __imatmul__ = __ifloordiv__ = __imod__ = _refuse(
        "an in-place operator (+=, -=, *=, ...) changes an array that other names may share",
        REMEDIES["mutation"].for_programs,
    )
    __contains__ = _refuse("`in` needs comparisons", REMEDIES["comparison"].for_programs)
    __hash__ = _refuse("a set, or a key of a dictionary, needs numbers", "use a list, or id(x) as a key")
    __reduce__ = __reduce_ex__ = _refuse(
        "a copy in a file or another process needs numbers", "save what client.encrypt returns"
    )

    __add__, __radd__ = _binary(np.add), _binary(np.add, swapped=True)
    __sub__, __rsub__ = _binary(np.subtract), _binary(np.subtract, swapped=True)
    __mul__, __rmul__ = _binary(np.multiply), _binary(np.multiply, swapped=True)
    __matmul__, __rmatmul__ = _binary(np.matmul), _binary(np.matmul, swapped=True)
    __truediv__, __rtruediv__ = _binary(np.divide), _binary(np.divide, swapped=True)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide), _binary(np.floor_divide, swapped=True)
    __mod__, __rmod__ = _binary(np.remainder), _binary(np.remainder, swapped=True)
    __divmod__, __rdivmod__ = _binary(np.divmod), _binary(np.divmod, swapped=True)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        return _power(self, self, exponent, modulus)

    def __rpow__(self, base: Any, modulus: Any = None) -> Any:
        return _power(self, base, self, modulus)

    def __neg__(self) -> Any:
        return self._tracer.call_numpy(np.negative, (self,), {})

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._tracer.call_numpy(np.absolute, (self,), {})

    def __round__(self, _digits: int | None = None) -> Any:
        return self._tracer.call_numpy(np.round, (self,), {})

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        if any(isinstance(item, TracedIndex) for item in items):
            with user_line():
                return take_subscript(self._tracer, self, items)
        for item in items:
            if isinstance(item, Traced):
                raise TraceError(
                    f"{self!r} is subscripted by a secret; {REMEDIES['index'].for_programs}",
                    at=user_loc(),
                )
        return self._tracer.call(indexing.trace, self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TraceError(f"len() of {self!r}, which is a scalar; it has one value and no axis", at=user_loc())
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TraceError(f"iteration over {self!r}, which is a scalar; use the value itself", at=user_loc())
        return (self[i] for i in range(self.shape[0]))

    def __getattr__(self, name: str) -> NoReturn:
        if not name.startswith("__") and hasattr(np.ndarray, name):
            raise MissingMethodError(f"x.{name} is not supported on secret arrays: {remedy(name)}", at=user_loc())
        raise AttributeError(f"a secret array has no attribute {name!r}")

    def __format__(self, spec: str) -> str:
        return repr(self) if spec == "" else self._formatted()

    _formatted = _refuse("a format needs numbers", "decrypt the result, and print that")

    def __repr__(self) -> str:
        origin = self._value.origin
        name = f" {plain_text(origin.name)}" if origin is not None and origin.name else ""
        return f"<{'secret' if self._value.is_secret else 'public'} array{name} {self.shape}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        kind = self._value.type
        assert isinstance(kind, TensorType)
        return kind.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[np.float64]:
        """float64."""
        return np.dtype(np.float64)

    @property
    def T(self) -> Any:
        """Axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> Any:
        """Permute the axes, as ndarray.transpose."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return self._tracer.call_numpy(np.transpose, (self, order), {})

    def reshape(self, *shape: Any) -> Any:
        """Reshape in C order, as ndarray.reshape."""
        return self._tracer.call_numpy(np.reshape, (self, shape[0] if len(shape) == 1 else shape), {})

    ravel = _method(np.ravel)
    squeeze = _method(np.squeeze)
    swapaxes = _method(np.swapaxes)
    diagonal = _method(np.diagonal)
    trace = _method(np.trace)
    sum = _method(np.sum)
    mean = _method(np.mean)
    prod = _method(np.prod)
    var = _method(np.var)
    std = _method(np.std)
    cumsum = _method(np.cumsum)
    dot = _method(np.dot)
    take = _method(np.take)
    repeat = _method(np.repeat)

    def flatten(self, *args: Any, **kwargs: Any) -> Any:
        """Flatten, as ndarray.flatten; of numbers of axes, as the method of PyTorch's tensors."""
        if any(isinstance(given, int) for given in (*args, *kwargs.values())):
            with user_line():
                return torch_calls.call(torch_calls.flatten, (self, *args), kwargs)
        return self.ravel(*args, **kwargs)

    def copy(self, order: str = "C") -> TracedArray:
        """The array itself, which nothing can change."""
        if order not in ("C", "F", "A", "K"):
            raise TraceError(f"copy: order={order!r}; give one of C, F, A, K, or leave it out", at=user_loc())
        return self

    def __copy__(self) -> TracedArray:
        return self

    def __deepcopy__(self, memo: Any) -> TracedArray:
        return self

    def astype(self, dtype: Any) -> TracedArray:
        """The array itself for a floating-point dtype; DtypeError otherwise."""
        if np.dtype(dtype).kind != "f":
            raise DtypeError(
                f"astype({np.dtype(dtype)}) of {self!r}: {REMEDIES['dtype'].for_programs}",
                at=user_loc(),
            )
        return self


def _power(owner: TracedArray, base: Any, exponent: Any, modulus: Any) -> Any:
    if modulus is not None:
        raise TraceError("pow() with a modulus has no encrypted counterpart; write x**n", at=user_loc())
    refuse_indices((base, exponent))
    return owner._tracer.call_numpy(np.power, (base, exponent), {})


_REDUCED: dict[np.ufunc, Callable[..., Any]] = {np.add: np.sum, np.multiply: np.prod}


def wrap(tracer: FunctionTracer, value: Value) -> Traced:
    """The user's view of a value."""
    return TracedIndex(tracer, value) if value.type is INDEX else TracedArray(tracer, value)


def _zeros_like(a: TracedArray, dtype: Any = None, order: Any = None, subok: Any = None, shape: Any = None) -> Any:
    return np.zeros(a.shape if shape is None else shape, dtype or np.float64)


def _ones_like(a: TracedArray, dtype: Any = None, order: Any = None, subok: Any = None, shape: Any = None) -> Any:
    return np.ones(a.shape if shape is None else shape, dtype or np.float64)


_ABOUT: dict[Callable[..., Any], Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a, axis=None: prod(a.shape[i] for i in normal_axes("size", axis, a.ndim)),
    np.zeros_like: _zeros_like,
    np.ones_like: _ones_like,
    np.copy: lambda a, order="K", subok=False: a.copy(order),
}
