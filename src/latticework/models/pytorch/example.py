"""The example that says which shapes will be encrypted."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from latticework.errors import DtypeError, TraceError
from latticework.ir.location import Loc
from latticework.values.inputs.foreign_arrays import as_array, is_tensor


def example_of(torch: Any, module: Any, example: Any, at: Loc) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments of forward, arrays as tensors of the kind of the module's weights.

    raises  TraceError where forward does not take them, DtypeError for tensors of whole or complex numbers
    """
    name, signature = type(module).__name__, inspect.signature(module.forward)
    if example is None:
        raise TraceError(
            f"from_torch: {name} is exported with an example of the shapes that will be encrypted, and none is given; "
            f"give one for {', '.join(signature.parameters)}, such as example=torch.zeros(1, 3, 32, 32)",
            at=at,
        )
    args, kwargs = _arguments(example)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        takes = ", ".join(signature.parameters)
        raise TraceError(
            f"from_torch: {name}.forward takes {takes}, the example does not fit ({error}); give a tensor, a tuple of "
            "tensors in that order, or a dictionary by name",
            at=at,
        ) from None
    weight = next((p for p in module.parameters() if p.is_floating_point()), torch.zeros(()))
    like = {"dtype": weight.dtype, "device": weight.device}
    made = {key: _tensors(torch, value, key, like, at) for key, value in bound.arguments.items()}
    bound.arguments.update(made)
    return bound.args, bound.kwargs


def check_example(exported_inputs: Mapping[str, tuple[int, ...]], example: Any, name: str, at: Loc) -> None:
    """TraceError unless an example for an exported program has the shapes that it was exported for."""
    args, kwargs = _arguments(example)
    given = {**dict(zip(exported_inputs, args, strict=False)), **kwargs}
    shapes = {key: as_array(value).shape for key, value in given.items() if is_tensor(value) or hasattr(value, "shape")}
    wrong = [key for key, shape in shapes.items() if exported_inputs.get(key) != shape]
    if wrong or len(shapes) != len(exported_inputs):
        takes = ", ".join(f"{key} {shape}" for key, shape in exported_inputs.items())
        have = ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "none"
        raise TraceError(
            f"from_torch: {name} was exported for {takes}; the example has {have}: leave it out, or export anew", at=at
        )


def _arguments(example: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example, Mapping):
        return (), {str(key): value for key, value in example.items()}
    return (example if isinstance(example, tuple) else (example,)), {}


def _tensors(torch: Any, value: Any, name: str, like: Mapping[str, Any], at: Loc) -> Any:
    """A part of the example, tensors in the place of arrays; each its own, since PyTorch takes equal ones for one."""
    if isinstance(value, tuple | list):
        return type(value)(_tensors(torch, part, f"{name}[{i}]", like, at) for i, part in enumerate(value))
    if isinstance(value, Mapping):
        return {key: _tensors(torch, part, f"{name}[{key!r}]", like, at) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        floating = value.dtype.kind == "f"
        value = torch.as_tensor(np.asarray(value), **like) if floating else torch.as_tensor(np.asarray(value))
    if isinstance(value, torch.Tensor) and value.is_complex():
        raise DtypeError(f"from_torch: the input {name} is of {value.dtype}; give its real and imaginary parts", at=at)
    return value.detach().clone() if isinstance(value, torch.Tensor) else value
