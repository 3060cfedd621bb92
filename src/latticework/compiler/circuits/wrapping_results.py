"""Results of circuits on integers that may not fit the plaintext modulus: a warning, and a condition of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from latticework.compiler.bound_conditions import line_of
from latticework.compiler.circuits.circuit_pipeline import Scalars
from latticework.compiler.lanes.circuit_ranges import bits_that_hold, fits, overflowing
from latticework.errors import RangeWarning
from latticework.errors.rounded_numbers import large
from latticework.frontend import Circuit
from latticework.frontend.recording.facts import ASSUMED
from latticework.functions.approximation.intervals import Interval, intersection
from latticework.ir.lines import warn
from latticework.plan.schema.conditions import Condition
from latticework.plan.schema.schema import Plan

MAX_PLAIN_BITS = 49
MAX_NAMED = 8  # inputs in a warning


def mark_wrapping(circuit: Circuit, scalars: Scalars, plan: Plan) -> Plan:
    """Warn of results that may wrap around, and make it a condition of the plan that they do not."""
    found = _find_overflowing(scalars, plan.chain.plain_modulus)
    _warn_of_overflow(circuit, scalars, plan.chain.plain_modulus, found)
    return _with_conditions(circuit, scalars, plan, [number for number, _ in found])


def _find_overflowing(scalars: Scalars, modulus: int) -> list[tuple[int, Interval]]:
    """Outputs that may not fit, and between what they lie: as traced and, unless modulo t alone, as rewritten."""
    traced = scalars.traced
    if traced.is_modular:
        return [(n, found) for n, found in enumerate(traced.ranges) if not fits(found, modulus)]
    boxes: list[list[Interval]] = [[ASSUMED] * len(group.labels) for group in scalars.graph.groups]
    for a in traced.arguments:
        for element in a.elements if a.low is not None and a.high is not None else ():
            boxes[a.input][element] = (0, 1) if a.bits else (int(a.low or 0), int(a.high or 0))
    found = ((n, intersection(traced.ranges[n], own)) for n, own in overflowing(scalars.graph, boxes, modulus))
    return [(number, own) for number, own in found if not fits(own, modulus)]


def _with_conditions(circuit: Circuit, scalars: Scalars, plan: Plan, numbers: Sequence[int]) -> Plan:
    """The plan, with what has to hold of outputs that hold such numbers of results: that they do not wrap around."""
    ends = np.cumsum([prod(output.shape) for output in plan.client.outputs])
    names = {number: result.name for result in scalars.traced.results for number in result.elements}
    held: dict[int, dict[str, None]] = {}
    for number in numbers:
        held.setdefault(int(np.searchsorted(ends, number, side="right")), {})[names[number]] = None
    outputs = []
    for place, output in enumerate(plan.client.outputs):
        if place in held:
            first, *others = held[place]
            said = f"result {first}" + (" and others" if others else "")
            condition = Condition(said, line_of(circuit.loc), modulus=plan.chain.plain_modulus)
            output = replace(output, conditions=(condition,))
        outputs.append(output)
    return replace(plan, client=replace(plan.client, outputs=tuple(outputs)))


def _warn_of_overflow(circuit: Circuit, scalars: Scalars, modulus: int, found: Sequence[tuple[int, Interval]]) -> None:
    """Warn of results that may wrap around, for inputs in their ranges; those without one are taken as -1 to 1."""
    traced = scalars.traced
    if not found:
        return
    number, (low, high) = max(found, key=lambda f: max(-f[1][0], f[1][1]))
    name = next(r.name for r in traced.results if number in r.elements)
    bits = bits_that_hold((low, high), modulus)
    holds = bits is not None and bits <= MAX_PLAIN_BITS
    remedy = f"plain_bits={bits} would hold it" if holds else "no plaintext modulus would hold it"
    assumed = [a.name for a in traced.arguments if a.low is None]
    listed = ", ".join(assumed[:MAX_NAMED]) + (f" and {len(assumed) - MAX_NAMED} more" * (len(assumed) > MAX_NAMED))
    taken = f" ({listed} without low= and high= taken as -1 to 1)" if assumed else ""
    warn(
        f"{circuit.loc}: circuit {circuit.name}: result {name} may lie between {large(low)} and "
        f"{large(high)} for inputs in their ranges{taken}; integers modulo {modulus} hold {-(modulus // 2)} to "
        f"{modulus // 2}, beyond which it wraps around: {remedy}; declare narrower ranges, or compile with wraps=True "
        f"where results modulo {modulus} are meant",
        RangeWarning,
    )
