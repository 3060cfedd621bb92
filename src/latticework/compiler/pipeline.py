"""The order of stages and passes: the one place that knows it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from latticework.compiler.accuracy import SHARE, LevelRoom, approximate_functions, loss, scores_of
from latticework.compiler.accuracy.agreement import FREE_DEGREES, DegreeOptions
from latticework.compiler.assemble import to_exact_plan, to_plan
from latticework.compiler.codegen.generate import generate
from latticework.compiler.input_constraints import find_forms
from latticework.compiler.keys import manifest
from latticework.compiler.layout_choice import (
    USUAL_DEPTH,
    CodeCost,
    explain,
    find_layouts,
    least_ring_degree,
    may_share_sums,
    ring_degree_for,
    slots_needed,
    vector_costs,
)
from latticework.compiler.levels import (
    LevelPlan,
    decide_levels,
    decide_levels_bfv,
    keep_whole_origins,
    program_depth,
    public_factors,
    unroll,
    write_levels,
)
from latticework.compiler.noisy_code import NoisyCode
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.techniques import UNPACKED, Techniques
from latticework.compiler.passes import (
    cse,
    dce,
    factor_sums,
    fold_affine,
    fold_splats,
    hoist_invariants,
    inverse_products,
    merge_maps,
    merge_matrices,
    normalize_polynomials,
    reassociate,
    share_inputs,
    share_outputs,
)
from latticework.compiler.stage_results import Lowered, TracedProgram, Vectors
from latticework.compiler.tabulating import tabulate
from latticework.errors import LayoutError
from latticework.frontend import Program, calibrate, trace
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.calibration.softmax_choice import expand_softmax
from latticework.ir import Builder, Loc, Module, PassEvent, Value, run_passes, verify
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.plan.cost import CostModel
from latticework.plan.cost.block_maps import block_prices
from latticework.plan.cost.networks import LAN_BITS_A_SECOND
from latticework.plan.cost.weights import LEVEL_SHARE
from latticework.plan.parameters import MAX_SLOTS, ModulusChain
from latticework.plan.parameters.bfv_noise import Noise
from latticework.plan.parameters.select_bfv import check_noise, select_bfv
from latticework.plan.schema.schema import Plan
from latticework.tensor.layout import assign_layouts
from latticework.tensor.ops.lower import lower_to_vectors

__all__ = ["to_bfv_plan", "to_levels", "to_plan", "to_polynomials", "to_primitives", "to_tensors", "to_vectors"]

TENSOR_PASSES = (cse.PASS, dce.PASS)
_TIDY = (cse.PASS, dce.PASS)
AFFINE_PASSES = (fold_affine.PASS, *_TIDY)
AFFINE_PASSES_WHOLE = (fold_affine.PASS_WHOLE, *_TIDY)
MATRIX_PASSES = (merge_matrices.PASS, *_TIDY)
REWRITING_PASSES = (cse.PASS, inverse_products.PASS, dce.PASS)
FOLDING_PASSES = (normalize_polynomials.PASS, fold_splats.PASS, *_TIDY)
MERGING_PASSES = (merge_maps.PASS, *_TIDY)
MERGING_PASSES_ONCE = (merge_maps.PASS_ONCE, *_TIDY)
SHARING_PASSES = (share_outputs.PASS, *_TIDY, share_inputs.PASS, *_TIDY)
VECTOR_PASSES = (*FOLDING_PASSES, *SHARING_PASSES)
HOISTING_PASSES = (hoist_invariants.PASS, *_TIDY)
FACTORING_PASSES = (factor_sums.PASS, *_TIDY)
UNROLLING_PASSES = (unroll.PASS, *_TIDY)
_LEFT_OUT = {"shared_babies": share_inputs.PASS, "shared_giants": share_outputs.PASS}

SCARCE_LEVEL_SHARE = 100.0
BOOTSTRAP_ROTATIONS = 12  # that take as long as a bootstrap, by the levels that it leaves: 4.5 s by 14, A14
OnEvent = Callable[[PassEvent], None]


def to_tensors(program: Program, weights: object, example: object) -> Module:
    """Trace a program."""
    module = trace(program, weights, example)
    verify(module)
    return module


def to_polynomials(
    module: Module,
    samples: list[Sample],
    options: CompileOptions,
    *,
    room: LevelRoom | None = None,
    operator_at: Callable[[Loc], str] = lambda _loc: "",
    num_given: int | None = None,
    num_rows: int | None = None,
    assumed: bool = False,
    degrees: DegreeOptions = FREE_DEGREES,
) -> TracedProgram:
    """Calibrate a traced program, and put polynomials that are precise enough in the place of its functions.

    room         for levels in rings that may be taken
    operator_at  what an imported model calls what is computed at a place
    num_given    samples that the user gave; those after them are what is fed to later runs
    num_rows     of data that the user gave, where samples have some repeatedly
    assumed      the samples are stand-ins, so they say nothing about the ranges of functions
    degrees      what is asked of functions that have no degree of their own
    raises       as `accuracy.approximate_functions` and `accuracy.scores_of`
    """
    margin, labels = options.expert.margin, options.data.labels
    precision_bits, on_event = options.precision_bits, options.on_event
    module = expand_softmax(tabulate(module, samples[0]), samples, assumed=assumed, margin=margin)
    given = samples[:num_given]
    samples, held = degrees.hold_back(samples)
    calibrated = module if assumed else calibrate(module, samples, margin=margin, num_rows=num_rows)
    exact, agreement = degrees.choose(calibrated, samples, held)
    found = approximate_functions(exact, samples, precision_bits, room, operator_at)
    made = calibrate(found.module, samples, margin=margin, assumed=True) if assumed else found.module
    scores = None if labels is None else scores_of(exact, made, given, labels)
    told = loss(found, precision_bits, SHARE, scores, agreement) if found.is_lossy else ""
    tidy = run_passes(made, TENSOR_PASSES, on_event=on_event)
    return TracedProgram(
        tidy, found.fitted, found.shifts.tolist(), found.effects.tolist(), told, scores, num_given=num_given,
        stand_ins=found.stand_ins, forms=find_forms(exact, found.stand_ins),
    )  # fmt: skip


def to_vectors(
    module: Module,
    options: CompileOptions,
    *,
    exact: bool = False,
    scarce_levels: bool = False,
    keep_loops: bool = False,
    residual: int | None = None,
    fed: Mapping[int, int] = {},
    rows: int = 0,
) -> Vectors:
    """Lay tensors out and lower them to vectors, which passes then improve.

    options        of which costs, techniques, the ring and the network matter: what is sent is priced too
    exact          for integers: no factor is moved to where a scale would take it in
    scarce_levels  spend as few levels as can be found, whatever time they take
    keep_loops     none becomes copies, for bootstraps are to be placed: depth is that of one iteration of each
    residual       levels that bootstraps leave: how high values lie does not follow from the program's depth then
    fed            numbers of outputs that are an input of the next run -> the number of that input
    rows           of a batch that go together, if there is one: slots that stay empty are for others of them
    Vectors are as long as the largest tensor needs, up to what a ring of the program's depth has, or the one asked for;
    longer where copies in slots that would be empty make products with matrices cheaper, or where layouts are not
    searched; shorter where rows of a batch would take a larger ring, and are computed on more vectors in less time.

    raises  LayoutError if a tensor fits no ring
    """
    techniques, ring_degree, on_event = options.techniques, options.ring_degree, options.on_event
    bits_a_second = options.bits_a_second
    if techniques.merged_maps and not exact:
        module = run_passes(module, AFFINE_PASSES_WHOLE if keep_loops else AFFINE_PASSES, on_event=on_event)
    if keep_loops and techniques.reassociated and not exact:
        module = run_passes(module, MATRIX_PASSES, on_event=on_event)
    model, without = options.costs, [_LEFT_OUT.get(name) for name in techniques.left_out]
    sharing = tuple(p for p in SHARING_PASSES if p not in without)
    needed, depth = slots_needed(module) if techniques.layout_search else MAX_SLOTS, residual or USUAL_DEPTH
    width = min(needed, (ring_degree or ring_degree_for(depth)) // 2)

    def lower_at(width: int) -> tuple[float, Vectors]:
        degree = max(2 * width, ring_degree or ring_degree_for(depth))
        prices = vector_costs(model, degree, depth, bits_a_second, techniques)
        refresh = CodeCost(prices, 0.0).rotations(BOOTSTRAP_ROTATIONS, 0) if keep_loops else 0.0
        decisions = find_layouts(
            module, width, prices, techniques, scarce_levels=scarce_levels, level_seconds=refresh
        )  # fmt: skip
        placed = assign_layouts(module, decisions, fed)
        verify(placed)
        lowered, tensors, positions = lower_to_vectors(placed, techniques.spread_sums, set(fed.values()))
        rewriting = REWRITING_PASSES if techniques.inverse_products and not exact else ()
        made = run_passes(lowered, (*rewriting, *FOLDING_PASSES), on_event=on_event)
        if keep_loops and techniques.hoisted_invariants and unroll.has_loops(made):
            made = run_passes(made, HOISTING_PASSES, on_event=on_event)
            if techniques.reassociated:
                made = run_passes(made, FACTORING_PASSES, on_event=on_event)
            made = to_loops(made, on_event, whole=fed)
            if techniques.reassociated:  # now that products with public numbers no longer look like levels
                again = run_passes(made, (reassociate.PASS,), on_event=on_event)
                made = made if again is made else to_loops(run_passes(again, _TIDY), on_event, whole=fed)
        if techniques.merged_maps and not exact:
            share = SCARCE_LEVEL_SHARE if scarce_levels else LEVEL_SHARE
            level = share * decisions.seconds / (program_depth(made, once=keep_loops) + 2)
            merging = MERGING_PASSES_ONCE if keep_loops else MERGING_PASSES
            made = run_passes(made, merging, CodeCost(prices, level), on_event=on_event)
        made = run_passes(made, sharing, on_event=on_event)
        why = explain(module, decisions, bits_a_second)
        packs = _packs(placed.inputs), _packs(placed.body.terminator.operands)
        flat = (
            None
            if exact
            else to_loops(made, on_event, whole=fed)
            if keep_loops
            else to_copies(made, on_event, whole=fed)
        )
        spent = program_depth(made if flat is None else flat, once=keep_loops)
        return decisions.seconds, Vectors(
            placed, made, tensors, positions, spent, width, *packs, *why, flat=flat, fed=fed
        )

    seconds, vectors = lower_at(width)
    depth = residual or vectors.depth
    longest = min(needed, (ring_degree or ring_degree_for(depth)) // 2)
    if width < longest:
        seconds, vectors = lower_at(longest)
    free = (ring_degree or least_ring_degree(depth)) // 2
    if not rows and vectors.slots < free and techniques.rolls and may_share_sums(module, free):
        fewer, wide = lower_at(free)
        vectors = wide if fewer < seconds else vectors
    share = (ring_degree or ring_degree_for(depth)) // 2 // max(rows, 1)
    if rows and 1 <= share < vectors.slots:
        with suppress(LayoutError):
            more, narrow = lower_at(share)
            vectors = narrow if more * share < seconds * vectors.slots else vectors
    return vectors


def to_copies(
    module: Module,
    on_event: OnEvent | None = None,
    sizes: Sequence[float] = (),
    whole: Collection[int] = (),
) -> Module:
    """Loops that spend levels as copies, and public factors where they spend the fewest levels.

    sizes  largest magnitude of every output, where some are small
    whole  numbers of outputs that are to have no scale of their own
    """
    copied = run_passes(module, UNROLLING_PASSES, on_event=on_event) if unroll.has_loops(module) else module
    flat = run_passes(copied, (public_factors.placing(sizes, whole=whole), dce.PASS), on_event=on_event)
    keep_whole_origins(copied, flat)
    return flat


def to_loops(
    module: Module, on_event: OnEvent | None = None, sizes: Sequence[float] = (), whole: Collection[int] = ()
) -> Module:
    """Loops as they are, and public factors where they spend the fewest levels of an iteration.

    sizes  largest magnitude of every output, where some are small
    whole  numbers of outputs that are to have no scale of their own
    """
    placed = run_passes(
        module, (public_factors.placing(sizes, in_loops=True, whole=whole), dce.PASS), on_event=on_event
    )
    keep_whole_origins(module, placed)
    return placed


def with_small_outputs(
    vectors: Vectors, sizes: Sequence[float], on_event: OnEvent | None = None, *, keep_loops: bool = False
) -> Vectors:
    """Vectors whose small outputs are computed larger, where that takes no level, and read by a larger scale.

    sizes  largest magnitude of every output;  keep_loops  as in `to_vectors`
    """
    if not any(0.0 < size < public_factors.SMALL for size in sizes):
        return vectors
    flat = (to_loops if keep_loops else to_copies)(vectors.module, on_event, sizes, vectors.fed)
    return replace(vectors, flat=flat, depth=program_depth(flat, once=keep_loops))


def _packs(values: Sequence[Value]) -> tuple[Any, ...]:
    """How tensors with layouts lie in vectors; None for integers."""
    kinds = (v.type for v in values)
    return tuple(k.layout.pack_map(k.shape) if isinstance(k, TensorType) else None for k in kinds)


def to_levels(vectors: Vectors, techniques: Techniques = UNPACKED, costs: CostModel | None = None) -> LevelPlan:
    """What is decided about levels, for any chain: how many it has to have follows from that.

    costs  by which it is decided how low values are computed; typical ones if not given
    """
    degree = max(2 * vectors.slots, least_ring_degree(vectors.depth))
    priced = vector_costs(costs or CostModel.load(), degree, vectors.depth, LAN_BITS_A_SECOND, techniques)
    return decide_levels(
        vectors.flat or vectors.module, techniques, vectors.starts, vectors.residual, vectors.fed, CodeCost(priced, 0.0)
    )


def to_primitives(
    levels: LevelPlan,
    chain: ModulusChain,
    on_event: OnEvent | None = None,
    *,
    costs: CostModel | None = None,
    techniques: Techniques = UNPACKED,
) -> Lowered:
    """Scales, primitives and keys for one chain.

    costs       by which linear maps are carried out in the cheapest way; typical ones if not given
    techniques  what expansion may use
    """
    return _to_code(levels, chain, on_event, costs, techniques)


def _to_code(
    levels: LevelPlan, chain: ModulusChain, on_event: OnEvent | None, costs: CostModel | None, techniques: Techniques
) -> Lowered:
    """Primitives, keys and code of a level plan, of any scheme."""
    managed = write_levels(levels, chain)
    prices = None if costs is None else lambda level: block_prices(costs, chain, level.index, level.track)
    made = generate(managed, chain, prices=prices, techniques=techniques, on_event=on_event)
    return Lowered(managed, made.module, made.code, manifest(made.code, chain), made.choices)


def with_squares(module: Module, count: int) -> Module:
    """The module with every output squared so many times: what going on computing with them would take."""
    deeper = module.clone()
    end = deeper.body.terminator
    builder = Builder(deeper.body, end.loc).before(end)
    for number, value in enumerate(list(end.operands)):
        for _ in range(count):
            value = builder.build("vec.mul", [value, value])
        end.set_operand(number, value)
    return deeper


def to_bfv_plan(
    name: str,
    vectors: Vectors,
    options: CompileOptions,
    *,
    ranges: Mapping[str, tuple[float, float]] = {},
    chain: ModulusChain | None = None,
    noises: Mapping[int, Noise] = {},
) -> Plan:
    """A plan that computes vectors exactly, on integers modulo t, under BFV, with parameters for its own noise.

    ranges       between which the elements of inputs lie; any integers modulo t where nothing is said
    chain        the parameters, if they are given;  noises  then: of inputs that are no fresh encryptions, by number
    raises       as `decide_levels_bfv` for what BFV has not; LevelError where no ring has room for the noise
    """
    verify(vectors.module)
    expert, wanted = options.expert, options.parameters
    techniques, costs, on_event = expert.techniques, options.costs, options.on_event
    levels = decide_levels_bfv(vectors.module, techniques)

    def lower(chain: ModulusChain) -> Lowered:
        return _to_code(levels, chain, on_event, costs, techniques)

    if chain is not None:
        code = lower(chain)
        check_noise(name, NoisyCode(code.code), chain, noises)
        return to_exact_plan(name, vectors, code, ranges)
    deeper = levels
    if expert.spare_levels:
        deeper = decide_levels_bfv(with_squares(vectors.module, expert.spare_levels), techniques)

    def of_deeper(chain: ModulusChain) -> NoisyCode:
        return NoisyCode(_to_code(deeper, chain, on_event, costs, techniques).code)

    chain = select_bfv(
        of_deeper, vectors.slots, plain_bits=expert.plain_bits, plain_modulus=expert.plain_modulus,
        ring_degree=wanted.ring_degree, security_bits=wanted.security_bits, insecure=wanted.insecure,
    )  # fmt: skip
    return to_exact_plan(name, vectors, lower(chain), ranges)
