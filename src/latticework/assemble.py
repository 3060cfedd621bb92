"""assemble: put what the stages left together as one self-contained Plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.frontend import input_ranges
from latticework.frontend.samples import Sample
from latticework.ir import INDEX, Loc, Module
from latticework.plan.schema import (
    Approximation,
    ClientSpec,
    IndexInput,
    Output,
    Plan,
    SecretInput,
    TensorValue,
)
from latticework.stages import Lowered, PackedInput, PackedOutput, Traced, Vectors

INPUT_MARGIN = 0.1  # inputs may leave the calibrated range by this part of it


def to_plan(
    name: str,
    traced: Traced,
    vectors: Vectors,
    lowered: Lowered,
    samples: list[Sample],
    precision_bits: float,
    leaving: set[Loc],
) -> Plan:
    """All parts of a plan but the error bounds, which come from simulating it.

    leaving  lines whose functions accepted inputs may take outside the range they are approximated on
    """
    code = lowered.code
    client = ClientSpec(
        name,
        code.chain,
        _inputs(vectors, lowered, samples),
        _outputs(vectors, lowered, traced.shifts),
        lowered.manifest,
        precision_bits,
    )
    tensors = tuple(TensorValue(i, t.name, code.location(t.loc), t.pack, 0.0) for i, t in enumerate(vectors.tensors))
    approximations = tuple(
        Approximation(f.function, code.location(f.loc), *f.interval, f.degree, f.max_error, f.loc in leaving)
        for f in traced.fitted
    )
    steps = tuple(replace(s, location=code.location(vectors.lines[s.location])) for s in vectors.placing.steps)
    layouts = tuple((t.name, str(t.pack.shape), str(t.pack)) for t in vectors.tensors)
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants),
        _used_sources(lowered), tuple(code.locations), tensors, code.watch, approximations, layouts,
        replace(vectors.placing, steps=steps),
    )  # fmt: skip


def packed_plan(name: str, lowered: Lowered, inputs: Sequence[PackedInput], outputs: Sequence[PackedOutput]) -> Plan:
    """The plan of a vec module that says itself how its inputs and outputs are packed, and what range inputs have.

    For BFV an input that states no range may hold all integers modulo t, and outputs are exact.
    """
    code = lowered.code
    reach = float(code.chain.plain_modulus // 2)
    arguments = zip(inputs, lowered.module.inputs, strict=True)
    results = zip(outputs, lowered.module.body.terminator.operands, strict=True)
    client = ClientSpec(
        name,
        code.chain,
        tuple(_packed_input(spec, value.type, reach) for spec, value in arguments),
        tuple(_packed_output(spec, value.type) for spec, value in results),
        lowered.manifest,
        log2(code.chain.plain_modulus) if code.chain.plain_modulus else 0.0,
    )
    return Plan(
        client, tuple(code.kinds), tuple(code.registers), tuple(code.blocks), code.keys, tuple(code.constants),
        _used_sources(lowered), tuple(code.locations), (), {},
    )  # fmt: skip


def _packed_input(spec: PackedInput, kind: Any, reach: float) -> SecretInput:
    low, high = (given if given is not None else end for given, end in ((spec.low, -reach), (spec.high, reach)))
    return SecretInput(spec.name, spec.pack.shape, spec.pack, kind.level.index, kind.scale, float(low), float(high))


def _packed_output(spec: PackedOutput, kind: Any) -> Output:
    pack = spec.pack
    return Output(spec.name, pack.shape, pack, kind.level.index, kind.scale, 0.0, float(spec.magnitude), 0.0)


def _used_sources(lowered: Lowered) -> dict[str, npt.NDArray[np.float64]]:
    used = set[str]().union(*(c.sources for c in lowered.code.constants))
    return {name: np.asarray(lowered.module.sources[name], dtype=np.float64) for name in sorted(used)}


def accepted_ranges(module: Module, samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """The range that clients accept for the elements of each encrypted input: that of calibration, widened a little."""
    accepted = {}
    for name, (low, high) in input_ranges(module, samples).items():
        margin = INPUT_MARGIN * ((high - low) or max(abs(high), 1.0))
        accepted[name] = (low - margin, high + margin)
    return accepted


def _inputs(vectors: Vectors, lowered: Lowered, samples: list[Sample]) -> tuple[SecretInput | IndexInput, ...]:
    module: Module = lowered.module
    accepted = accepted_ranges(vectors.placed, samples)
    found: list[SecretInput | IndexInput] = []
    for name, placed, value in zip(module.input_names, vectors.placed.inputs, module.inputs, strict=True):
        if value.type is INDEX:
            # Magnitudes and errors are only known for as many iterations as calibration ran.
            found.append(IndexInput(name, max(int(sample[name]) for sample in samples)))
            continue
        kind: Any = value.type
        pack = placed.type.layout.pack_map(placed.type.shape)  # type: ignore[attr-defined]
        found.append(SecretInput(name, pack.shape, pack, kind.level.index, kind.scale, *accepted[name]))
    return tuple(found)


def _outputs(vectors: Vectors, lowered: Lowered, shifts: list[float]) -> tuple[Output, ...]:
    found = []
    names = lowered.module.outputs
    pairs = zip(vectors.placed.body.terminator.operands, lowered.module.body.terminator.operands, strict=True)
    for name, (placed, value), shift in zip(names, pairs, shifts, strict=True):
        kind: Any = value.type
        pack = placed.type.layout.pack_map(placed.type.shape)  # type: ignore[attr-defined]
        found.append(Output(name, pack.shape, pack, kind.level.index, kind.scale, 0.0, 0.0, shift))
    return tuple(found)
