"""Branches and loops, which public values decide: a branch is the one that is taken, loops are unrolled.

The last operand of each is what its graphs read from outside, by the names `captured`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from latticework.errors import ShapeError
from latticework.errors.remedies import REMEDIES
from latticework.models.converters import Converter, Converters
from latticework.models.evaluate_graph import check_operators, run
from latticework.models.model_graph import ModelGraph, Ref
from latticework.models.onnx.operators.onnx_quantised import check_nested
from latticework.models.onnx.size_limits import check_steps, take_steps
from latticework.models.semantics.operand_checks import axis_of, public, values, whole

Body = Callable[[Sequence[Any]], list[Any]]
_SECRET_CONTROL = REMEDIES["branch"].instead


def converters(table: Callable[[], Converters]) -> tuple[Converter, ...]:
    """Converters of If, Loop and Scan, whose bodies have the operators of a table."""

    def body_of(graph: ModelGraph, outer: Mapping[str, Any]) -> Body:
        """A nested graph as a function of its own inputs."""
        check_operators(graph, table())
        check_nested(graph.nodes)
        own = [given.name for given in graph.inputs if given.name not in outer]

        def carry_out(given: Sequence[Any]) -> list[Any]:
            if len(given) != len(own):
                raise ShapeError(f"{graph.name} takes {len(own)} values, and is given {len(given)}")
            take_steps(max(len(graph.nodes), 1))
            named = {each.name: outer[each.name] for each in graph.inputs if each.name in outer}
            return run(graph, table(), {**named, **dict(zip(own, given, strict=True))})

        return carry_out

    def branch(
        condition: Any,
        outer: Sequence[Any],
        *,
        then_branch: ModelGraph,
        else_branch: ModelGraph,
        captured: Sequence[str],
    ) -> tuple[Any, ...]:
        chosen = public("If", "the condition", condition, _SECRET_CONTROL)
        if chosen.size != 1:
            raise ShapeError(f"If: a condition of shape {chosen.shape}; it has to be one value")
        graph = then_branch if chosen.reshape(()) else else_branch
        return tuple(body_of(graph, dict(zip(captured, outer, strict=True)))([]))

    def loop(trips: Any, condition: Any, *given: Any, body: ModelGraph, captured: Sequence[str]) -> tuple[Any, ...]:
        *carried, outer = given
        once = body_of(body, dict(zip(captured, outer, strict=True)))
        count = None if trips is None else whole("Loop", "the number of iterations", trips)
        goes_on = condition is None or _is_true("Loop", condition)
        kept: list[list[Any]] = []
        number = 0
        if count is not None and goes_on and _goes_on_always(body):
            check_steps(count * max(len(body.nodes), 1))
        while goes_on and (count is None or number < count):
            going, *found = once([np.array(number, np.int64), np.array(True), *carried])
            goes_on = _is_true("Loop", going)
            carried, parts = found[: len(carried)], found[len(carried) :]
            kept = kept or [[] for _ in parts]
            for into, part in zip(kept, parts, strict=True):
                into.append(part)
            number += 1
        wanted = len(body.outputs) - 1 - len(carried)
        if wanted and not number:
            raise ShapeError("Loop: no iteration, so its stacked results are empty; secrets cannot be")
        return (*carried, *(np.stack([values(part) for part in parts]) for parts in kept))

    def scan(
        *given: Any, body: ModelGraph, captured: Sequence[str], num_scan_inputs: int,
        scan_input_axes: Sequence[int] | None = None, scan_input_directions: Sequence[int] | None = None,
        scan_output_axes: Sequence[int] | None = None, scan_output_directions: Sequence[int] | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        *operands, outer = given
        if not 0 < num_scan_inputs <= len(operands):
            raise ShapeError(f"Scan: num_scan_inputs={num_scan_inputs} of {len(operands)} operands")
        once = body_of(body, dict(zip(captured, outer, strict=True)))
        carried, sequences = operands[:-num_scan_inputs], operands[-num_scan_inputs:]
        axes = [axis_of("Scan", a, np.ndim(x)) for a, x in
                zip(scan_input_axes or [0] * num_scan_inputs, sequences, strict=True)]  # fmt: skip
        lengths = {np.shape(x)[axis] for x, axis in zip(sequences, axes, strict=True)}
        if len(lengths) != 1:
            raise ShapeError(f"Scan: sequences of lengths {sorted(lengths)}; they have to be as long as each other")
        (length,) = lengths
        backwards = scan_input_directions or [0] * num_scan_inputs
        check_steps(length * max(len(body.nodes), 1))
        kept: list[list[Any]] = [[] for _ in range(len(body.outputs) - len(carried))]
        for step in range(length):
            places = [length - 1 - step if back else step for back in backwards]
            parts = [values(x)[(*(np.s_[:],) * axis, at)] for x, axis, at in zip(sequences, axes, places, strict=True)]
            found = once([*carried, *parts])
            carried = found[: len(carried)]
            for into, part in zip(kept, found[len(carried) :], strict=True):
                into.append(values(part))
        turned = scan_output_directions or [0] * len(kept)
        ordered = [parts[::-1] if back else parts for parts, back in zip(kept, turned, strict=True)]
        along = scan_output_axes or [0] * len(kept)
        return (*carried, *(np.stack(parts, axis) for parts, axis in zip(ordered, along, strict=True)))

    return (
        Converter("If", branch, note="the condition is public"),
        Converter("Loop", loop, note="the number of iterations is public; unrolled"),
        Converter("Scan", scan, since=9, note="unrolled"),
    )


def _goes_on_always(body: ModelGraph) -> bool:
    """Whether a loop ends by its number of turns alone: its body returns the condition that it is given."""
    makers = {name: node for node in body.nodes for name in node.results}
    name = body.outputs[0].name if body.outputs else ""
    while name in makers and makers[name].operator == "Identity" and isinstance(makers[name].args[0], Ref):
        name = makers[name].args[0].name
    if name in body.constants:
        return bool(np.all(body.constants[name]))
    return len(body.inputs) > 1 and name == body.inputs[1].name


def _is_true(name: str, condition: Any) -> bool:
    found = public(name, "the condition", condition, _SECRET_CONTROL)
    if found.size != 1:
        raise ShapeError(f"{name}: a condition of shape {found.shape}; it has to be one value")
    return bool(found.reshape(()))
