"""Programs on slots: vectors are as the program says, on the smallest ring whose noise allows it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latticework.compiler.client_stages import with_stages
from latticework.compiler.exact_plans import to_bfv_plan
from latticework.compiler.levels import program_depth
from latticework.compiler.options.compile_options import CompileOptions
from latticework.compiler.program_lowering import Lowering
from latticework.compiler.stage_results import TracedProgram, Vectors
from latticework.errors import LayoutError
from latticework.frontend.queries import SlotProgram
from latticework.frontend.queries.slot_program import IntArray, SlotCode, SlotSum
from latticework.ir import Builder, Module, Origin, Value, verify
from latticework.ir.dialects import loop_dialect
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.model import Reference
from latticework.plan.parameters.select import MAX_RING_LOG2
from latticework.plan.parameters.select_bfv import MIN_RING_LOG2, TooNoisyError, shared_plain_modulus
from latticework.plan.schema.schema import Plan
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, LoopNest


@dataclass
class SlotLowering(Lowering):
    """A program on slots; vectors fill the slots of the ring that they are planned on.

    code     the program on vectors, once they were planned
    planned  these vectors, and their plan
    """

    code: SlotCode | None = None
    planned: tuple[Vectors, Plan] | None = None

    def to_vectors(self) -> Vectors:
        """Write vectors for the smallest ring whose plan holds their noise.

        raises  TooNoisyError where none does; LayoutError for data that take too many vectors
        """
        assert isinstance(self.program, SlotProgram)
        wanted = self.options.ring_degree
        degrees = [1 << k for k in range(MIN_RING_LOG2, MAX_RING_LOG2 + 1)] if wanted is None else [wanted]
        modulus = shared_plain_modulus(self.program.plain_bits, None, wanted)
        for degree in degrees:
            options = self.options.override(ring_degree=degree, plain_modulus=modulus)
            try:
                self.code = self.program.code(degree // 2, modulus)
                vectors = write_vectors(self.program, self.code)
                ranges = {SlotProgram.QUERY: (float(self.code.low), float(self.code.high))}
                self.planned = vectors, to_bfv_plan(self.program.name, vectors, options, ranges=ranges)
                break
            except (TooNoisyError, LayoutError):
                if degree == degrees[-1]:
                    raise
        assert self.planned is not None
        return self.planned[0]

    def plan(self, vectors: Vectors) -> Plan:
        """Give the plan by which the ring was chosen."""
        assert self.planned is not None and self.planned[0] is vectors
        return self.planned[1]

    @property
    def bootstrap_obstacle(self) -> str | None:
        """Reason why nothing can be bootstrapped."""
        return "integers are exact, and bootstraps are approximate"

    def finish(self, plan: Plan) -> Plan:
        """Add the steps of the owner, who asks and reads the answer."""
        assert self.code is not None
        return replace(plan, client=with_stages(plan.client, self.code.stages))

    def reference(self, vectors: Vectors) -> Reference | None:
        """Make none: on real numbers the vectors mean nothing."""
        return None


def lower_slots(program: SlotProgram, options: CompileOptions) -> SlotLowering:
    """Make the lowering of a program on slots, which has no samples."""
    return SlotLowering(program, TracedProgram(Module(), [], [], []), [], options)


def write_vectors(program: SlotProgram, code: SlotCode) -> Vectors:
    """The program in vec IR: arrays of products, added up."""
    module = Module(input_names=[SlotProgram.QUERY], outputs=[SlotProgram.ANSWER])
    builder = Builder(module.body, program.loc)
    query = module.body.add_arg(VecType(code.count, code.slots, "real", True), Origin(SlotProgram.QUERY, program.loc))
    made = [_write_sum(builder, module, query, code, each) for each in code.sums]
    answer = made[0] if len(made) == 1 else builder.build("vec.concat", made)
    builder.create(loop_dialect.YIELD, [answer], loc=program.loc)
    verify(module)
    packs = pack_vectors(code.count, code.slots), pack_vectors(len(made), code.slots)
    return Vectors(module, module, [], {}, program_depth(module), code.slots, packs[:1], packs[1:], flat=module)


def _write_sum(builder: Builder, module: Module, query: Value, code: SlotCode, each: SlotSum) -> Value:
    """Take the vectors that a sum reads, multiply each and add all up."""
    is_whole = each.vectors == tuple(range(code.count))
    taken = query if is_whole else builder.build("vec.take", [query], vectors=each.vectors)
    if each.factors is not None:
        taken = builder.build("vec.mul", [taken, _constant(builder, module, each.factors)])
    if len(each.vectors) > 1:
        taken = builder.build("vec.sum", [taken], groups=1)
    if each.addend is None:
        return taken
    return builder.build("vec.add", [taken, _constant(builder, module, each.addend[None])])


def _constant(builder: Builder, module: Module, vectors: IntArray) -> Value:
    """Public vectors (count, slots), each number in its slot."""
    access = Access(vectors.shape, ((1, 0), (0, 1)), (0, 0))
    source = module.add_source(vectors.astype(np.float64))
    gather = LoopNest(vectors.shape, pack_vectors(*vectors.shape), access, source, access)
    return builder.build("vec.constant", value=ConstRef(gather), slots=vectors.shape[1])


def pack_vectors(count: int, slots: int) -> PackMap:
    """A tensor (count, slots) that is vectors as they are."""
    return PackMap((count, slots), slots, (PackDim(1, slots),), (PackDim(0, count),) if count > 1 else ())
