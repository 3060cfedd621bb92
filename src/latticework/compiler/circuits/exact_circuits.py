"""The front end of circuits on integers modulo t, which are exact: vectors are chosen by whole plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from math import inf

from latticework.compiler.assemble import to_exact_plan
from latticework.compiler.circuits.choose_vectors import Candidate
from latticework.compiler.circuits.circuit_batch import check_rows
from latticework.compiler.circuits.circuit_inputs_seen import circuit_samples
from latticework.compiler.circuits.circuit_pipeline import WIDTH, LaneOptions, Scalars, to_lanes, to_scalars
from latticework.compiler.circuits.circuit_vectors import CircuitVectors, find_arrays
from latticework.compiler.circuits.composition import SharedParameters, shared_parameters
from latticework.compiler.circuits.plaintext_modulus import exact_arithmetic, exact_weights
from latticework.compiler.circuits.too_many_products import check_products, too_many_products
from latticework.compiler.circuits.wrapping_results import mark_wrapping
from latticework.compiler.exact_plans import lowered_exactly, plans_on, to_bfv_plan
from latticework.compiler.lanes.lane_graph import MUL
from latticework.compiler.noisy_code import NoisyCode
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.program_lowering import Lowering, Way
from latticework.compiler.retraining.same_client import find_differences, find_missing
from latticework.compiler.stage_results import Lowered, TracedProgram, Vectors
from latticework.errors import LevelError, UserError
from latticework.frontend import Circuit
from latticework.frontend.circuits.integers.integer_arithmetic import Arithmetic
from latticework.ir import Module
from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import estimate
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.select_bfv import TooNoisyError, spare_bits
from latticework.plan.schema.schema import Plan

SHALLOW_WIDTH = 2048  # of circuits that may fit a ring of degree 4096
WEIGHTS = (1.0, 2.6, 0.06, 0.05, 0.05, 0.05)  # of vector operations on BFV ciphertexts, in rotations, if no chain fits


@dataclass(frozen=True)
class ExactVectors(CircuitVectors):
    """A choice of vectors for a circuit on integers, by plans, or by which of them a ring has room for.

    refused  why plans were none
    """

    name: str
    refused: list[LevelError] = field(default_factory=list)

    def plan(self, vectors: Vectors) -> Plan:
        """Plan vectors for the parameters that are shared, or the smallest that hold their noise."""
        shared, old = self.shared, self.old
        if old is None or shared.chain is None:
            return to_bfv_plan(self.name, vectors, self.options, chain=shared.chain, noises=shared.noises(vectors))
        high, *lower = plans_on(self.name, vectors, self.options, shared.chain)
        ends = old.ends([output.name for output in high.client.outputs])
        outputs = enumerate(high.client.outputs)  # others may go on with results that did not come down
        is_lower = any(n in ends and ends[n] < output.level - shared.chain.main.top for n, output in outputs)
        plans = [high, *(lower if is_lower else [])]
        same = (plan for plan in plans if not find_differences(old.client, plan.client))
        return next(same, None) or min(plans, key=lambda plan: len(find_missing(old.client, plan.client)))

    def num_missing(self, candidate: Candidate | None) -> float:
        """Number of keys of a candidate that the old model has not; infinite where it has no plan."""
        if candidate is None or candidate.plan is None or self.old is None:
            return inf
        return len(find_missing(self.old.client, candidate.plan.client))

    def predict(self, vectors: Vectors) -> Candidate:
        """Predict seconds of a plan and of sending."""
        try:
            plan = self.plan(vectors)
        except LevelError as error:
            self.refused.append(error)
            return Candidate(vectors)
        cost = estimate(plan, self.options.costs)
        sending = 8 * (cost.bytes.inputs_fresh + cost.bytes.outputs) / self.options.priced_bits_a_second
        return Candidate(vectors, cost.warm_seconds, sending, plan)

    def emit(self, width: int, lanes: LaneOptions) -> Vectors:
        """Find lanes for integers, which have no samples."""
        dirty, on_event = self.shared.groups, self.options.on_event
        return to_lanes(self.scalars, width, lanes, exact=True, dirty=dirty, on_event=on_event)

    def weights(self) -> tuple[float, ...]:
        """Prices on a chain that holds the products in a row: those by which the old circuit was compiled, if any."""
        chain = self.shared.chain if self.old is None else None
        return exact_weights(self.scalars.graph.depth(), self.options, chain) or WEIGHTS

    def widest(self) -> int:
        """Lanes of a small ring for shallow circuits: a product with a small public number is next to none."""
        is_small = len(self.scalars.graph.nodes) <= SHALLOW_WIDTH
        return SHALLOW_WIDTH if is_small and self.scalars.graph.depth((MUL,)) <= 1 else WIDTH


@dataclass
class ExactCircuitLowering(Lowering):
    """A circuit on integers modulo t: never approximate, so it has no bootstraps.

    best  the vectors that were chosen, with their plan, once they are
    """

    scalars: Scalars
    arithmetic: Arithmetic
    choice: ExactVectors
    best: Candidate | None = None

    def to_vectors(self) -> Vectors:
        """Choose vectors by their plans.

        raises  LevelError where no ring has room for the noise of any
        """
        arrays, old = self.choice.arrays, self.choice.keep()
        kept = None if old is None else self.choice.predict(old)
        missing = self.choice.num_missing(kept)
        if missing == 0:
            self.best = kept
        elif arrays is not None and self.choice.is_settled:
            self.best = Candidate(arrays, plan=self.choice.plan(arrays))
        else:
            found = self.choice.choose()
            self.best = kept if missing < inf and missing <= self.choice.num_missing(found) else found
        assert self.best is not None
        if self.best.plan is None:
            raise self.choice.refused[0]
        return self.best.vectors

    def plan(self, vectors: Vectors) -> Plan:
        """Plan vectors, or give the plan by which they were chosen."""
        if self.best is not None and self.best.plan is not None and vectors is self.best.vectors:
            return self.best.plan
        return self.choice.plan(vectors)

    def plan_flat(self, vectors: Vectors) -> Plan:
        """Plan vectors; levels are managed from their own module."""
        return self.choice.plan(vectors)

    def list_ways(self, vectors: Vectors, chain: ModulusChain) -> Iterator[Way]:
        """The highest levels that vectors may have, and lower ones."""
        shared = self.choice.shared
        noises = None if shared.chain is None else shared.noises(vectors)

        def plan(lowered: Lowered) -> Plan:
            short = spare_bits(NoisyCode(lowered.code), lowered.code.chain, noises or {})
            if short < 0:
                raise LevelError(
                    f"compile: noise takes {-short:.0f} bits more than the parameters leave at the end: products are "
                    "computed too low, or there are too many",
                    at=self.program.loc,
                )
            return to_exact_plan(self.program.name, vectors, lowered, {})

        for lowered in lowered_exactly(vectors, self.choice.options, chain, noises):
            yield Way(lowered, plan)

    def silent(self) -> ExactCircuitLowering:
        """The same, without anybody who is told of passes."""
        options = self.options.override(on_event=None)
        return replace(self, options=options, choice=replace(self.choice, options=options))

    @property
    def traced_module(self) -> Module:
        """The circuit on numbers."""
        return self.scalars.traced.module

    def retrace(self, module: Module, options: CompileOptions) -> ExactCircuitLowering:
        """Choose vectors of another circuit on the same inputs."""
        assert isinstance(self.program, Circuit)
        scalars = self.scalars.with_module(module)
        return lower_integers(self.program, scalars, self.choice.shared, options, self.arithmetic)

    @property
    def is_retrained(self) -> bool:
        """Whether it goes on with no results of the old model, so that it may take its place."""
        return self.old is not None and not self.choice.shared.groups

    @property
    def least_ring_degree(self) -> int | None:
        """Ring degree of one row."""
        return None if self.best is None or self.best.plan is None else self.best.plan.chain.ring_degree

    @property
    def bootstrap_obstacle(self) -> str | None:
        """Reason why nothing can be bootstrapped."""
        return "integers are exact, and bootstraps are approximate"

    def explain(self, error: UserError) -> UserError:
        """Name the lines with most of the products in a row."""
        if not isinstance(error, TooNoisyError):
            return error
        assert isinstance(self.program, Circuit)
        return too_many_products(self.program, self.scalars.graph, self.arithmetic, error)

    def finish(self, plan: Plan) -> Plan:
        """Warn of results that may wrap around, unless that is meant."""
        assert isinstance(self.program, Circuit)
        return plan if self.options.expert.wraps else mark_wrapping(self.program, self.scalars, plan)


def lower_exact_circuit(circuit: Circuit, options: CompileOptions) -> ExactCircuitLowering:
    """Trace a circuit on integers modulo t."""
    shared = shared_parameters(circuit, options.like, "bfv")
    check_rows(circuit, shared, options)
    arithmetic = exact_arithmetic(options, shared.chain)
    scalars = to_scalars(circuit, options.data.weights, exact=True, arithmetic=arithmetic)
    return lower_integers(circuit, scalars, shared, options, arithmetic)


def lower_integers(
    circuit: Circuit, scalars: Scalars, shared: SharedParameters, options: CompileOptions, arithmetic: Arithmetic
) -> ExactCircuitLowering:
    """Find samples and arrays of a circuit on integers that is traced."""
    if scalars.traced.is_modular:
        options = options.override(plain_modulus=arithmetic.modulus)
    if shared.chain is None:
        check_products(circuit, scalars, arithmetic, options)
    samples = circuit_samples(circuit, scalars, None)
    arrays = find_arrays(circuit, scalars, samples, shared, options, exact=True)
    traced = TracedProgram(scalars.traced.module, [], [], [])
    choice = ExactVectors(scalars, samples, arrays, shared, options, circuit.name)
    return ExactCircuitLowering(circuit, traced, samples, options, scalars, arithmetic, choice)
