"""lw.compile: from a program and data to a model, choosing the scale that gives the precision asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf, log2
from typing import Any

import numpy as np

from latticework.errors import PrecisionError, TraceError, UserError
from latticework.frontend import Program, input_ranges
from latticework.frontend.samples import Sample, assumed_samples, samples_of
from latticework.ir import INDEX, Module, interpret
from latticework.model import Model, Reference
from latticework.params import ModulusChain, Need, build_chain, modulus_limit_bits, security_levels, select_chain
from latticework.pipeline import Lowered, OnEvent, Traced, Vectors, to_polynomials, to_primitives, to_tensors, to_vectors
from latticework.plan.schema import (
    Approximation,
    CipherKind,
    ClientSpec,
    IndexInput,
    Output,
    Plan,
    SecretInput,
    TensorValue,
)
from latticework.plan.simulate import simulate

FIRST_SCALE_BITS, MAX_SCALE_BITS = 40, 55
FIRST_HEADROOM_BITS = 14
HEADROOM_MARGIN = 2.0  # values at the lowest level may be this much larger than in calibration
BOUND_DEVIATIONS = 8.0  # an error bound is this many standard deviations of the modelled noise
SIMULATED_SAMPLES = 3
INPUT_MARGIN = 0.1


def compile(
    program: Program,
    *,
    example: Any = None,
    weights: Any = (),
    calibrate: Any = None,
    precision_bits: float = 12,
    ring_degree: int | None = None,
    security_bits: int = 128,
    insecure: bool = False,
    on_event: OnEvent | None = None,
) -> Model:
    """Compile a program to run on encrypted inputs.

    example         inputs, for shapes that are not annotated; also calibration data if there are no others
    weights         arrays for the parameters without annotation, in order or by name
    calibrate       data like what will be encrypted: an array (samples, ...), a tuple, or a dictionary by name.
                    Activations are approximated on the ranges seen, and inputs far outside are refused
    precision_bits  every output is within 2^-precision_bits of the program with its functions approximated,
                    relative to the largest output in calibration
    ring_degree     N, a power of two; the smallest that fits if not given
    insecure        allow a ring_degree that is too small for security_bits; every report says so
    on_event        called after every pass
    raises          UserError and its kinds, naming the line of the program, before any key is made
    """
    if not isinstance(program, Program):
        raise TraceError(f"compile: {program!r} is not a program; decorate the function with @lw.program")
    _check_options(precision_bits, ring_degree, security_bits, insecure)
    module = to_tensors(program, weights, example)
    data = calibrate if calibrate is not None else example
    samples = assumed_samples(module) if data is None else samples_of(program, module, data)
    traced = to_polynomials(module, samples, on_event)
    vectors = to_vectors(traced.module, on_event)
    search = _Search(program, traced, vectors, samples, precision_bits, on_event)
    plan = search.best(ring_degree, security_bits, insecure)
    return Model(plan, Reference(vectors.placed, vectors.positions))


def _check_options(precision_bits: float, ring_degree: int | None, security_bits: int, insecure: bool) -> None:
    if not 1 <= precision_bits <= 40:
        raise PrecisionError(f"compile: precision_bits={precision_bits}; give 1 to 40")
    if ring_degree is not None and (ring_degree & (ring_degree - 1) or not 1 << 10 <= ring_degree <= 1 << 17):
        raise UserError(f"compile: ring_degree={ring_degree} is not a power of two from 1024 to 131072")
    if security_bits not in security_levels():
        raise UserError(f"compile: security_bits={security_bits}; choose one of {security_levels()}")
    if ring_degree is not None and not insecure and modulus_limit_bits(ring_degree, security_bits) is None:
        raise UserError(f"compile: ring_degree={ring_degree} cannot give {security_bits}-bit security; use a larger one")


@dataclass
class _Search:
    """Builds plans of one program for different scales and measures their modelled error."""

    program: Program
    traced: Traced
    vectors: Vectors
    samples: list[Sample]
    precision_bits: float
    on_event: OnEvent | None

    def best(self, ring_degree: int | None, security_bits: int, insecure: bool) -> Plan:
        """The plan with the smallest scale that reaches the precision, on the smallest ring that holds it."""
        degree = ring_degree or max(1 << 14, 2 * self.vectors.slots)
        probe = Need(self.vectors.depth, self.vectors.slots, FIRST_SCALE_BITS, FIRST_HEADROOM_BITS)
        plan = self.plan(build_chain(degree, probe, 2, security_bits, insecure=True))
        headroom = self.headroom_bits(plan)
        scale_bits = FIRST_SCALE_BITS + self.missing_bits(plan)
        for _ in range(4):
            scale_bits = max(scale_bits, (degree - 1).bit_length() + 12)
            if scale_bits > MAX_SCALE_BITS:
                raise PrecisionError(
                    f"compile: precision_bits={self.precision_bits:g} would need a scale of 2^{scale_bits}; at most "
                    f"2^{MAX_SCALE_BITS} is possible: ask for {scale_bits - MAX_SCALE_BITS} bits less",
                    at=self.program.loc,
                )
            need = Need(self.vectors.depth, self.vectors.slots, scale_bits, headroom)
            try:
                chain = select_chain(
                    need, ring_degree=ring_degree, security_bits=security_bits, insecure=insecure
                )
            except UserError as error:
                raise type(error)(error.message, at=self.program.loc) from None
            degree = chain.ring_degree
            plan = self.plan(chain)
            missing = self.missing_bits(plan)
            if missing <= 0:
                return self.finished(plan)
            scale_bits += missing
        raise PrecisionError(
            f"compile: precision_bits={self.precision_bits:g} is not reached: {missing} bits are missing at a scale of "
            f"2^{scale_bits}; ask for less",
            at=self.program.loc,
        )

    def plan(self, chain: ModulusChain) -> Plan:
        """The plan for a chain, without error bounds."""
        lowered = to_primitives(self.vectors, chain, self.on_event)
        return _assemble(self.program, self.traced, self.vectors, lowered, chain, self.samples, self.precision_bits)

    def missing_bits(self, plan: Plan) -> int:
        """Bits by which the modelled error exceeds what was asked for (negative: bits to spare)."""
        worst = -inf
        for deviation, magnitude in zip(*self.deviations(plan), strict=True):
            target = 2.0**-self.precision_bits * max(magnitude, 1e-300)
            worst = max(worst, log2(max(BOUND_DEVIATIONS * deviation, 1e-300) / target))
        return ceil(worst)

    def deviations(self, plan: Plan) -> tuple[list[float], list[float]]:
        """Root mean square error and largest magnitude of every output, against the tensors' own arithmetic."""
        squares: list[list[float]] = [[] for _ in plan.client.outputs]
        magnitudes = [0.0] * len(squares)
        rng = np.random.default_rng(0)
        for sample in self.samples[:SIMULATED_SAMPLES]:
            exact = interpret(self.vectors.placed, sample)
            noisy = simulate(plan, [sample[i.name] for i in plan.client.inputs], noise=rng)
            for i, (a, b) in enumerate(zip(exact, noisy, strict=True)):
                squares[i].append(float(np.mean((a - b) ** 2)))
                magnitudes[i] = max(magnitudes[i], float(np.max(np.abs(a))))
        return [float(np.sqrt(np.mean(s))) for s in squares], magnitudes

    def headroom_bits(self, plan: Plan) -> int:
        """Bits of q0 above the scale: the largest value at the lowest level, a sign, and a margin."""
        largest = 1e-300

        def note(register: int, value: np.ndarray[Any, Any]) -> None:
            nonlocal largest
            kind = plan.kind(register)
            if isinstance(kind, CipherKind) and kind.level == 0:
                largest = max(largest, float(np.max(np.abs(value))))

        for sample in self.samples[:SIMULATED_SAMPLES]:
            simulate(plan, [sample[i.name] for i in plan.client.inputs], on_value=note)
        for value in self.vectors.placed.body.terminator.operands:
            if value.origin is not None and value.origin.max_abs is not None:
                largest = max(largest, value.origin.max_abs)
        return max(2, ceil(log2(HEADROOM_MARGIN * largest)) + 1)

    def finished(self, plan: Plan) -> Plan:
        """The plan with error bounds for its outputs and its tensors."""
        deviations, magnitudes = self.deviations(plan)
        outputs = tuple(
            replace(o, error_bound=BOUND_DEVIATIONS * d, magnitude=m)
            for o, d, m in zip(plan.client.outputs, deviations, magnitudes, strict=True)
        )
        bounds = self.tensor_bounds(plan)
        tensors = tuple(replace(t, bound=bounds.get(t.position, 0.0)) for t in plan.tensors)
        return replace(plan, client=replace(plan.client, outputs=outputs), tensors=tensors)

    def tensor_bounds(self, plan: Plan) -> dict[int, float]:
        """Error bound of every watched tensor, from noisy against noiseless simulation."""
        worst: dict[int, float] = {}
        rng = np.random.default_rng(1)
        for sample in self.samples[:SIMULATED_SAMPLES]:
            inputs = [sample[i.name] for i in plan.client.inputs]
            runs: list[list[tuple[int, np.ndarray[Any, Any]]]] = [[], []]
            for seen, noise in zip(runs, (None, rng), strict=True):
                simulate(plan, inputs, noise=noise, on_value=lambda r, v, seen=seen: seen.append((r, v)))  # type: ignore[misc]
            for (register, exact), (_, noisy) in zip(*runs, strict=True):
                if register in plan.watch:
                    position = plan.watch[register]
                    deviation = float(np.sqrt(np.mean(np.real(exact - noisy) ** 2)))
                    worst[position] = max(worst.get(position, 0.0), BOUND_DEVIATIONS * deviation)
        return worst


def _assemble(
    program: Program, traced: Traced, vectors: Vectors, lowered: Lowered, chain: ModulusChain, samples: list[Sample],
    precision_bits: float,
) -> Plan:
    """All parts of a plan but the error bounds."""
    code = lowered.code
    client = ClientSpec(
        program.name,
        chain,
        _inputs(vectors, lowered, samples),
        _outputs(vectors, lowered),
        lowered.manifest,
        precision_bits,
    )
    tensors = tuple(
        TensorValue(i, t.name, code.location(t.loc), t.pack, 0.0) for i, t in enumerate(vectors.tensors)
    )
    approximations = tuple(
        Approximation(f.function, code.location(f.loc), *f.interval, f.degree, f.max_error) for f in traced.fitted
    )
    used = {c.gather.source for c in code.constants if c.gather.source is not None}
    sources = {name: np.asarray(lowered.module.sources[name], dtype=np.float64) for name in sorted(used)}
    layouts = tuple((t.name, str(t.pack.shape), str(t.pack)) for t in vectors.tensors)
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants),
        sources, tuple(code.locations), tensors, code.watch, approximations, layouts,
    )  # fmt: skip


def _inputs(vectors: Vectors, lowered: Lowered, samples: list[Sample]) -> tuple[SecretInput | IndexInput, ...]:
    module: Module = lowered.module
    ranges = input_ranges(vectors.placed, samples)
    found: list[SecretInput | IndexInput] = []
    for name, placed, value in zip(module.input_names, vectors.placed.inputs, module.inputs, strict=True):
        if value.type is INDEX:
            # Magnitudes and errors are only known for as many iterations as calibration ran.
            found.append(IndexInput(name, max(int(sample[name]) for sample in samples)))
            continue
        low, high = ranges[name]
        margin = INPUT_MARGIN * ((high - low) or max(abs(high), 1.0))
        kind: Any = value.type
        pack = placed.type.layout.pack_map(placed.type.shape)  # type: ignore[attr-defined]
        found.append(SecretInput(name, pack.shape, pack, kind.level.index, kind.scale, low - margin, high + margin))
    return tuple(found)


def _outputs(vectors: Vectors, lowered: Lowered) -> tuple[Output, ...]:
    found = []
    names = lowered.module.outputs
    pairs = zip(vectors.placed.body.terminator.operands, lowered.module.body.terminator.operands, strict=True)
    for name, (placed, value) in zip(names, pairs, strict=True):
        kind: Any = value.type
        pack = placed.type.layout.pack_map(placed.type.shape)  # type: ignore[attr-defined]
        found.append(Output(name, pack.shape, pack, kind.level.index, kind.scale, 0.0, 0.0))
    return tuple(found)
