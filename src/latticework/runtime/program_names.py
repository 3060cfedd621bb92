"""Keywords of calls that take the names of the user's inputs beside options of ours, told apart.

A name of the program's is the program's, unless the call has that input already; else it is the option. So an input may
have any name, as `client`, `noise` or `checkpoint`, whatever options are called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_OWN = "input "  # before a name on its way through the call; no keyword that is written has a space


def program_names_first(
    open_names: Callable[[Any, tuple[Any, ...]], Collection[str]],
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a method whose `**named` are inputs, which `own_names(named)` reads.

    open_names  of what the method is called on, and its arguments by position: inputs that a keyword may still give
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        options = {name for name, each in inspect.signature(method).parameters.items() if each.kind in kinds}

        @wraps(method)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            clashing = options & kwargs.keys()
            own = clashing & set(open_names(args[0], args[1:])) if clashing else set()
            named = {f"{_OWN}{name}" if name in own else name: value for name, value in kwargs.items()}
            return method(*args, **named)  # type: ignore[arg-type]

        return run

    return decorate


def own_names(named: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs by the names that the user knows."""
    return {name.removeprefix(_OWN): value for name, value in named.items()}
