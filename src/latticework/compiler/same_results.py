"""Whether two plans of a program give the same results: both run in the clear, on samples and on inputs by chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.stage_results import Vectors
from latticework.errors import IrError, LevelError, RangeError
from latticework.frontend.calibration.calibration_data import Sample, choose_evenly
from latticework.ir import Module, interpret
from latticework.plan.analysis.simulate import simulate
from latticework.plan.schema.arguments import Argument
from latticework.plan.schema.schema import ClientSpec, IndexInput, Plan, SecretInput
from latticework.runtime.client.user_names import gather_inputs

SAMPLES, DRAWS = 3, 5
Inputs = Mapping[str, Any]


def compare_modules(
    before: Module, after: Module, vectors: Vectors, samples: Sequence[Sample], who: str, bits: float
) -> None:
    """Interpret a module of vectors or ciphertexts before and after a change, on samples.

    vectors  whose packing inputs and outputs have
    raises   IrError where results differ by more than 2^-bits of the largest
    """
    packs = list(zip(vectors.placed.input_names, vectors.inputs, strict=True))
    for sample in (samples[i] for i in choose_evenly(len(samples), SAMPLES)):
        inputs = [
            sample[name] if pack is None else pack.pack(np.broadcast_to(sample[name], pack.shape))
            for name, pack in packs
        ]
        ends = zip(before.outputs, vectors.outputs, interpret(before, inputs), interpret(after, inputs), strict=True)
        for name, pack, *results in ends:
            held = pack.element_of_slot() >= 0
            shape = pack.count, pack.slots
            was, now = (np.real(np.broadcast_to(array, shape)).reshape(-1)[held] for array in results)
            _require_near(was, now, 2.0**-bits * float(np.max(np.abs(was), initial=0.0)), name, who)


def compare_results(before: Plan, after: Plan, samples: Sequence[Sample], who: str) -> tuple[float, ...]:
    """Find how far elements of each output moved at most.

    samples  inputs by the names of the plan, those of calibration; beside them inputs within accepted ranges are drawn
    raises   IrError where results differ by more than the precision that was asked for, or at all under BFV
    """
    moved = np.zeros(len(before.client.outputs))
    compared = 0
    for given in (*_choose_samples(before.client, samples), *_draw_inputs(before.client)):
        expected = _run(before, given)
        if expected is None:
            continue  # outside of what functions are polynomials for, values may grow beyond the modulus
        results = _run(after, given)
        if results is None:
            raise IrError(f"{who}: changes results: a value is too large for its modulus where none was")
        compared += 1
        for number, (was, now) in enumerate(zip(expected, results, strict=True)):
            _compare(before, number, was, now, who)
            moved[number] = max(moved[number], np.max(np.abs(was - now), initial=0.0))
    if not compared:
        raise IrError(f"{who}: whether results stay the same cannot be told: values of all inputs are too large")
    return tuple(moved.tolist())


def _compare(plan: Plan, number: int, was: npt.NDArray[Any], now: npt.NDArray[Any], who: str) -> None:
    output = plan.client.outputs[number]
    size = max(output.magnitude, float(np.max(np.abs(was), initial=0.0)))
    allowed = 0.0 if plan.chain.plain_modulus else 2.0**-plan.client.precision_bits * size
    _require_near(was, now, allowed, output.name, who)


def _require_near(was: npt.NDArray[Any], now: npt.NDArray[Any], allowed: float, output: str, who: str) -> None:
    off = float(np.max(np.abs(was - now), initial=0.0))
    if not off <= allowed:
        raise IrError(
            f"{who}: changes results: {output} moves by {off:.3g}, and at most {allowed:.3g} is allowed; a change that "
            "is meant belongs to stage traced, and is allowed by name there"
        )


def _run(plan: Plan, given: Inputs) -> list[npt.NDArray[Any]] | None:
    """Results in the clear; None where a value is too large."""
    spec = plan.client
    values = dict(gather_inputs(spec, dict(given))) if spec.arguments else given
    try:
        results = simulate(plan, [values[i.name] for i in spec.inputs])
    except (RangeError, LevelError):
        return None
    return results if all(np.isfinite(array).all() for array in results) else None


def _choose_samples(spec: ClientSpec, samples: Sequence[Sample]) -> Iterator[Inputs]:
    """Samples of a program on arrays; inputs of circuits are drawn in the ranges that they declare."""
    if not spec.arguments:
        yield from (samples[i] for i in choose_evenly(len(samples), SAMPLES))


def _draw_inputs(spec: ClientSpec) -> Iterator[Inputs]:
    rng = np.random.default_rng(0)
    for _ in range(DRAWS):
        if spec.arguments:
            yield {a.name: _draw_argument(spec, a, rng) for a in spec.arguments}
            continue
        yield {i.name: _draw_input(i, rng) for i in spec.inputs}


def _draw_input(spec: SecretInput | IndexInput, rng: np.random.Generator) -> Any:
    return int(rng.integers(0, spec.limit + 1)) if isinstance(spec, IndexInput) else _draw(rng, spec)


def _draw(rng: np.random.Generator, ranged: Any) -> npt.NDArray[np.float64]:
    """Numbers within a range, of its shape."""
    return np.asarray(rng.uniform(ranged.low, ranged.high, ranged.shape))


def _draw_argument(spec: ClientSpec, argument: Argument, rng: np.random.Generator) -> npt.NDArray[Any]:
    """An input of a circuit, in its declared range; any integers modulo t where it has none."""
    modulus = spec.chain.plain_modulus
    if not modulus:
        return _draw(rng, argument)
    low = -(modulus // 2) if argument.low is None else int(np.ceil(argument.low))
    high = modulus // 2 if argument.high is None else int(np.floor(argument.high))
    return np.asarray(rng.integers(low, high + 1, argument.shape))
