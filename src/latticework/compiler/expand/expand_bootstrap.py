"""ckks.bootstrap as primitives: SlotToCoeff first, sparse encapsulation, CoeffToSlot, EvalMod.

The slots become the coefficients of the polynomial on the last few levels. The
ciphertext is switched to an ephemeral sparse secret modulo q0, raised to the
top of the track of its target, which adds q0 times a small integer polynomial,
and switched back. Its coefficients become slots again, lower and upper halves
are separated by a conjugation, and EvalMod takes the integers away. So the
error of EvalMod lies on slots directly, and is the same for all kinds of data.
Source: SlotToCoeff-first order and sparse-secret encapsulation (ePrint 2022/024);
iterated bootstrapping (ePrint 2022/1167).
"""

from __future__ import annotations

from math import log2

from latticework.compiler.expand.coeff_to_slot import butterfly_maps
from latticework.compiler.expand.eval_mod import expand_eval_mod
from latticework.compiler.expand.linear_transform import expand_linear_transform
from latticework.compiler.expand.map_strategies import TYPICAL_STRATEGIES, MapStrategies
from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.compiler.expand.procedures import Procedures
from latticework.errors import LevelError
from latticework.ir import Builder, Loc, Module, Value
from latticework.ir.dialects import bootstrap_dialect, ckks_dialect, loop_dialect  # noqa: F401  (defines the ops)
from latticework.ir.dialects.bootstrap_dialect import BootstrapKind
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.plan.instructions.reason import RefreshReason
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bootstrap_chain import made_scale, matching_integers, raised_scale
from latticework.plan.parameters.modulus_chain import BootstrapCircuit


def bootstrap_module(
    chain: ModulusChain,
    slots: int,
    target: int,
    *,
    real: bool = False,
    iterations: int = 1,
    start: int | None = None,
    finer: float = 1.0,
    out: float = 1.0,
) -> Module:
    """A module of one bootstrap, from level `start` (default: the floor) to `target` levels above the floor.

    Its input "x" and output "y" are vectors of `slots` slots in [-1, 1], at so many times the scales of their levels
    (`finer` and `out`); it is ready to be expanded.
    """
    start = chain.floor if start is None else start
    module = Module(input_names=["x"], outputs=["y"])
    scales = chain.main.scales
    x = module.body.add_arg(CipherType("ckks", 1, slots, Level(0, start), scales[start] * finer))
    level = chain.floor + target
    if chain.bootstrap is None or not 1 <= target <= chain.main.top - chain.floor:
        raise LevelError(f"bootstrap: these parameters reach targets 1 to {chain.main.top - chain.floor}, not {target}")
    builder = Builder(module.body)
    y = builder.build(
        "ckks.bootstrap", [x], level=Level(0, level), scale=scales[level] * out, real=real, iterations=iterations
    )
    builder.create("loop.yield", [y])
    return module


def expand_bootstrap(
    p: Primitives,
    x: Value,
    level: int,
    scale: float,
    kind: BootstrapKind,
    *,
    procedures: Procedures | None = None,
    strategies: MapStrategies = TYPICAL_STRATEGIES,
) -> Value:
    """Primitive operations for one bootstrap of x, of the main track, to a level above the floor of it.

    strategies        how its linear maps are carried out
    procedures  of the block that they stand in, if its parts may be some

    raises  LevelError where the chain cannot: no circuit, x below the floor, or the level not one of its targets
    """
    x, circuit = _at_floor(p, x, level), p.chain.bootstrap
    assert circuit is not None
    run = _Bootstrap(p, circuit, level, kind.real, procedures, strategies).run
    result_scale = made_scale(p.chain, level, scale)
    result = run(x, result_scale)
    if kind.iterations == 2:
        gain = 2.0**circuit.gain_bits
        residual = run(_residual(p, x, result, gain), result_scale / gain)
        result = p.add(result, p.relabel(residual, result_scale))
    return result if result_scale == scale else p.raise_scale(result, scale)


def call_bootstrap(
    procedures: Procedures,
    p: Primitives,
    x: Value,
    level: int,
    scale: float,
    kind: BootstrapKind,
    *,
    why: RefreshReason | None = None,
    strategies: MapStrategies = TYPICAL_STRATEGIES,
) -> Value:
    """Write `expand_bootstrap` as a call: all bootstraps of one kind are one procedure.

    A kind is what it is expanded from: width and number of vectors and the scale at the floor, the target and its
    scale, whether real, and how many iterations. Its operations have no line of the user's: that is that of each call.
    """
    x = _at_floor(p, x, level)
    text = f"bootstrap of {cipher(x).slots} slots from level {cipher(x).level.index} to level {level}"

    def write(inside: Primitives, own: Procedures, y: Value) -> Value:
        return expand_bootstrap(inside, y, level, scale, kind, procedures=own, strategies=strategies)

    what = ("bootstrap", level, scale, kind)
    reason = {} if why is None else {"why": why}
    return procedures.call(p, [x], what, write, attributes={"bootstrap": kind}, reason=reason, loc=Loc("", 0, text))


def _at_floor(p: Primitives, x: Value, level: int) -> Value:
    """x at the floor, from where it can be bootstrapped to a level; raises as `expand_bootstrap`."""
    chain, start = p.chain, cipher(x).level.index
    if chain.bootstrap is None:
        raise LevelError("ckks.bootstrap: these parameters have no levels for it; use a bootstrapping set")
    if start < chain.floor or not chain.floor < level <= chain.main.top:
        raise LevelError(
            f"ckks.bootstrap: from level {start} to {level}; it starts at level {chain.floor} or above and ends "
            f"at one of {chain.floor + 1} to {chain.main.top}"
        )
    return p.drop(x, chain.floor)


def _residual(p: Primitives, x: Value, bootstrapped: Value, gain: float) -> Value:
    """(x - bootstrapped) * gain at x's level: by integers, since the two scales differ slightly."""
    factor, _ = matching_integers(cipher(x).scale, cipher(bootstrapped).scale, int(gain))
    wide = cipher(x).scale * factor
    again = p.drop(bootstrapped, cipher(x).level.index)
    difference = p.builder.build("rlwe.sub", [p.raise_scale(x, wide), p.raise_scale(again, wide)])
    return p.relabel(difference, wide / gain)


class _Bootstrap:
    """One pass: its place in the chain, and the steps in their order."""

    def __init__(
        self,
        p: Primitives,
        circuit: BootstrapCircuit,
        level: int,
        real: bool,
        procedures: Procedures | None,
        strategies: MapStrategies,
    ) -> None:
        self.p, self.circuit, self.level, self.real = p, circuit, level, real
        self.procedures, self.strategies = procedures, strategies
        self.track = level - p.chain.floor
        self.top = p.chain.tracks[self.track].top

    def run(self, x: Value, scale: float) -> Value:
        """x at the target level of the main track, at this scale."""
        slots = cipher(x).slots
        raised = self.raise_modulus(self.slots_to_coefficients(x))
        spectrum = self.coefficients_to_slots(raised, slots)
        conjugated = self.p.conjugate(spectrum)
        plus = minus = self.series(self.p.add(spectrum, conjugated), scale)
        if not self.real:
            upper = self.p.mul_i(self.series(self.p.mul_i(self.p.sub(spectrum, conjugated), 3), scale))
            plus, minus = self.p.add(plus, upper), self.p.sub(minus, upper)
        result = self.p.mul_i(self.p.sub(plus, self.p.conjugate(minus)), 3)
        return self.p.relabel(result, scale, level=Level(0, self.level))

    def slots_to_coefficients(self, x: Value) -> Value:
        """The slots of x as the coefficients of a polynomial, at level 0.

        What the scale of x has over that of its level, 2^k for values up to 2^k that are read as so much smaller, is
        bits that matrices lack: each has an even share of them.
        """
        levels, scales = self.circuit.stc_levels, self.p.chain.main.scales
        excess = max(0, round(log2(cipher(x).scale / scales[cipher(x).level.index])))
        for done, piece in enumerate(butterfly_maps(cipher(x).slots, levels, inverse=False), 1):
            level = cipher(x).level.index - 1
            scale = scales[level] * 2.0 ** (excess * (levels - done) / levels)
            strategy = self.strategies.piece(piece, cipher(x).level, 0)
            x = expand_linear_transform(self.p, x, piece, level, scale, strategy, hoisting=self.strategies.hoisting)
        return x

    def raise_modulus(self, x: Value) -> Value:
        """x over the top of the track: its coefficients plus multiples of q0, as slots of the whole ring.

        Averaged over the rotations that fix the polynomials of x's subring, the multiples lie in it too.
        """
        p, chain, slots = self.p, self.p.chain, cipher(x).slots
        gap = chain.slots // slots
        place = Level(self.track, self.top)
        sparse = p.builder.build("rlwe.to_sparse", [x, p.key("to_sparse", 0, Level(0, 0))])
        factor = max(1, self.circuit.factor // gap)
        raised = p.builder.build(
            "ckks.mod_raise", [sparse, p.key("to_dense", 0, place)],
            level=place, factor=factor, slots=chain.slots, modulus=chain.modulus(0),
        )  # fmt: skip
        raised = p.mod_down(raised, self.top, cipher(raised).scale)
        steps = slots
        while steps < chain.slots:
            key = p.galois_key(steps, chain.slots, place)
            raised = p.add(raised, p.builder.build("rlwe.rotate", [raised, key], steps=steps))
            steps *= 2
        scale = raised_scale(self.circuit, chain.primes[0]) * factor / self.circuit.factor * gap
        return p.relabel(raised, scale, slots=slots)

    def coefficients_to_slots(self, x: Value, slots: int) -> Value:
        """t / (2 K q0) in slots: lower coefficients in the real, upper ones in the imaginary parts."""
        levels = self.circuit.cts_levels
        start = cipher(x).scale
        end = self.p.chain.tracks[self.track].scales[self.top - levels]
        for done, piece in enumerate(butterfly_maps(slots, levels, inverse=True), 1):
            scale = end if done == levels else start * (end / start) ** (done / levels)
            strategy = self.strategies.piece(piece, cipher(x).level, self.circuit.cts_babies)
            x = expand_linear_transform(
                self.p, x, piece, self.top - done, scale, strategy, hoisting=self.strategies.hoisting
            )
        return x

    def series(self, half: Value, scale: float) -> Value:
        """F of one half of the coefficients: of both, a procedure for both."""

        def write(p: Primitives, _own: object, x: Value) -> Value:
            return expand_eval_mod(p, x, self.circuit, self.level, scale)

        if self.real or self.procedures is None:
            return write(self.p, None, half)
        return self.procedures.call(self.p, [half], ("EvalMod", self.level, scale), write)
