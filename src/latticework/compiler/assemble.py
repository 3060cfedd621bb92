"""assemble: put what the stages left together as one self-contained Plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from math import inf, log2
from pathlib import Path
from typing import Any

import numpy as np

from latticework.compiler.accuracy import Fitted
from latticework.compiler.codegen.bootstrap_plans import noise_of
from latticework.compiler.stage_results import Lowered, Ranges, TracedProgram, Vectors
from latticework.frontend import input_ranges
from latticework.frontend.calibration.calibration_data import Sample
from latticework.frontend.calibration.direct import direct_ranges
from latticework.ir import Loc, Module
from latticework.plan.schema.constraints import Constraint
from latticework.plan.schema.schema import (
    Approximation,
    ClientSpec,
    IndexInput,
    Output,
    Plan,
    SecretInput,
    TensorValue,
)

INPUT_MARGIN = 0.1  # inputs may leave the calibrated range by this part of it
DIRECT_INSET = 1e-5  # of a function's range, at each end: constants that bring it to [-1, 1] are off by 2^-20 or less


def to_plan(
    name: str,
    traced: TracedProgram,
    vectors: Vectors,
    lowered: Lowered,
    samples: list[Sample],
    precision_bits: float,
    leaving: set[Loc],
    constraints: tuple[Constraint, ...] = (),
) -> Plan:
    """All parts of a plan but the error bounds, which come from simulating it.

    leaving  lines whose functions accepted inputs may take outside the range they are approximated on
    constraints  that accepted inputs meet beside their ranges
    """
    outputs = tuple(
        replace(output, shift=shift, approximation=effect)
        for output, shift, effect in zip(_outputs(vectors, lowered), traced.shifts, traced.effects, strict=True)
    )
    inputs = _inputs(vectors, lowered, samples)
    plan = _assemble(name, vectors, lowered, inputs, outputs, precision_bits, traced.fitted, leaving)
    client = replace(plan.client, constraints=constraints)
    return replace(plan, client=client, loss=traced.loss, scores=traced.scores)


def to_exact_plan(name: str, vectors: Vectors, lowered: Lowered, ranges: Mapping[str, tuple[float, float]]) -> Plan:
    """A plan of integers modulo t, whose outputs are exact.

    ranges  between which the elements of an input lie; any integers modulo t where nothing is said, and no others
    """
    modulus = lowered.code.chain.plain_modulus
    reach = float(modulus // 2)
    inputs = []
    for number, (input_name, pack) in enumerate(zip(lowered.module.input_names, vectors.inputs, strict=True)):
        kind: Any = lowered.module.inputs[number].type
        assert pack is not None
        low, high = ranges.get(input_name, (-reach, reach))
        span = max(float(low), -reach), min(float(high), reach)
        shape = pack.shape[vectors.rows > 1 :]
        inputs.append(SecretInput(input_name, shape, pack, kind.level.index, kind.scale, *span))
    outputs = tuple(replace(output, magnitude=reach) for output in _outputs(vectors, lowered))
    return _assemble(name, vectors, lowered, tuple(inputs), outputs, log2(modulus))


def _assemble(
    name: str,
    vectors: Vectors,
    lowered: Lowered,
    inputs: tuple[SecretInput | IndexInput, ...],
    outputs: tuple[Output, ...],
    precision_bits: float,
    fitted: Sequence[Fitted] = (),
    leaving: Set[Loc] = frozenset(),
) -> Plan:
    """Assemble the parts of a plan that do not depend on the scheme."""
    code = lowered.code
    circuit = vectors.circuit
    client = ClientSpec(
        name,
        code.chain,
        inputs,
        outputs,
        lowered.manifest,
        precision_bits,
        () if circuit is None else circuit.arguments,
        () if circuit is None else circuit.results,
        declared=_find_declarations(vectors, lowered.module),
    )
    placing = vectors.placing
    tensors = tuple(TensorValue(i, t.name, code.location(t.loc), t.pack, 0.0) for i, t in enumerate(vectors.tensors))
    approximations = tuple(
        Approximation(
            f.function,
            code.location(f.loc),
            *f.interval,
            f.degree,
            f.max_error,
            f.loc in leaving,
            f.has_given_degree,
            f.form,
            f.leaving if f.loc in leaving else None,
        )
        for f in fitted
    )
    if placing is not None:
        steps = tuple(replace(s, location=code.location(vectors.lines[s.location])) for s in placing.steps)
        placing = replace(placing, steps=steps)
    used = set[str]().union(*(c.sources for c in code.constants))
    sources = {name: np.asarray(lowered.module.sources[name], dtype=np.float64) for name in sorted(used)}
    layouts = tuple((t.name, str(t.pack.shape), str(t.pack)) for t in vectors.tensors)
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants),
        sources, tuple(code.locations), tensors, code.watch, approximations, layouts,
        placing, None if circuit is None else circuit.record, code.factors, bootstraps=tuple(code.bootstraps),
        bootstrap_noise=noise_of(code.chain) if code.bootstraps else None, reasons=tuple(code.reasons),
    )  # fmt: skip


def accepted_ranges(module: Module, samples: list[Sample], stated: Ranges) -> dict[str, tuple[float, float]]:
    """The range that clients accept for the elements of each encrypted input: that of calibration, widened a little.

    Not beyond the range of a function that the input goes into as it is, less what rounded constants can add to it.
    stated  ranges of a client file that is there already: those of inputs whose calibration lies within, instead
    """
    accepted, direct = {}, direct_ranges(module)
    for name, (low, high) in input_ranges(module, samples).items():
        margin = INPUT_MARGIN * ((high - low) or max(abs(high), 1.0))
        least, most = direct.get(name, (-inf, inf))
        inset = DIRECT_INSET * (most - least) if name in direct else 0.0
        least, most = least + inset, most - inset
        accepted[name] = (min(low, max(low - margin, least)), max(high, min(high + margin, most)))
        start, end = stated.get(name, (inf, -inf))
        if start <= low and high <= end and least <= start and end <= most:
            accepted[name] = (start, end)
    return accepted


def _find_declarations(vectors: Vectors, module: Module) -> tuple[tuple[str, str], ...]:
    """Return the file's name and line where each input is declared; of a circuit those of its `def`."""
    if vectors.circuit is not None:
        named = [(a.name, vectors.circuit.line) for a in vectors.circuit.arguments]
    else:
        inputs = zip(module.input_names, module.inputs, strict=True)
        named = [(name, value.origin.loc) for name, value in inputs if value.origin is not None]
    return tuple((name, f"{Path(loc.file).name}:{loc.line}") for name, loc in named if loc.line)


def _inputs(vectors: Vectors, lowered: Lowered, samples: list[Sample]) -> tuple[SecretInput | IndexInput, ...]:
    module: Module = lowered.module
    accepted = accepted_ranges(vectors.placed, samples, vectors.stated)
    source_of = {module.input_names[of]: module.outputs[number] for number, of in vectors.feedback.items()}
    result: list[SecretInput | IndexInput] = []
    for name, pack, value in zip(module.input_names, vectors.inputs, module.inputs, strict=True):
        if pack is None:
            # Magnitudes and errors are only known for as many iterations as calibration ran.
            result.append(IndexInput(name, max(int(sample[name]) for sample in samples)))
            continue
        kind: Any = value.type
        shape = pack.shape[vectors.rows > 1 :]
        result.append(
            SecretInput(name, shape, pack, kind.level.index, kind.scale, *accepted[name], source_of.get(name, ""))
        )
    return tuple(result)


def _outputs(vectors: Vectors, lowered: Lowered) -> tuple[Output, ...]:
    result = []
    names = lowered.module.outputs
    values = lowered.module.body.terminator.operands
    for name, pack, value in zip(names, vectors.outputs, values, strict=True):
        kind: Any = value.type
        shape, place = pack.shape[vectors.rows > 1 :], (kind.level.index, kind.scale)
        result.append(Output(name, shape, pack, *place, 0.0, 0.0, 0.0, degree=kind.degree))
    return tuple(result)
