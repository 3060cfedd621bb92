"""Programs that bring their own packing, from other compilers: vec IR as it was read takes the way of any other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from latticework.compiler.bootstrapping import BootstrapSearch, quickest
from latticework.compiler.levels import program_depth
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.pass_order import OnPassEvent
from latticework.compiler.passes import cse, dce, fold_splats, normalize_polynomials
from latticework.compiler.precision import PrecisionSearch
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.compiler.vector_levels import to_copies, to_loops, with_small_outputs
from latticework.frontend.calibration.calibration_data import assume_samples, samples_of
from latticework.frontend.heir import HeirProgram
from latticework.frontend.recording.tracing import user_line
from latticework.ir import Builder, Module, Origin, run_passes, verify
from latticework.ir.dialects import loop_dialect, packed_dialect
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.model import Model, Reference
from latticework.plan.schema.schema import Plan
from latticework.tensor.ops.lower import PlacedTensor

PASSES = (normalize_polynomials.PASS, fold_splats.PASS, cse.PASS, dce.PASS)


@dataclass(frozen=True)
class PackedProgram:
    """A program as vectors, and what runs beside its plan as a reference.

    traced  the reference, whose inputs and outputs are tensors: pack, compute on slots, unpack
    """

    traced: TracedProgram
    vectors: Vectors

    def with_loops(self, on_event: OnPassEvent | None) -> Vectors:
        """The same for bootstraps to be placed."""
        flat = to_loops(self.vectors.module, on_event)
        return replace(self.vectors, flat=flat, depth=program_depth(flat, once=True))


def to_packed(program: HeirProgram, on_event: OnPassEvent | None) -> PackedProgram:
    """A program that was read, as vectors."""
    code = program.code
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
    return PackedProgram(TracedProgram(reference, [], nothing, nothing), vectors)


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


@dataclass
class PackedBootstraps(BootstrapSearch):
    """The search for a chain with bootstraps, for vectors that are as they are on every ring."""

    packed: PackedProgram | None = field(default=None, kw_only=True)

    def laid_out(self, ring: int) -> Vectors:
        """The program as vectors for a ring, without bootstraps."""
        assert self.packed is not None
        if ring not in self._laid_out:
            vectors = self.packed.with_loops(self.asked.on_event)
            sizes = self.search(vectors).magnitudes
            self._laid_out[ring] = with_small_outputs(vectors, sizes, self.asked.on_event, keep_loops=True)
        return self._laid_out[ring]


def compile_packed(program: HeirProgram, options: CompileOptions) -> Model:
    """A program that was read; without samples its inputs lie in [-1, 1]."""
    found = to_packed(program, options.on_event)
    reference = found.traced.module
    given = options.samples
    samples = assume_samples(reference) if given is None else samples_of(program, reference, given)

    def without_bootstraps() -> tuple[Vectors, Plan]:
        return found.vectors, PrecisionSearch(program, found.traced, found.vectors, samples, options).best()

    refreshed = PackedBootstraps(program, found.traced, samples, options, packed=found)
    with user_line(program.loc):
        _, plan = quickest(without_bootstraps, refreshed)
    vectors = found.vectors
    return Model(
        plan, Reference(vectors.placed, vectors.positions), options.costs, allow_insecure=options.parameters.insecure
    )
