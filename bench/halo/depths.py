"""What an iteration of each program spends: levels, and the encrypted values that its loops carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.halo.data import Inputs, inputs_of
from bench.halo.programs import PROGRAMS
from latticework.compiler.array_vectors import ArrayVectors
from latticework.compiler.levels.depth import levels_of
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.options.techniques import ALL, Techniques
from latticework.compiler.trace_arrays import to_polynomials, to_tensors
from latticework.frontend.calibration.calibration_data import samples_of
from latticework.ir import Module

CALIBRATED = 2  # iterations


@dataclass(frozen=True)
class LoopDepth:
    """One loop.

    nesting  loops around it
    spent    levels between the head and what an iteration leaves, an inner loop counted as one iteration
    carried  encrypted values;  vectors  of slots, that they are
    """

    nesting: int
    spent: int
    carried: int
    vectors: int


def vectors_of(name: str, inputs: Inputs, precision_bits: float = 12.0, techniques: Techniques = ALL) -> Module:
    """A program as vec code whose loops are kept, trip counts unknown; calibrated on its own inputs."""
    found = PROGRAMS[name]
    program = found.as_program(run_time=True)
    module = to_tensors(program, (), inputs)
    samples = samples_of(program, module, {**inputs, **dict.fromkeys(found.trips, CALIBRATED)})
    options = CompileOptions.of(precision_bits=precision_bits, techniques=techniques, ring_degree=1 << 16)
    traced = to_polynomials(module, samples, options)
    made = ArrayVectors(traced.module, options, keep_loops=True).choose()
    return made.flat or made.module


def loop_depths(module: Module) -> Iterator[LoopDepth]:
    """What every loop of vec code spends."""
    levels = levels_of(module, once=True, lifted=True)
    for op, plan in levels.loops.items():
        block = op.regions[0].block
        ends = [levels.of[v] or 0 for v in block.terminator.operands]
        nesting, outer = 0, op.block.parent_op if op.block else None
        while outer is not None:
            nesting, outer = nesting + 1, outer.block.parent_op if outer.block else None
        vectors = sum(v.type.count for v in block.args[1:])  # type: ignore[attr-defined]
        yield LoopDepth(nesting, max(plan.carried, default=0) - min(ends), len(ends), vectors)


def main() -> None:
    """Print all seven on the paper's data."""
    for name in PROGRAMS:
        for found in loop_depths(vectors_of(name, inputs_of(name))):
            where = "  " * found.nesting + name
            print(f"{where:16} depth {found.spent:3}  carried {found.carried} in {found.vectors} vectors")


if __name__ == "__main__":
    main()
