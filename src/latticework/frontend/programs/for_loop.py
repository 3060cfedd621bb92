"""Loops that stay loops: lw.for_loop."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from latticework.errors import DtypeError, RangeError, ShapeError, TraceError, UserError
from latticework.frontend.programs.traced_arrays import TracedArray
from latticework.frontend.recording.indices import TracedIndex
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.structures import leaves_like, leaves_of, rebuild
from latticework.frontend.recording.tracing import FunctionTracer, current_tracer, user_line
from latticework.ir.core import Block, Region, Value
from latticework.ir.dialects import loop_dialect
from latticework.ir.lines import definition_loc, user_loc
from latticework.ir.location import Loc, Origin
from latticework.ir.types import INDEX
from latticework.tensor.ops import trivial
from latticework.tensor.ops.base import shape_of

Carried = TypeVar("Carried")  # an array, or a structure of arrays


def for_loop(n: Any, body: Callable[..., Carried], init: Carried, *, at_most: int | None = None) -> Carried:
    """Repeat: carried = body(i, *carried) for i = 0 ... n-1, starting from init.

    n        number of iterations: an integer, or an Index known only at run time
    body     takes the iteration number and what is carried, returns that for the next iteration, of the same
             structure and shapes; compiled once, whatever n is
    init     an array, or a list or dictionary of arrays, in any depth: then body(i, carried); or a tuple of such:
             then body(i, *carried) returns a tuple. A list of Python's numbers is one array, as it is for NumPy
    at_most  promise that n is never larger, for a run-time n
    returns  what is carried after the last iteration, in the structure of init
    raises   TraceError, ShapeError naming the part of it, such as carried['w'][1], whose structure or shape changes
    """
    with user_line():
        tracer = current_tracer()
        single = not isinstance(init, tuple)
        carried = cast(tuple[Any, ...], init) if isinstance(init, tuple) else (init,)
        if not carried:
            raise TraceError("for_loop: init is an empty tuple; carry at least one array")
        at_most = _limit(at_most)
        trips = n if isinstance(n, TracedIndex) else _count(n, at_most)
        _check_body(body, len(carried))
        index, *names = _names(body, len(carried))
        state = CarriedValues("for_loop", body, carried, names)
        if tracer is not None:
            leaves = _trace(tracer, state, single, Origin(index, body_loc(body)), (trips, at_most))
        elif isinstance(trips, TracedIndex):
            raise TraceError("for_loop: n is an index of a program that is no longer traced; use the program's own")
        else:
            leaves = _run(state, single, trips)
    return cast(Carried, rebuild(init, iter(leaves)))


def _limit(at_most: Any) -> int | None:
    if at_most is None:
        return None
    try:
        limit = operator.index(at_most)
    except TypeError:
        raise DtypeError(f"for_loop: at_most is a {type(at_most).__name__}; give an integer, or leave it out") from None
    if limit < 0:
        raise RangeError(f"for_loop: at_most is {limit}; it must be >= 0")
    return limit


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


class CarriedValues:
    """The carried values of a loop by their leaves, and the structure around these.

    loop    for_loop or scan, for messages
    init    the parts of what is carried, which the body takes one by one;  names  of these in the body
    paths   of all leaves;  leaves  of init
    """

    def __init__(self, of: str, body: Callable[..., Any], init: tuple[Any, ...], names: Sequence[str]) -> None:
        self.of, self.body, self.init, self.names = of, body, init, names
        found = [pair for name, part in zip(names, init, strict=True) for pair in leaves_of(part, name)]
        if not found:
            raise TraceError(f"{of}: init holds no array; carry at least one")
        self.paths = [path for path, _ in found]
        self.leaves = [leaf for _, leaf in found]

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """Rebuild the body's arguments from leaves in order."""
        given = iter(leaves)
        return [rebuild(part, given) for part in self.init]

    def next(
        self,
        before: Sequence[Any],
        returned: Sequence[Any],
        convert: Callable[[Any], Any],
        shape: Callable[[Any], tuple[int, ...]],
    ) -> list[Any]:
        """The leaves of what the body returned for every part of init, of whose structure and shapes they must be."""
        leaves = [
            leaf
            for name, part, after in zip(self.names, self.init, returned, strict=True)
            for leaf in leaves_like(part, after, name, f"{self.of}: body returns")
        ]
        results = self.each("body returns", convert, leaves)
        for path, was, becomes in zip(self.paths, map(shape, before), map(shape, results), strict=True):
            if was != becomes:
                raise ShapeError(
                    f"{self.of}: the carried array {path} starts with shape {was}, but body returns it with shape "
                    f"{becomes}; a carried array keeps its shape: give init in the final shape, or reshape in the body"
                )
        return results

    def each(self, what: str, convert: Callable[[Any], Any], leaves: Sequence[Any]) -> list[Any]:
        """Every leaf converted; errors say which one it is, and what it is of: init, or what body returns."""
        converted = []
        for path, leaf in zip(self.paths, leaves, strict=True):
            try:
                converted.append(convert(leaf))
            except UserError as error:
                raise type(error)(f"{self.of}: {what} {path}: {error.message}", at=error.at) from None
        return converted


def _run(state: CarriedValues, single: bool, count: int) -> Sequence[Any]:
    carried = state.each("init", plain_array, state.leaves)
    for i in range(count):
        returned = _unwrap_returned(state.body(i, *state.arguments(carried)), single, len(state.init))
        carried = state.next(carried, returned, plain_array, np.shape)
    return carried


def _trace(
    tracer: FunctionTracer,
    state: CarriedValues,
    single: bool,
    variable: Origin,
    count: tuple[int | TracedIndex, int | None],
) -> Sequence[Any]:
    (trips, at_most), at = count, variable.loc
    starts = state.each("init", lambda leaf: trivial.trace(tracer, leaf), state.leaves)
    block = Block()
    index = block.add_arg(INDEX, variable)
    tracer.trips[index] = at_most if isinstance(trips, TracedIndex) else trips
    arguments = [block.add_arg(start.type, Origin(path, at)) for start, path in zip(starts, state.paths, strict=True)]
    with tracer.inside(block):
        given = state.arguments([tracer.wrap(value) for value in arguments])
        returned = _unwrap_returned(state.body(tracer.wrap(index), *given), single, len(state.init))
        results = state.next(starts, returned, lambda leaf: trivial.trace(tracer, leaf), shape_of)
        tracer.create(loop_dialect.YIELD, results, {})
    operands: list[Value] = [tracer.value_of(trips)] if isinstance(trips, TracedIndex) else []
    attrs = {"static_trip": None if operands else trips, "at_most": at_most}
    made = tracer.create(loop_dialect.FOR, [*operands, *starts], attrs, regions=[Region(block)])
    return [tracer.wrap(value) for value in made.results]


def _unwrap_returned(returned: Any, single: bool, count: int) -> tuple[Any, ...]:
    if returned is None:
        raise TraceError("for_loop: body returned None; return the carried arrays of the next iteration")
    if single:
        if isinstance(returned, tuple):
            raise TraceError(
                f"for_loop: init is no tuple, but body returned {len(returned)} values; return one array or structure "
                "like init, or give init as a tuple"
            )
        return (returned,)
    if not isinstance(returned, (tuple, list)) or len(returned) != count:
        have = len(returned) if isinstance(returned, (tuple, list)) else "one value"
        raise TraceError(f"for_loop: {count} arrays are carried, but body returned {have}; return a tuple of {count}")
    return tuple(returned)


def _names(body: Callable[..., Any], carried: int) -> list[str]:
    """The body's names of the iteration number and of the carried arrays; made up where it takes *args."""
    found = [p.name for p in inspect.signature(body).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    return found[: 1 + carried] + _default_names(carried)[len(found) :]


def _default_names(carried: int) -> list[str]:
    return ["i", *(f"carried{number}" for number in range(carried))]


def body_loc(body: Callable[..., Any]) -> Loc:
    """The line of a body's definition."""
    code = getattr(body, "__code__", None)
    return user_loc() if code is None else definition_loc(code)
