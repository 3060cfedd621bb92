"""Plans of vectors of integers modulo t, which are computed exactly under BFV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from latticework.compiler.assemble import to_exact_plan
from latticework.compiler.levels import LevelPlan, decide_levels_bfv, lowest_levels_bfv, needs_keys
from latticework.compiler.noisy_code import NoisyCode
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.techniques import WATERLINE
from latticework.compiler.stage_results import Lowered, Vectors
from latticework.compiler.vector_levels import to_primitives
from latticework.ir import Builder, Module, verify
from latticework.plan.analysis.estimate import estimate
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bfv_noise import Noise
from latticework.plan.parameters.plain_moduli import with_plain_moduli
from latticework.plan.parameters.select_bfv import check_noise, select_bfv, spare_bits
from latticework.plan.schema.schema import Plan

ROOM_BITS = 6.0  # that outputs keep for sums and rotations where values come down, if they have so many
ROUNDING_BITS = (2.0, 6.0, 12.0)  # of room left for roundings to add up, as far as it has to be


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
    largest: int = 0,
) -> Plan:
    """A plan that computes vectors exactly, on integers modulo t, under BFV, with parameters for its own noise.

    ranges       between which the elements of inputs lie; any integers modulo t where nothing is said
    chain        the parameters, if they are given;  noises  then: of inputs that are no fresh encryptions, by number
    largest      result, where it takes several plaintext moduli; else 0
    raises       as `decide_levels_bfv` for what BFV has not; LevelError where no ring has room for the noise
    """
    verify(vectors.module)
    expert, wanted = options.expert, options.parameters
    if chain is not None:
        (code,) = lowered_exactly(vectors, options, chain, noises)
        check_noise(name, NoisyCode(code.code), chain, noises)
        return to_exact_plan(name, vectors, code, ranges)

    def complete(chain: ModulusChain) -> ModulusChain:
        return with_plain_moduli(chain, largest) if largest else chain

    without_keys = bool(largest) and not needs_keys(vectors.module)
    deeper = decide_levels_bfv(vectors.module, expert.techniques, without_keys=without_keys)
    if expert.spare_levels:
        deeper = decide_levels_bfv(with_squares(vectors.module, expert.spare_levels), expert.techniques)
    chain = select_bfv(
        lambda roomy: NoisyCode(_lower(deeper, complete(roomy), options).code), vectors.slots,
        plain_bits=expert.plain_bits, plain_modulus=expert.plain_modulus, ring_degree=wanted.ring_degree,
        security_bits=wanted.security_bits, insecure=wanted.insecure, without_keys=without_keys,
    )  # fmt: skip
    codes = lowered_exactly(vectors, options, complete(chain))
    plans = [to_exact_plan(name, vectors, code, ranges) for code in codes]
    if len(plans) == 1:
        return plans[0]
    return min(plans, key=lambda plan: seconds_of(plan, options, with_sending=without_keys))


def seconds_of(plan: Plan, options: CompileOptions, *, with_sending: bool = True) -> float:
    """Predicted seconds of a run, with sending what goes in and comes out."""
    cost = estimate(plan, options.costs)
    sent = 8 * (cost.bytes.inputs_fresh + cost.bytes.outputs) if with_sending else 0
    return cost.warm_seconds + sent / options.bits_a_second


def plans_on(name: str, vectors: Vectors, options: CompileOptions, chain: ModulusChain) -> list[Plan]:
    """The plans of vectors of fresh inputs on given parameters: at the highest levels, then lower.

    raises  LevelError where these have no room for the noise
    """
    plans = []
    for code in lowered_exactly(vectors, options, chain):
        check_noise(name, NoisyCode(code.code), chain, {})
        plans.append(to_exact_plan(name, vectors, code, {}))
    return plans


def lowered_exactly(
    vectors: Vectors, options: CompileOptions, chain: ModulusChain, noises: Mapping[int, Noise] | None = None
) -> Iterator[Lowered]:
    """Ways in which vectors are computed on a chain: at the highest levels, then lower, where their noise allows it.

    noises  as of `to_bfv_plan`, where the chain is given: then there is one way
    """
    module, techniques = vectors.module, options.techniques
    if noises is not None:
        starts = {number: noise.level - chain.main.top for number, noise in noises.items()}
        yield _lower(decide_levels_bfv(module, techniques, starts), chain, options)
        return
    without_keys = not chain.special
    high = _lower(decide_levels_bfv(module, techniques, without_keys=without_keys), chain, options)
    yield high
    if options.expert.spare_levels or techniques.rescaling == WATERLINE or chain.main.top == 0:
        return
    spare = spare_bits(NoisyCode(high.code), chain)
    room = 0.0 if without_keys else min(spare, ROOM_BITS)
    for rounding in ROUNDING_BITS:
        lowest = lowest_levels_bfv(module, chain, spare - room - rounding)
        if not lowest:
            return
        code = _lower(decide_levels_bfv(module, techniques, lowest=lowest, without_keys=without_keys), chain, options)
        if spare_bits(NoisyCode(code.code), chain) >= max(room - ROUNDING_BITS[0], 0.0):
            yield code
            return


def _lower(levels: LevelPlan, chain: ModulusChain, options: CompileOptions) -> Lowered:
    return to_primitives(
        levels, chain, options.on_event, costs=options.costs, techniques=options.techniques, held=options.held_keys
    )
