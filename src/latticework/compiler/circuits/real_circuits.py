"""The front end of circuits on real numbers: traced, on vectors, with samples of its inputs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from math import inf

from latticework.compiler.circuits.array_circuits import argument_samples, is_of_arrays
from latticework.compiler.circuits.choose_vectors import Candidate
from latticework.compiler.circuits.circuit_batch import check_rows
from latticework.compiler.circuits.circuit_inputs_seen import circuit_samples, corner_samples, note_sizes, with_ranges
from latticework.compiler.circuits.circuit_pipeline import WIDTH, LaneOptions, Scalars, to_lanes, to_scalars
from latticework.compiler.circuits.circuit_vectors import CircuitVectors, find_arrays
from latticework.compiler.circuits.composition import SharedParameters, shared_parameters
from latticework.compiler.layout_choice import (
    VectorCosts,
    code_seconds,
    least_ring_degree,
    sending_seconds,
    vector_costs,
)
from latticework.compiler.like_plans import plan_as_stated
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.program_lowering import Lowering
from latticework.compiler.retraining.same_client import find_missing
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.errors import LevelError, UserError
from latticework.frontend import Circuit
from latticework.frontend.calibration.calibration_data import Sample
from latticework.ir import Module
from latticework.lazy_dataclass import dataclass
from latticework.plan.parameters import BootstrapSet
from latticework.plan.schema.schema import ClientSpec, Plan

MAX_NAMED = 8  # inputs in a message
SPARE_BITS = 4  # of precision, where other circuits go on with the results


@dataclass(frozen=True)
class RealVectors(CircuitVectors):
    """A choice of vectors for a circuit on real numbers, by predicted seconds of its vector code."""

    def predict(self, vectors: Vectors) -> Candidate:
        """Predict seconds of vector code and of sending."""
        costs = self._prices(vectors.depth)
        run = code_seconds(vectors.module, costs, self.options.techniques)
        return Candidate(vectors, run, sending_seconds(vectors.module, costs))

    def emit(self, width: int, lanes: LaneOptions) -> Vectors:
        """Find lanes, and the sizes of outputs on the samples."""
        dirty, on_event = self.shared.groups, self.options.on_event
        return to_lanes(self.scalars, width, lanes, samples=self.samples, dirty=dirty, on_event=on_event)

    def weights(self) -> tuple[float, ...]:
        """Prices in the ring that holds the circuit's levels."""
        own = self._prices(self.scalars.graph.depth())
        addition = own.addition(0)
        return own.rotations(1, 0), own.product(0), own.plain_product(0), addition, addition, addition

    def widest(self) -> int:
        """Lanes that are more than enough."""
        return WIDTH

    def _prices(self, depth: int) -> VectorCosts:
        options = self.options
        degree = options.ring_degree or least_ring_degree(depth)
        return vector_costs(options.costs, degree, depth, options.priced_bits_a_second, options.techniques)


@dataclass
class RealCircuitLowering(Lowering):
    """A circuit on real numbers, whose vectors are as they are on every ring.

    wanted_bits  of precision of its results; `options` has more where other circuits go on with them
    corners      samples of inputs at ends of their declared ranges; none where there are calibration data
    """

    bootstraps_for_time = False  # what fits keeps its parameters, so that other circuits go on with its results

    scalars: Scalars
    shared: SharedParameters
    vectors: Vectors
    wanted_bits: float
    corners: list[Sample]

    def to_vectors(self) -> Vectors:
        """Give the vectors that were chosen."""
        return self.vectors

    def to_vectors_of(self, ring_degree: int, residual: int) -> Vectors:
        """Give the same vectors for bootstraps to be placed.

        raises  UserError where nothing can be bootstrapped
        """
        if self.bootstrap_obstacle is not None:
            raise UserError(
                f"compile: circuit {self.program.name} is not bootstrapped: {self.bootstrap_obstacle}",
                at=self.program.loc,
            )
        note_sizes(self.vectors.placed, self.corners)
        return super().to_vectors_of(ring_degree, residual)

    def fits_ring(self, ring_degree: int) -> bool:
        """Whether vectors of a ring are long enough."""
        return ring_degree >= 2 * self.vectors.slots

    @property
    def bootstrap_obstacle(self) -> str | None:
        """Reason why nothing can be bootstrapped, with what would help; None if it can.

        Bootstraps take values of known size, and what other circuits go on with has levels of a chain without any.
        """
        if not self.shared.is_alone(self.options):
            return (
                "what shares parameters or ciphertexts with other circuits (like=, lanes=, spare_levels=) has no "
                "bootstraps: leave that out"
            )
        names = [a.name for a in self.scalars.traced.arguments if a.low is None]
        if names and self.options.samples is None:
            listed = ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" * (len(names) > MAX_NAMED))
            return f"bootstraps take values of known size: declare low= and high= of {listed}, or give calibrate=data"
        return super().bootstrap_obstacle

    @property
    def bootstrap_samples(self) -> tuple[list[Sample], str]:
        """The same with all corners of declared ranges, since what a bootstrap has no room for wraps unseen."""
        if not self.corners:
            return super().bootstrap_samples
        ends = "with inputs at ends of their declared ranges (give calibrate=data if yours are never there)"
        return [*self.samples, *self.corners], ends

    def plan(self, vectors: Vectors) -> Plan:
        """Plan on the parameters that are shared, or on the smallest that do; others want the scale of the level."""
        search = self.search(vectors)
        if self.shared.chain is None:
            return search.best(enlarging=not self.options.expert.spare_levels)
        old = self.old
        if old is None or not self.is_retrained:
            return search.on(self.shared.chain)
        stated = plan_as_stated(search, old, self.describe_client)
        if stated is not None and not find_missing(old.client, stated.client):
            return stated
        try:
            own = search.on(self.shared.chain)
        except UserError:
            if stated is None:
                raise
            return stated
        plans = [own] if stated is None else [stated, own]
        return min(plans, key=lambda plan: len(find_missing(old.client, plan.client)))

    @cached_property
    def num_missing(self) -> float:
        """Number of keys that the old model has not; infinite where its parameters do not do."""
        assert self.old is not None
        try:
            return len(find_missing(self.old.client, self.plan(self.vectors).client))
        except UserError:
            return inf

    @property
    def is_retrained(self) -> bool:
        """Whether it goes on with no results of the old model, so that it may take its place."""
        return self.old is not None and not self.shared.groups

    @property
    def chosen_set(self) -> BootstrapSet | None:
        """The set that the user named; on the chain of an old model a circuit has no bootstraps."""
        return self.options.chosen_set

    def plan_flat(self, vectors: Vectors) -> Plan:
        """Plan on the parameters that are shared, or on the smallest that do."""
        chain = self.shared.chain
        return super().plan_flat(vectors) if chain is None else self.search(vectors).on(chain)

    @property
    def traced_module(self) -> Module:
        """The circuit on numbers."""
        return self.scalars.traced.module

    def retrace(self, module: Module, options: CompileOptions) -> RealCircuitLowering:
        """Choose vectors of another circuit on the same inputs."""
        assert isinstance(self.program, Circuit)
        return lower_real_numbers(self.program, self.scalars.with_module(module), self.shared, options)

    def finish(self, plan: Plan) -> Plan:
        """Say which precision was asked for."""
        return replace(plan, client=self.describe_client(plan.client))

    def describe_client(self, client: ClientSpec) -> ClientSpec:
        """The client's part with the precision that was asked for."""
        return replace(client, precision_bits=self.wanted_bits)


def lower_real_circuit(circuit: Circuit, options: CompileOptions) -> RealCircuitLowering:
    """Trace a circuit on real numbers, and choose its vectors."""
    shared = shared_parameters(circuit, options.like, "ckks")
    check_rows(circuit, shared, options)
    return lower_real_numbers(circuit, to_scalars(circuit, options.data.weights, exact=False), shared, options)


def lower_real_numbers(
    circuit: Circuit, scalars: Scalars, shared: SharedParameters, options: CompileOptions
) -> RealCircuitLowering:
    """Choose the vectors of a circuit that is traced: those of an old model first, if they take no new keys."""
    given = circuit_samples(circuit, scalars, options.samples)
    chosen = options.chosen_set
    laid_out = options if chosen is None else options.override(ring_degree=1 << chosen.log2_degree)
    arrays = find_arrays(circuit, scalars, given, shared, laid_out)
    choice = RealVectors(scalars, given, arrays, shared, laid_out)
    lower = partial(_lower_vectors, circuit, choice, options)
    old = choice.keep()
    kept: RealCircuitLowering | None = None
    if old is not None:
        with suppress(LevelError):
            kept = lower(old)
    if kept is not None and kept.num_missing == 0:
        return kept
    found = lower(arrays if arrays is not None and choice.is_settled else choice.choose().vectors)
    return found if kept is None or kept.num_missing > found.num_missing else kept


def _lower_vectors(
    circuit: Circuit, choice: RealVectors, options: CompileOptions, vectors: Vectors
) -> RealCircuitLowering:
    """The circuit on vectors that were chosen.

    raises  LevelError where the levels of shared parameters are too few
    """
    scalars, shared, given = choice.scalars, choice.shared, choice.samples
    samples, corners = (
        [{name: sample[name] for name in vectors.placed.input_names} for sample in seen]
        for seen in (
            argument_samples(scalars, found) if is_of_arrays(vectors) else found
            for found in (given, [] if options.samples is not None else corner_samples(scalars))
        )
    )
    vectors = with_ranges(vectors, scalars, given)
    if shared.chain is not None:
        vectors = shared.with_starts(vectors, circuit)
    nothing = [0.0] * len(vectors.placed.outputs)
    traced = TracedProgram(vectors.placed, [], nothing, nothing)
    bits = options.precision_bits + (SPARE_BITS if options.expert.spare_levels else 0)
    planned = options.override(precision_bits=bits)
    return RealCircuitLowering(
        circuit, traced, samples, planned, scalars, shared, vectors, options.precision_bits, corners
    )
