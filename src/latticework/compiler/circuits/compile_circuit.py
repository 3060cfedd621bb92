"""lw.compile for circuits: from a function on numbers to a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from latticework.compiler.batch_rows import planned_for_rows
from latticework.compiler.bound_conditions import place_of
from latticework.compiler.circuits.array_circuits import argument_samples, is_of_arrays, to_arrays
from latticework.compiler.circuits.choose_vectors import Candidate, candidates, choose
from latticework.compiler.circuits.circuit_batch import check_rows, of_best_width
from latticework.compiler.circuits.circuit_inputs_seen import circuit_samples, with_ranges
from latticework.compiler.circuits.circuit_pipeline import (
    WIDTH,
    LaneOptions,
    Scalars,
    to_lanes,
    to_scalars,
)
from latticework.compiler.circuits.composition import SharedParameters, shared_parameters
from latticework.compiler.circuits.plaintext_modulus import exact_arithmetic, exact_weights
from latticework.compiler.circuits.too_many_products import check_products, too_many_products
from latticework.compiler.exact_plans import to_bfv_plan
from latticework.compiler.lanes.circuit_ranges import bits_that_hold, fits, overflowing
from latticework.compiler.lanes.lane_graph import MUL
from latticework.compiler.layout_choice import (
    VectorCosts,
    code_seconds,
    least_ring_degree,
    sending_seconds,
    vector_costs,
)
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.precision import PrecisionSearch
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.errors import LevelError, RangeWarning, UserError
from latticework.errors.rounded_numbers import large
from latticework.frontend import Circuit
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.recording.facts import ASSUMED
from latticework.frontend.recording.tracing import user_line
from latticework.functions.approximation.intervals import Interval, intersection
from latticework.ir.lines import warn
from latticework.model import Model, Reference
from latticework.plan.analysis.estimate import estimate
from latticework.plan.parameters.select_bfv import TooNoisyError
from latticework.plan.schema.conditions import Condition
from latticework.plan.schema.schema import Plan

LARGE = {"fast": 5_000, "normal": 20_000}  # nodes of a circuit for whose lanes an effort has no time
SHALLOW_WIDTH = 2048  # of BFV circuits that may fit a ring of degree 4096
MAX_PLAIN_BITS = 49
MAX_NAMED = 8  # inputs in a warning
SPARE_BITS = 4  # of precision, where other circuits go on with the results
LEVEL = 1.0  # part by which everything becomes dearer for one more product in a row, masks included
WEIGHTS = (1.0, 2.6, 0.06, 0.05, 0.05, 0.05)  # of vector operations on BFV ciphertexts, in rotations, if no chain fits


def compile_circuit(circuit: Circuit, options: CompileOptions) -> Model:
    """A circuit, under the scheme that is asked for."""
    with user_line(circuit.loc):
        return (compile_bfv if options.parameters.scheme == "bfv" else compile_ckks)(circuit, options)


def compile_ckks(circuit: Circuit, options: CompileOptions) -> Model:
    """A circuit on real numbers."""
    shared = shared_parameters(circuit, options.expert.like, "ckks")
    check_rows(circuit, shared, options)
    scalars = to_scalars(circuit, options.data.weights, exact=False)
    given = circuit_samples(circuit, scalars, options.samples)
    is_alone = shared.chain is None and not options.expert.spare_levels
    arrays = _arrays(circuit, scalars, given, options) if is_alone else None
    vectors = arrays if _is_settled(scalars, options) else None
    vectors = vectors or _lanes(scalars, given, arrays, shared, options)
    samples = argument_samples(scalars, given) if is_of_arrays(vectors) else given
    samples = [{name: s[name] for name in vectors.placed.input_names} for s in samples]
    vectors = with_ranges(vectors, scalars, given)
    if shared.chain is not None:
        vectors = shared.with_starts(vectors, circuit)
    nothing = [0.0] * len(vectors.placed.outputs)
    traced = TracedProgram(vectors.placed, [], nothing, nothing)
    bits = options.precision_bits + (SPARE_BITS if options.expert.spare_levels else 0)

    def plan_of(vectors: Vectors) -> Plan:
        search = PrecisionSearch(circuit, traced, vectors, samples, options.override(precision_bits=bits))
        if shared.chain is not None:
            return search.on(shared.chain)
        # Where other circuits go on they want the scale of the level.
        return search.best(enlarging=not options.expert.spare_levels)

    vectors, plan = _for_rows(circuit, vectors, plan_of, least_ring_degree(vectors.depth), options)
    plan = replace(plan, client=replace(plan.client, precision_bits=options.precision_bits))
    return Model(
        plan, Reference(vectors.placed, vectors.positions), options.costs, allow_insecure=options.allows_insecure
    )


def _lanes(
    scalars: Scalars,
    samples: list[Sample],
    arrays: Vectors | None,
    shared: SharedParameters,
    options: CompileOptions,
) -> Vectors:
    """The circuit on lanes, or as arrays, if that is cheaper."""
    usual = shared.width or _width(WIDTH, options)

    def prices(depth: int) -> VectorCosts:
        degree = options.ring_degree or least_ring_degree(depth)
        return vector_costs(options.costs, degree, depth, options.bits_a_second, options.techniques)

    def predict(vectors: Vectors) -> Candidate:
        costs = prices(vectors.depth)
        run = code_seconds(vectors.module, costs, options.techniques)
        return Candidate(vectors, run, sending_seconds(vectors.module, costs))

    def price_lanes(lanes: LaneOptions, width: int) -> Candidate:
        return predict(to_lanes(scalars, width, lanes, samples=samples, dirty=shared.groups, on_event=options.on_event))

    own = prices(scalars.graph.depth())
    addition = own.addition(0)
    weights = (own.rotations(1, 0), own.product(0), own.plain_product(0), addition, addition, addition, LEVEL)
    lanes = LaneOptions(options.expert.algorithm, options.expert.effort, options.expert.seed, weights)

    def best(width: int) -> Candidate:
        found = candidates(scalars, lanes, partial(price_lanes, width=width), is_alone=_is_alone(shared, options))
        return choose(found, None if arrays is None else predict(arrays))

    return of_best_width(scalars.graph, usual, options.rows, best).vectors


def _is_alone(shared: SharedParameters, options: CompileOptions) -> bool:
    """Whether no other circuit has a part in its ciphertexts."""
    return shared.chain is None and not shared.groups and not options.expert.spare_levels


def _is_settled(scalars: Scalars, options: CompileOptions) -> bool:
    """Whether a circuit that is regular is compiled as arrays without a look at lanes."""
    most = LARGE.get(options.expert.effort, len(scalars.written.nodes))
    return options.expert.algorithm == "tensors" or len(scalars.written.nodes) > most


def _arrays(
    circuit: Circuit, scalars: Scalars, samples: list[Sample], options: CompileOptions, *, exact: bool = False
) -> Vectors | None:
    """The circuit as operations on arrays, if that may be and if it is regular.

    raises  UserError if it has to be
    """
    if options.expert.algorithm not in ("search", "tensors"):
        return None
    found = to_arrays(scalars, samples, options, exact=exact)
    if found is None and options.expert.algorithm == "tensors":
        raise UserError(
            f'compile: algorithm="tensors", but circuit {circuit.name} is no regular arithmetic on arrays, or its '
            'inputs have lanes= or share ciphertexts; leave algorithm="search", or write it as an lw.program',
            at=circuit.loc,
        )
    return found


def compile_bfv(circuit: Circuit, options: CompileOptions) -> Model:
    """A circuit on integers modulo t, exactly; RangeWarning where its results may not fit them."""
    shared = shared_parameters(circuit, options.expert.like, "bfv")
    check_rows(circuit, shared, options)
    arithmetic = exact_arithmetic(options, shared.chain)
    scalars = to_scalars(circuit, options.data.weights, exact=True, arithmetic=arithmetic)
    if scalars.traced.is_modular:
        options = options.override(plain_modulus=arithmetic.modulus)
    if shared.chain is None:
        check_products(circuit, scalars, arithmetic, options)
    samples = circuit_samples(circuit, scalars, None)
    arrays = _arrays(circuit, scalars, samples, options, exact=True) if _is_alone(shared, options) else None
    try:
        if arrays is not None and _is_settled(scalars, options):
            vectors, plan = arrays, _bfv_plan(circuit, arrays, shared, options)
        else:
            vectors, plan = _exact_lanes(circuit, scalars, arrays, shared, options)
        of_rows = partial(_bfv_plan, circuit, shared=shared, options=options)
        vectors, plan = _for_rows(circuit, vectors, of_rows, plan.chain.ring_degree, options, plan)
    except TooNoisyError as error:
        raise too_many_products(circuit, scalars.graph, arithmetic, error) from None
    if not options.expert.wraps:
        overflowing = _overflowing(scalars, plan.chain.plain_modulus)
        _warn_of_overflow(circuit, scalars, plan.chain.plain_modulus, overflowing)
        plan = _with_wraps(circuit, scalars, plan, [number for number, _ in overflowing])
    return Model(
        plan, Reference(vectors.placed, vectors.positions), options.costs, allow_insecure=options.allows_insecure
    )


def _exact_lanes(
    circuit: Circuit, scalars: Scalars, arrays: Vectors | None, shared: SharedParameters, options: CompileOptions
) -> tuple[Vectors, Plan]:
    """The circuit on lanes, or as arrays, if that is cheaper or the only one that a ring has room for."""
    depth, is_small = scalars.graph.depth(), len(scalars.graph.nodes) <= SHALLOW_WIDTH
    is_shallow = is_small and scalars.graph.depth((MUL,)) <= 1  # a product with a small public number is next to none
    usual = shared.width or _width(SHALLOW_WIDTH if is_shallow else WIDTH, options)

    refused: list[LevelError] = []

    def predict(vectors: Vectors) -> Candidate:
        try:
            plan = _bfv_plan(circuit, vectors, shared, options)
        except LevelError as error:
            refused.append(error)
            return Candidate(vectors)
        cost = estimate(plan, options.costs)
        sending = 8 * (cost.bytes.inputs_fresh + cost.bytes.outputs) / options.bits_a_second
        return Candidate(vectors, cost.warm_seconds, sending, plan)

    def price_lanes(lanes: LaneOptions, width: int) -> Candidate:
        return predict(to_lanes(scalars, width, lanes, exact=True, dirty=shared.groups, on_event=options.on_event))

    weights = (*(exact_weights(depth, options, shared.chain) or WEIGHTS), LEVEL)
    lanes = LaneOptions(options.expert.algorithm, options.expert.effort, options.expert.seed, weights)

    def of_width(width: int) -> Candidate:
        found = candidates(scalars, lanes, partial(price_lanes, width=width), is_alone=_is_alone(shared, options))
        return choose(found, None if arrays is None else predict(arrays))

    best = of_best_width(scalars.graph, usual, options.rows, of_width)
    if best.plan is None:
        raise refused[0]
    return best.vectors, best.plan


def _for_rows(
    circuit: Circuit,
    vectors: Vectors,
    plan_of: Callable[[Vectors], Plan],
    ring_degree: int,
    options: CompileOptions,
    plan: Plan | None = None,
) -> tuple[Vectors, Plan]:
    """The plan for the rows that are wanted in a run, and its vectors.

    vectors  of one row;  plan  theirs, if it is known;  ring_degree  as `planned_for_rows` takes it
    """
    if options.rows is None:
        return vectors, plan_of(vectors) if plan is None else plan
    return planned_for_rows(circuit, vectors, options, plan_of, least_degree=ring_degree)


def _bfv_plan(circuit: Circuit, vectors: Vectors, shared: SharedParameters, options: CompileOptions) -> Plan:
    return to_bfv_plan(circuit.name, vectors, options, chain=shared.chain, noises=shared.noises(vectors))


def _width(usual: int, options: CompileOptions) -> int:
    if options.expert.like is not None:
        return min(usual, options.expert.like.plan.chain.slots)
    return options.ring_degree // 2 if options.ring_degree else usual


def _overflowing(scalars: Scalars, modulus: int) -> list[tuple[int, Interval]]:
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


def _with_wraps(circuit: Circuit, scalars: Scalars, plan: Plan, numbers: Sequence[int]) -> Plan:
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
            condition = Condition(said, place_of(circuit.loc), modulus=plan.chain.plain_modulus)
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
