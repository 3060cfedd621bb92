"""Loops that stay loops: lw.for_loop."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from latticework.dialects import loop
from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.frontend.arrays import TracedArray
from latticework.frontend.indices import TracedIndex
from latticework.frontend.plain import plain_array
from latticework.frontend.tracing import FunctionTracer, current_tracer, user_line
from latticework.ir.core import Block, Region, Value
from latticework.ir.location import Loc, Origin
from latticework.ir.types import INDEX
from latticework.ops import trivial
from latticework.user.lines import definition_loc, user_loc

Carried = TypeVar("Carried")  # an array, or a tuple of arrays


def for_loop(n: Any, body: Callable[..., Carried], init: Carried, *, at_most: int | None = None) -> Carried:
    """Repeat: carried = body(i, *carried) for i = 0 ... n-1, starting from init.

    n        number of iterations: an integer, or an Index known only at run time
    body     takes the iteration number and the carried arrays, returns the carried arrays of the next iteration,
             of the same shapes; compiled once, whatever n is
    init     an array, then body returns an array; or a tuple of arrays, then body returns a tuple
    at_most  promise that n is never larger, for a run-time n
    returns  the carried arrays after the last iteration
    """
    with user_line():
        tracer = current_tracer()
        single = not isinstance(init, tuple)
        carried = init if isinstance(init, tuple) else (init,)
        if not carried:
            raise TraceError("for_loop: init is an empty tuple; carry at least one array")
        trips = n if isinstance(n, TracedIndex) else _count(n, at_most)
        _check_body(body, len(carried))
        if tracer is not None:
            results = _trace(tracer, body, carried, single, (trips, at_most))
        elif isinstance(trips, TracedIndex):
            raise TraceError("for_loop: n is an index of a program that is no longer traced; use the program's own")
        else:
            results = _run(trips, body, tuple(plain_array(value) for value in carried), single)
    return cast(Carried, results[0] if single else tuple(results))


def _count(n: Any, at_most: int | None) -> int:
    if isinstance(n, TracedArray):
        raise TraceError(
            f"for_loop: the number of iterations is {n!r}; how often a loop runs cannot be secret: "
            "use an integer or a parameter annotated lw.Index"
        )
    try:
        count = operator.index(n)
    except TypeError:
        kind = type(n).__name__
        raise DtypeError(f"for_loop: n is a {kind}; give an integer or a parameter annotated lw.Index") from None
    if count < 0 or (at_most is not None and count > at_most):
        limit = "" if at_most is None else f" and at most at_most={at_most}"
        raise RangeError(f"for_loop: n is {count}; it must be >= 0{limit}")
    return count


def _check_body(body: Callable[..., Any], carried: int) -> None:
    try:
        inspect.signature(body).bind(*[None] * (1 + carried))
    except TypeError:
        raise TraceError(
            f"for_loop: body is called with the iteration number and {carried} carried "
            f"array{'s' * (carried > 1)}, but its parameters are {inspect.signature(body)}; "
            f"define it as body({', '.join(_default_names(carried))})"
        ) from None


def _run(count: int, body: Callable[..., Any], carried: Sequence[Any], single: bool) -> Sequence[Any]:
    _, *names = _names(body, len(carried))
    for i in range(count):
        returned = _unwrap_returned(body(i, *carried), single, len(carried))
        results = tuple(plain_array(value) for value in returned)
        for name, before, after in zip(names, carried, results, strict=True):
            _check_shapes(name, before.shape, after.shape)
        carried = results
    return carried


def _trace(
    tracer: FunctionTracer,
    body: Callable[..., Any],
    carried: Sequence[Any],
    single: bool,
    count: tuple[int | TracedIndex, int | None],
) -> Sequence[Any]:
    (index_name, *names), at = _names(body, len(carried)), _body_loc(body)
    starts = [trivial.trace(tracer, value) for value in carried]
    block = Block()
    index = block.add_arg(INDEX, Origin(index_name, at))
    arguments = [block.add_arg(start.type, Origin(name, at)) for start, name in zip(starts, names, strict=True)]
    with tracer.inside(block):
        returned = _unwrap_returned(body(tracer.wrap(index), *map(tracer.wrap, arguments)), single, len(carried))
        results = [trivial.trace(tracer, value) for value in returned]
        for name, start, result in zip(names, starts, results, strict=True):
            _check_shapes(name, start.type.shape, result.type.shape)  # type: ignore[attr-defined]
        tracer.create(loop.YIELD, results, {})
    trips, at_most = count
    operands: list[Value] = [tracer.value_of(trips)] if isinstance(trips, TracedIndex) else []
    attrs = {"static_trip": None if operands else trips, "at_most": at_most}
    made = tracer.create(loop.FOR, [*operands, *starts], attrs, regions=[Region(block)])
    return [tracer.wrap(value) for value in made.results]


def _unwrap_returned(returned: Any, single: bool, count: int) -> tuple[Any, ...]:
    if returned is None:
        raise TraceError("for_loop: body returned None; return the carried arrays of the next iteration")
    if single:
        if isinstance(returned, tuple):
            raise TraceError(
                f"for_loop: init is one array, but body returned {len(returned)} values; return one array, "
                "or give init as a tuple"
            )
        return (returned,)
    if not isinstance(returned, (tuple, list)) or len(returned) != count:
        have = len(returned) if isinstance(returned, (tuple, list)) else "one value"
        raise TraceError(f"for_loop: {count} arrays are carried, but body returned {have}; return a tuple of {count}")
    return tuple(returned)


def _check_shapes(name: str, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    if before != after:
        raise ShapeError(
            f"for_loop: the carried array {name} starts with shape {before}, but body returns it with shape {after}; "
            "a carried array keeps its shape: give init in the final shape, or reshape in the body"
        )


def _names(body: Callable[..., Any], carried: int) -> list[str]:
    """The body's names of the iteration number and of the carried arrays; made up where it takes *args."""
    found = [p.name for p in inspect.signature(body).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    return found[: 1 + carried] + _default_names(carried)[len(found) :]


def _default_names(carried: int) -> list[str]:
    return ["i", *(f"carried{number}" for number in range(carried))]


def _body_loc(body: Callable[..., Any]) -> Loc:
    code = getattr(body, "__code__", None)
    return user_loc() if code is None else definition_loc(code)
