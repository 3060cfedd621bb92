"""Plans of vectors of integers modulo t, which are computed exactly under BFV."""

from __future__ import annotations

from collections.abc import Mapping

from latticework.compiler.assemble import to_exact_plan
from latticework.compiler.levels import LevelPlan, decide_levels_bfv, lowest_levels_bfv
from latticework.compiler.noisy_code import NoisyCode
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.techniques import WATERLINE
from latticework.compiler.stage_results import Lowered, Vectors
from latticework.compiler.vector_levels import to_primitives
from latticework.ir import Builder, Module, verify
from latticework.plan.analysis.estimate import estimate
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bfv_noise import Noise
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
) -> Plan:
    """A plan that computes vectors exactly, on integers modulo t, under BFV, with parameters for its own noise.

    ranges       between which the elements of inputs lie; any integers modulo t where nothing is said
    chain        the parameters, if they are given;  noises  then: of inputs that are no fresh encryptions, by number
    raises       as `decide_levels_bfv` for what BFV has not; LevelError where no ring has room for the noise
    """
    verify(vectors.module)
    expert, wanted = options.expert, options.parameters
    techniques, costs, on_event = expert.techniques, options.costs, options.on_event

    def lower(levels: LevelPlan, chain: ModulusChain) -> Lowered:
        return to_primitives(levels, chain, on_event, costs=costs, techniques=techniques)

    if chain is not None:
        starts = {number: noise.level - chain.main.top for number, noise in noises.items()}
        code = lower(decide_levels_bfv(vectors.module, techniques, starts), chain)
        check_noise(name, NoisyCode(code.code), chain, noises)
        return to_exact_plan(name, vectors, code, ranges)
    levels = decide_levels_bfv(vectors.module, techniques)
    deeper = levels
    if expert.spare_levels:
        deeper = decide_levels_bfv(with_squares(vectors.module, expert.spare_levels), techniques)
    chain = select_bfv(
        lambda roomy: NoisyCode(lower(deeper, roomy).code), vectors.slots, plain_bits=expert.plain_bits,
        plain_modulus=expert.plain_modulus, ring_degree=wanted.ring_degree, security_bits=wanted.security_bits,
        insecure=wanted.insecure,
    )  # fmt: skip
    high = to_exact_plan(name, vectors, lower(levels, chain), ranges)
    if expert.spare_levels or techniques.rescaling == WATERLINE or chain.main.top == 0:
        return high
    spare = spare_bits(NoisyCode(high), chain)
    room = min(spare, ROOM_BITS)
    for rounding in ROUNDING_BITS:
        lowest = lowest_levels_bfv(vectors.module, chain, spare - room - rounding)
        if not lowest:
            break
        code = lower(decide_levels_bfv(vectors.module, techniques, lowest=lowest), chain)
        if spare_bits(NoisyCode(code.code), chain) >= max(room - ROUNDING_BITS[0], 0.0):
            low = to_exact_plan(name, vectors, code, ranges)
            return min(high, low, key=lambda plan: estimate(plan, costs).warm_seconds)
    return high
