"""Loops that read an array part by part and keep what every iteration gives: lw.scan."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from latticework.errors import DtypeError, RangeError, ShapeError, TraceError
from latticework.frontend.programs.for_loop import CarriedValues, body_loc
from latticework.frontend.programs.traced_arrays import TracedArray
from latticework.frontend.recording.indices import TracedIndex
from latticework.frontend.recording.plain import plain_array
from latticework.frontend.recording.structures import leaves_like, leaves_of, rebuild
from latticework.frontend.recording.subscripts import blank, part, with_part
from latticework.frontend.recording.tracing import FunctionTracer, Traced, current_tracer, user_line
from latticework.ir.core import Block, Region
from latticework.ir.dialects import loop_dialect
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.ir.location import Origin
from latticework.ir.types import INDEX
from latticework.tensor.ops import trivial
from latticework.tensor.ops.base import shape_of
from latticework.values.inputs.reading_budget import take_traced

Body = Callable[[Any, Any], tuple[Any, Any]]
_WORK_OF_TURN = 100  # on arrays, in units of ReadingLimits


def scan(body: Body, init: Any, xs: Any = None, length: int | None = None) -> tuple[Any, Any]:
    """Repeat: carry, y = body(carry, x) for the parts x of xs along its leading axis, starting from init.

    body     takes what is carried and one part of xs, returns both what is carried on and a result of this iteration;
             compiled once
    init     an array, or a structure of arrays: nested tuples, lists and dictionaries
    xs       an array or a structure of arrays, secret or public, all equally long; or None: then x is None
    length   number of iterations, where xs does not say it
    returns  what is carried after the last iteration, and the results of all iterations stacked along a new leading
             axis, in the structure of y; None if body returns None for y
    raises   ShapeError where lengths differ, TraceError where what is carried changes its structure; as `for_loop`
    """
    with user_line():
        tracer = current_tracer()
        count = _length(list(leaves_of(xs, "xs")) if xs is not None else [], length)
        state = CarriedValues("scan", body, (init,), ["carry"])
        if tracer is None:
            return _run(state, body, xs, count)
        return _trace(tracer, state, body, xs, count)


def _length(leaves: Sequence[tuple[str, Any]], length: Any) -> int:
    if isinstance(length, (TracedIndex, TracedArray)):
        raise TraceError(
            f"scan: length is {length!r}; how many results are stacked has to be known when the program is compiled: "
            "give an integer, or use lw.for_loop, whose number of iterations may be known at run time only"
        )
    found: dict[str, int] = {}
    for path, leaf in leaves:
        shape = leaf.shape if isinstance(leaf, Traced) else plain_array(leaf, f"scan: {path}").shape  # type: ignore[attr-defined]
        if not shape:
            raise ShapeError(f"scan: {path} is a scalar, which has no leading axis; carry it in init instead")
        found[path] = shape[0]
    if length is not None:
        try:
            found["length"] = operator.index(length)
        except TypeError:
            raise DtypeError(f"scan: length is a {type(length).__name__}; give an integer") from None
    if not found:
        raise TraceError("scan: neither xs nor length= says how many iterations there are")
    if len(set(found.values())) > 1:
        raise ShapeError(f"scan: {', '.join(f'{path} is {n} long' for path, n in found.items())}; make them equal")
    (count,) = set(found.values())
    if count < 1:
        raise RangeError(f"scan: {count} iterations; there has to be one, or there is nothing to stack")
    return count


def _split(returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, (tuple, list)) or len(returned) != 2:
        have = f"{len(returned)} values" if isinstance(returned, (tuple, list)) else "one value"
        raise TraceError(f"scan: body returned {have}; return (carry, y), with y = None if there is nothing to stack")
    return returned[0], returned[1]


def _run(state: CarriedValues, body: Body, xs: Any, count: int) -> tuple[Any, Any]:
    (init,) = state.init
    take_traced(_WORK_OF_TURN * count)
    carried = state.each("init", plain_array, state.leaves)
    given = [] if xs is None else [plain_array(leaf) for _, leaf in leaves_of(xs, "xs")]
    first: Any = None
    stacks: list[list[Any]] = []
    for i in range(count):
        x = None if xs is None else rebuild(xs, iter([leaf[i] for leaf in given]))
        carry, y = _split(body(rebuild(init, iter(carried)), x))
        carried = state.next(carried, [carry], plain_array, np.shape)
        first = y if i == 0 else first
        stacks.append([plain_array(leaf) for leaf in _results(first, y)])
    stacked = [np.stack(parts) for parts in zip(*stacks, strict=True)]
    return rebuild(init, iter(carried)), None if first is None else rebuild(first, iter(stacked))


def _results(first: Any, y: Any) -> list[Any]:
    return [] if first is None and y is None else list(leaves_like(first, y, "y", "scan: body returns"))


def _trace(tracer: FunctionTracer, state: CarriedValues, body: Body, xs: Any, count: int) -> tuple[Any, Any]:
    (init,) = state.init
    at = body_loc(body)
    starts = state.each("init", lambda leaf: trivial.trace(tracer, leaf), state.leaves)
    block = Block()
    index = block.add_arg(INDEX, Origin("i", at))
    tracer.trips[index] = count
    arguments = [block.add_arg(start.type, Origin(path, at)) for start, path in zip(starts, state.paths, strict=True)]
    with tracer.inside(block):
        number = tracer.wrap(index)
        assert isinstance(number, TracedIndex)
        parts = [] if xs is None else [tracer.wrap(part(tracer, leaf, number)) for _, leaf in leaves_of(xs, "xs")]
        x = None if xs is None else rebuild(xs, iter(parts))
        carry, y = _split(body(rebuild(init, map(tracer.wrap, arguments)), x))
        results = state.next(starts, [carry], lambda leaf: trivial.trace(tracer, leaf), shape_of)
        named = [] if y is None else list(leaves_of(y, "y"))
        ys = [trivial.trace(tracer, leaf) for _, leaf in named]
        for (path, _), one in zip(named, ys, strict=True):
            kind = TensorType(shape=(count, *shape_of(one)), dtype="float64", secret=True)
            stack = block.add_arg(kind, Origin(path, at))
            results.append(with_part(tracer, stack, one, index))
        tracer.create(loop_dialect.YIELD, results, {})
    for one in ys:
        starts.append(blank(tracer, (count, *shape_of(one))))
    made = tracer.create(loop_dialect.FOR, starts, {"static_trip": count, "at_most": None}, regions=[Region(block)])
    wrapped = [tracer.wrap(value) for value in made.results]
    stacked = None if y is None else rebuild(y, iter(wrapped[len(state.leaves) :]))
    return rebuild(init, iter(wrapped[: len(state.leaves)])), stacked
