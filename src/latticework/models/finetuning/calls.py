"""Calls of functions within a forward, each of which something else can answer.

PyTorch tells a mode of every function that is called with tensors, whether by name, as a method or by a module
(`torch.relu`, `x.relu_()`, `nn.ReLU`). A module calls the same ones in the same order in every forward.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode, resolve_name

from latticework.lazy_dataclass import dataclass

# Pools by their largest element, and those by the mean.
_AVERAGES: dict[str, Callable[..., Any]] = {
    "torch.nn.functional.max_pool1d": functional.avg_pool1d,
    "torch.nn.functional.max_pool2d": functional.avg_pool2d,
    "torch.max_pool1d": functional.avg_pool1d,
    "torch.max_pool2d": functional.avg_pool2d,
}
_ADAPTIVE = {
    "torch.nn.functional.adaptive_max_pool1d": functional.adaptive_avg_pool1d,
    "torch.nn.functional.adaptive_max_pool2d": functional.adaptive_avg_pool2d,
}
_WINDOWS = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")


@dataclass(frozen=True)
class Call:
    """A call of a function whose first argument is a tensor of real numbers.

    name  of the function, as "torch.nn.functional.relu"
    """

    name: str
    function: Callable[..., Any]
    x: Tensor
    rest: tuple[Any, ...]
    options: dict[str, Any]

    def of(self, x: Tensor) -> Any:
        """The result of the function for another tensor."""
        return self.function(x, *self.rest, **self.options)

    @cached_property
    def is_in_place(self) -> bool:
        """Whether it says that it changes the tensor that it is given."""
        last = self.name.rpartition(".")[2]
        if last.startswith("__i") or (last.endswith("_") and not last.endswith("__")):
            return True
        if not inspect.isfunction(self.function):
            return False
        given = inspect.signature(self.function).bind_partial(self.x, *self.rest, **self.options).arguments
        return bool(given.get("inplace", False))

    def return_result(self, made: Tensor) -> Tensor:
        """The result for the caller: `made` itself, or the caller's tensor overwritten by it."""
        return self.x.copy_(made) if self.is_in_place else made


class FunctionCalls(TorchFunctionMode):
    """Hands calls to `answer`, and takes the mean in the place of the largest element of pools if asked."""

    def __init__(self, *, averages: bool) -> None:
        super().__init__()
        self._averages = averages

    def answer(self, call: Call) -> Any:
        """The result of a call. Unless a class says otherwise, the function's."""
        return call.of(call.x)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answer a call of PyTorch's, or carry it out."""
        options, name = dict(kwargs or {}), resolve_name(func) or ""
        if self._averages and (pool := _average(name, args, options)):
            return pool()
        if name and args and isinstance(args[0], Tensor) and args[0].is_floating_point():
            return self.answer(Call(name, func, args[0], tuple(args[1:]), options))
        return func(*args, **options)


def _average(name: str, args: Sequence[Any], options: dict[str, Any]) -> Callable[[], Any] | None:
    """The mean of the windows of a pool, of what lies inside; None for anything else, and for windows with gaps."""
    if name in _ADAPTIVE:
        return lambda: _ADAPTIVE[name](*args[:2], **{k: v for k, v in options.items() if k != "return_indices"})
    if name not in _AVERAGES:
        return None
    given = dict(zip(("input", *_WINDOWS), args, strict=False)) | options
    gaps = given.pop("dilation", 1)
    if any(gap != 1 for gap in (gaps if isinstance(gaps, tuple | list) else (gaps,))):
        return None
    given.pop("return_indices", None)
    return lambda: _AVERAGES[name](**given, count_include_pad=False)
