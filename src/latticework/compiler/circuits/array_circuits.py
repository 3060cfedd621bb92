"""Circuits that are operations on arrays: recognised, laid out as other array programs, and compared with lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.batch_rows import least_rows
from latticework.compiler.circuits.circuit_pipeline import Scalars
from latticework.compiler.lanes.lane_record import record_tensors
from latticework.compiler.lifting import lift
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.pass_order import TENSOR_PASSES
from latticework.compiler.stage_results import CircuitFacts, Vectors
from latticework.frontend import calibrate
from latticework.frontend.calibration.calibration_data import Sample
from latticework.ir import run_passes
from latticework.plan.schema.arguments import Argument, Result


def to_arrays(
    scalars: Scalars,
    samples: Sequence[Sample],
    options: CompileOptions,
    *,
    exact: bool = False,
) -> Vectors | None:
    """A regular circuit as vectors, laid out by the search for layouts; None if it is not regular.

    Nor is it if its inputs share ciphertexts or lie in fixed lanes, which layouts of arrays cannot express. Elements
    are sent in several copies only where every input may be.
    samples  arrays of all groups by name
    exact    whether numbers are integers modulo t
    """
    traced, groups = scalars.traced, scalars.written.groups
    members = [sum(a.input == number for a in traced.arguments) for number in range(len(groups))]
    shared = any(n > 1 and g.packing != "free" for n, g in zip(members, groups, strict=True))
    if shared or any(group.lanes for group in groups):
        return None
    program = lift(scalars.regular, traced.arguments, traced.results, scalars.line)
    if program is None:
        return None
    used, is_free = options.techniques, all(g.packing != "grouped" for g in groups)
    techniques = replace(
        used, client_copies=used.client_copies and is_free, complex_packing=used.complex_packing and not exact
    )
    if exact:  # integers modulo t have no magnitudes, and those of the integers themselves may fit no float
        module = run_passes(program.module, TENSOR_PASSES)
    else:
        module = run_passes(calibrate(program.module, argument_samples(scalars, samples)), TENSOR_PASSES)
    wanted = ArrayVectors(module, options.override(techniques=techniques), exact=True, rows=least_rows(options.rows))
    vectors = min(wanted.choose().row_ways, key=lambda way: way.seconds)
    circuit = scalars.written.for_lanes(vectors.slots)
    record = record_tensors(circuit, formulas=program.formulas, written=traced.written)
    arguments = tuple(
        replace(a, input=number, elements=tuple(range(len(a.elements)))) for number, a in enumerate(traced.arguments)
    )
    return replace(vectors, circuit=CircuitFacts(arguments, _in_order(traced.results), record, scalars.line))


def is_of_arrays(vectors: Vectors) -> bool:
    """Whether vectors are those of a circuit laid out as arrays, whose inputs are its arguments instead of groups."""
    facts = vectors.circuit
    return facts is not None and facts.record is not None and facts.record.method == "tensors"


def argument_samples(scalars: Scalars, samples: Sequence[Sample]) -> list[Sample]:
    """Arrays of all arguments by name, from those of the groups that hold them."""
    names = scalars.traced.module.input_names

    def array(sample: Sample, argument: Argument) -> object:
        return np.asarray(sample[names[argument.input]])[list(argument.elements)].reshape(argument.encrypted_shape)

    return [{a.name: array(sample, a) for a in scalars.traced.arguments} for sample in samples]


def _in_order(results: Sequence[Result]) -> tuple[Result, ...]:
    """Each result one output, one after the other."""
    starts = np.cumsum([0, *(len(r.elements) for r in results)]).tolist()
    return tuple(
        replace(r, elements=tuple(range(first, last)))
        for r, first, last in zip(results, starts[:-1], starts[1:], strict=True)
    )
