"""Lanes of a circuit's results in its encrypted outputs, for circuits that go on with them."""

from __future__ import annotations

from itertools import accumulate
from math import prod

from latticework.errors import LayoutError, TraceError
from latticework.plan.analysis.bfv_noise_domain import noise_of_outputs
from latticework.plan.files.serialise import interface_id
from latticework.plan.parameters.fingerprint import fingerprint
from latticework.plan.schema.arguments import Link, OutputLanes
from latticework.plan.schema.schema import Plan


def output_lanes(plan: Plan, name: str) -> OutputLanes:
    """The lanes of the result that is called `name`.

    raises  TraceError if there is no such result; LayoutError if it lies in several ciphertexts
    """
    spec = plan.client
    result = next((r for r in spec.results if r.name == name), None)
    if result is None:
        listed = ", ".join(r.name for r in spec.results) or "none: it is no circuit"
        raise TraceError(f"lanes: {spec.name} has no result {name!r}; its results are {listed}")
    if spec.chain.has_wide_integers:
        raise LayoutError(
            f"lanes: {spec.name} was compiled with integers=, and its results are ciphertexts modulo "
            f"{len(spec.chain.plain_moduli)} primes, which no other circuit goes on with: compile both as one circuit"
        )
    if spec.rows > 1:
        raise LayoutError(
            f"lanes: {spec.name} was compiled with batch={spec.rows}, which interleaves its results with those of "
            "other rows; compile it without batch= for circuits that go on with them"
        )
    starts = [0, *accumulate(prod(o.shape) for o in spec.outputs)]
    numbers = {next(i for i in range(len(spec.outputs)) if e < starts[i + 1]) for e in result.elements}
    count = sum(spec.outputs[number].pack.count for number in numbers)
    if count > 1:
        raise LayoutError(
            f"lanes: result {name} of {spec.name} lies in {count} ciphertexts, and an input is one; return its "
            "parts as results of their own, or compile with effort='max' or another seed"
        )
    if not numbers:
        raise LayoutError(f"lanes: result {name} of {spec.name} has no elements")
    number = numbers.pop()
    output = spec.outputs[number]
    places = output.pack.first_places()
    lanes = tuple(int(places[e - starts[number]]) for e in result.elements)
    if len(set(lanes)) < len(lanes):
        raise LayoutError(f"lanes: result {name} of {spec.name} has equal elements, which lie in one lane")
    noise = noise_of_outputs(plan, plan.chain)[number] if plan.chain.scheme == "bfv" else None
    link = Link(spec.name, output.name, interface_id(spec).hex())
    return OutputLanes(
        link, result.shape, lanes, output.pack.slots, output.level, output.scale, fingerprint(plan.chain), noise,
        any(condition.modulus for condition in output.conditions),
    )  # fmt: skip
