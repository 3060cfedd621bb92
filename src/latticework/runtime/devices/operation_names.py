"""The operation that this thread is asked for, by name: profiles of devices group kernels by it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

from latticework.values.extension import _core

P = ParamSpec("P")
R = TypeVar("R")

profiled: list[str] = []  # devices that are profiled now


class during:
    """`with during("encrypt"):` what is done in the block is a part of that, unless it is a part of something already.

    is_named  whether the name is a user's, which goes before all others
    """

    def __init__(self, name: str, *, is_named: bool = False) -> None:
        self._name, self._is_named = name, is_named
        self._scope: _core.OperationScope | None = None

    def __enter__(self) -> None:
        if profiled:
            self._scope = _core.OperationScope(self._name, self._is_named)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scope is not None:
            self._scope.end()


def operation(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose work has its name in profiles."""

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not profiled:
            return method(*args, **kwargs)
        with during(method.__name__):
            return method(*args, **kwargs)

    return run
