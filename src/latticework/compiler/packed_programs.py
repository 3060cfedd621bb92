"""Programs that bring their own packing, from other compilers: vec IR as it was read takes the way of any other."""

from __future__ import annotations

from latticework.compiler.levels import program_depth
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.passes import cse, dce, fold_splats, normalize_polynomials
from latticework.compiler.program_lowering import Lowering
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.compiler.vector_levels import to_copies
from latticework.frontend.calibration.calibration_data import assume_samples, samples_of
from latticework.frontend.heir import HeirProgram
from latticework.ir import Builder, Module, Origin, run_passes, verify
from latticework.ir.dialects import loop_dialect, packed_dialect
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.lower import PlacedTensor

PASSES = (normalize_polynomials.PASS, fold_splats.PASS, cse.PASS, dce.PASS)


@dataclass
class PackedLowering(Lowering):
    """A program that brings its own packing: vectors that are as they are on every ring.

    traced  the reference, whose inputs and outputs are tensors: pack, compute on slots, unpack
    """

    vectors: Vectors

    def to_vectors(self) -> Vectors:
        """Give the vectors as they were read."""
        return self.vectors

    def flatten(self, vectors: Vectors) -> Module:
        """The module for levels, whose outputs have no names: those of the program were given after it was made."""
        module = vectors.module.clone()
        for value in module.body.terminator.operands:
            value.origin = None
        return to_copies(module)

    def fits_ring(self, ring_degree: int) -> bool:
        """Whether vectors of a ring are long enough."""
        return ring_degree >= 2 * self.vectors.slots


def lower_packed(program: HeirProgram, options: CompileOptions) -> PackedLowering:
    """Lower a program that was read to vectors; without samples its inputs lie in [-1, 1]."""
    code, on_event = program.code, options.on_event
    verify(code.module)
    made = run_passes(code.module, PASSES, on_event=on_event)
    flat = to_copies(made, on_event)
    reference, tensors, positions = _reference(program), [], {}
    for number, (value, end, pack) in enumerate(
        zip(made.body.terminator.operands, reference.body.terminator.operands, code.outputs, strict=True)
    ):
        name = made.outputs[number]
        value.origin = Origin(name, program.loc, None, (number,))
        tensors.append(PlacedTensor(name, program.loc, pack))
        positions[end] = number
    vectors = Vectors(
        reference, made, tensors, positions, program_depth(flat), code.slots, code.inputs, code.outputs, flat=flat
    )
    nothing = [0.0] * len(code.outputs)
    given = options.samples
    samples = assume_samples(reference) if given is None else samples_of(program, reference, given)
    return PackedLowering(program, TracedProgram(reference, [], nothing, nothing), samples, options, vectors)


def _reference(program: HeirProgram) -> Module:
    """The program on tensors: its inputs packed, its code on slots, its outputs unpacked."""
    code = program.code
    module = Module(sources=code.module.sources)
    builder = Builder(module.body, program.loc)
    mapping = {}
    for name, pack, vector in zip(code.module.input_names, code.inputs, code.module.inputs, strict=True):
        tensor = module.body.add_arg(TensorType(pack.shape, "float64", True), vector.origin)
        module.input_names.append(name)
        mapping[vector] = builder.build(packed_dialect.PACK, [tensor], pack=pack)
    for op in code.module.body.ops[:-1]:
        made = builder.create(op.name, [mapping[v] for v in op.operands], dict(op.attrs), loc=op.loc)
        mapping[op.result] = made.result
    ends = []
    for pack, value, name in zip(code.outputs, code.module.body.terminator.operands, code.module.outputs, strict=True):
        end = builder.build(packed_dialect.UNPACK, [mapping[value]], pack=pack)
        end.origin = Origin(name, program.loc)
        ends.append(end)
        module.outputs.append(name)
    builder.create(loop_dialect.YIELD, ends, loc=program.loc)
    verify(module)
    return module
