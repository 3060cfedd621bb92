"""Results of circuits on integers that may not fit the plaintext modulus: a warning, and a condition of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, prod

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
EVERYTHING: Interval = (-inf, inf)
MAX_NAMED = 8  # inputs in a warning


def mark_wrapping(circuit: Circuit, scalars: Scalars, plan: Plan) -> Plan:
    """Warn of results that may wrap around, and make it a condition of the plan that they do not.

    The warning takes inputs without a declared range as -1 to 1, and the condition as all that clients accept of them,
    any residue. Nobody sees what another circuit computed: of such an input no declared range counts.
    """
    traced, modulus = scalars.traced, plan.chain.plain_modulus
    declared = {a.name: (0, 1) if a.bits else (int(a.low), int(a.high or 0)) for a in traced.arguments
                if a.low is not None}  # fmt: skip
    taken = {a.name: ASSUMED for a in traced.arguments} | declared
    _warn_of_overflow(circuit, scalars, modulus, _find_overflowing(scalars, modulus, traced.ranges, taken))
    residues: Interval = (-(modulus // 2), modulus // 2)
    linked = {p.name: EVERYTHING if p.kind.source.may_wrap else residues for p in circuit.inputs if p.kind.source}
    accepted = {a.name: residues for a in traced.arguments} | declared | linked
    ranges = [EVERYTHING] * len(traced.accepted) if declared.keys() & linked.keys() else traced.accepted
    return _with_conditions(circuit, scalars, plan, _find_overflowing(scalars, modulus, ranges, accepted))


def _find_overflowing(
    scalars: Scalars, modulus: int, ranges: Sequence[Interval], inputs: Mapping[str, Interval]
) -> list[tuple[int, Interval]]:
    """Outputs that may not fit, and between what they lie: as traced and, unless modulo t alone, as rewritten.

    ranges  as traced;  inputs  ranges by name
    """
    if scalars.traced.is_modular:
        return [(n, found) for n, found in enumerate(ranges) if not fits(found, modulus)]
    boxes: list[list[Interval]] = [[ASSUMED] * len(group.labels) for group in scalars.graph.groups]
    for a in scalars.traced.arguments:
        for element in a.elements:
            boxes[a.input][element] = inputs[a.name]
    found = ((n, intersection(ranges[n], own)) for n, own in overflowing(scalars.graph, boxes, modulus))
    return [(number, own) for number, own in found if not fits(own, modulus)]


def _with_conditions(circuit: Circuit, scalars: Scalars, plan: Plan, found: Sequence[tuple[int, Interval]]) -> Plan:
    """The plan, with what has to hold of outputs that hold such numbers of results: that they do not wrap around."""
    pairs = list(zip(scalars.traced.results, plan.client.results, strict=True))
    names = {n: traced.name for traced, _ in pairs for n in traced.elements}
    places = {n: e for traced, result in pairs for n, e in zip(traced.elements, result.elements, strict=True)}
    outputs, start = [], 0
    for output in plan.client.outputs:
        size = prod(output.shape)
        held = {places[n] - start: names[n] for n, _ in found if start <= places[n] < start + size}
        if held:
            first, *others = dict.fromkeys(held.values())
            said = _name_result(first) + (" and others" if others else "")
            condition = Condition(said, line_of(circuit.loc), modulus=plan.chain.plain_modulus)
            wrapping = tuple(sorted(held)) if len(held) < size else ()
            output = replace(output, conditions=(condition,), wrapping=wrapping)
        outputs.append(output)
        start += size
    return replace(plan, client=replace(plan.client, outputs=tuple(outputs)))


def _name_result(name: str) -> str:
    return "the result" if name == "result" else f"result {name}"


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
        f"{circuit.loc}: circuit {circuit.name}: {_name_result(name)} may lie between {large(low)} and "
        f"{large(high)} for inputs in their ranges{taken}; integers modulo {modulus} hold {-(modulus // 2)} to "
        f"{modulus // 2}, beyond which it wraps around: {remedy}; declare narrower ranges, or compile with wraps=True "
        f"where results modulo {modulus} are meant",
        RangeWarning,
    )
