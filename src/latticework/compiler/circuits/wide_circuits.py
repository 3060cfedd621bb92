"""The front end of circuits on integers of many bits: exact modulo several primes, as many as their results take."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log2, prod

import numpy as np

from latticework.compiler.circuits.circuit_inputs_seen import circuit_samples
from latticework.compiler.circuits.circuit_pipeline import Scalars, to_scalars
from latticework.compiler.circuits.circuit_vectors import find_arrays
from latticework.compiler.circuits.composition import shared_parameters
from latticework.compiler.circuits.exact_circuits import ExactCircuitLowering, ExactVectors, lower_exact_circuit
from latticework.compiler.circuits.plaintext_modulus import exact_arithmetic
from latticework.compiler.circuits.too_many_products import check_products
from latticework.compiler.exact_plans import seconds_of, to_bfv_plan
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.option_records import DEFAULTS
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.errors import RangeError, UserError
from latticework.frontend import Circuit
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters.modulus_chain import SLOT_ROWS
from latticework.plan.parameters.plain_moduli import numbers_of_moduli
from latticework.plan.schema.schema import ClientSpec, Output, Plan, SecretInput

LEAST_HALVED = 4  # rows of a batch, of which two lie in each row of slots


@dataclass(frozen=True)
class WideVectors(ExactVectors):
    """A choice of vectors, and of plaintext moduli: few large ones, or more that leave room for more products.

    sizes  of moduli that are tried, in bits, the largest first
    """

    sizes: tuple[float, ...] = ()

    def plan(self, vectors: Vectors) -> Plan:
        """Plan vectors for the number of moduli by which a run and sending take least; errors are of the smallest."""
        largest = max(1, *map(abs, _all_ends(self.scalars)))
        found: list[Plan] = []
        refused: UserError | None = None
        for bits in self.sizes:
            options = self.options.override(plain_bits=bits)
            try:
                found.append(to_bfv_plan(self.name, vectors, options, largest=largest))
            except UserError as error:
                refused = error
        if not found:
            assert refused is not None
            raise refused
        return min(found, key=lambda plan: seconds_of(plan, self.options))


@dataclass
class WideCircuitLowering(ExactCircuitLowering):
    """A circuit on integers of many bits."""

    def plan_rows(self, vectors: Vectors) -> tuple[Vectors, Plan]:
        """Plan vectors for half the rows: the two rows of slots hold different ones."""
        rows = self.options.rows
        if not isinstance(rows, int) or rows < LEAST_HALVED:
            return super().plan_rows(vectors)
        halved = replace(self, options=self.options.override(batch=rows // 2))
        return ExactCircuitLowering.plan_rows(halved, vectors)

    def reference(self, vectors: Vectors) -> None:
        """Nothing runs beside the plan: arrays of floats do not hold the numbers."""

    def finish(self, plan: Plan) -> Plan:
        """Note between what inputs and results lie; none wraps around."""
        client = plan.client
        inputs = tuple(_with_span(client, number, each) for number, each in enumerate(client.secret_inputs))
        largest = max(map(abs, _all_ends(self.scalars)))
        client = replace(
            client, inputs=inputs, outputs=_with_sizes(self.scalars, plan), precision_bits=log2(2 * largest + 1),
            slot_rows=SLOT_ROWS if client.packed_rows > 1 else 1,
        )  # fmt: skip
        return replace(plan, client=client)


def lower_integer_circuit(circuit: Circuit, options: CompileOptions) -> ExactCircuitLowering:
    """Trace a circuit on integers: modulo one prime, or with `integers=` modulo several.

    raises  RangeError for results that no number of primes holds
    """
    if options.expert.integers is None:
        return lower_exact_circuit(circuit, options)
    bits = int(options.expert.integers)
    shared = shared_parameters(circuit, None, "bfv")
    scalars = to_scalars(circuit, options.data.weights, exact=True, integer_bits=bits)
    _check_sizes(circuit, scalars, bits)
    sizes = _sizes(max(map(abs, _all_ends(scalars))), options)
    options = options.override(plain_bits=sizes[-1], integers=bits)
    arithmetic = exact_arithmetic(options, None)
    check_products(circuit, scalars, arithmetic, options)
    samples = circuit_samples(circuit, scalars, None)
    arrays = find_arrays(circuit, scalars, samples, shared, options, exact=True)
    traced = TracedProgram(scalars.traced.module, [], [], [])
    choice = WideVectors(scalars, samples, arrays, shared, options, circuit.name, sizes=tuple(sizes))
    return WideCircuitLowering(circuit, traced, samples, options, scalars, arithmetic, choice)


def _sizes(largest: int, options: CompileOptions) -> list[float]:
    """Bits of plaintext moduli that are tried, the largest first: those that the user gave, if any."""
    given = options.expert.plain_bits
    return [given] if given != DEFAULTS["plain_bits"] else [bits for _, bits in numbers_of_moduli(largest)]


def _all_ends(scalars: Scalars) -> list[int]:
    return [int(end) for interval in scalars.traced.accepted for end in interval]


def _check_sizes(circuit: Circuit, scalars: Scalars, bits: int) -> None:
    """RangeError for a result that may be larger than what ranges are followed to."""
    for result in scalars.traced.results:
        if any(abs(end) == inf for element in result.elements for end in scalars.traced.accepted[element]):
            which = "the result" if result.name == "result" else f"result {result.name}"
            raise RangeError(
                f"circuit {circuit.name}: {which} may be larger than 2^1000 for inputs in their ranges "
                f"(integers={bits}: those that declare none have {bits} bits); declare low= and high= of inputs, or "
                "multiply fewer of them",
                at=circuit.loc,
            )


def _with_span(client: ClientSpec, number: int, given: SecretInput) -> SecretInput:
    """An input with the least and the largest number of all arguments that it holds, as floats."""
    ends = [end for a in client.arguments if a.input == number for end in a.ends]
    return replace(given, low=float(min(ends)), high=float(max(ends))) if ends else given


def _with_sizes(scalars: Scalars, plan: Plan) -> tuple[Output, ...]:
    """Outputs with the largest number that any of their results can be."""
    client = plan.client
    most = np.zeros(sum(prod(o.shape) for o in client.outputs))
    for traced, result in zip(scalars.traced.results, client.results, strict=True):
        for there, here in zip(traced.elements, result.elements, strict=True):
            most[here] = max(most[here], *(float(abs(end)) for end in scalars.traced.accepted[there]))
    starts = np.cumsum([0, *(prod(o.shape) for o in client.outputs)])
    return tuple(
        replace(
            output, magnitude=(size := float(max(most[start : start + prod(output.shape)], default=0.0))), reach=size
        )
        for start, output in zip(starts, client.outputs, strict=False)
    )
