"""What the stages of the pipeline hand to each other, where that is more than a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from latticework.compiler.accuracy import Fitted, StandIn
from latticework.compiler.codegen.emit_code import Code
from latticework.compiler.input_constraints import CheckedForm
from latticework.compiler.levels import LevelPlan
from latticework.frontend.calibration.calibration_data import SampleSizes
from latticework.ir import Loc, Module, Op, Value
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import Argument, Result
from latticework.plan.schema.circuit_schedule import CircuitRecord
from latticework.plan.schema.placement_record import LayoutRecord
from latticework.plan.schema.schema import Plan, Scores
from latticework.tensor.ops.lower import PlacedTensor
from latticework.values.packing.key_manifest import KeyManifest
from latticework.values.packing.loop_nests.baby_giant import Choice
from latticework.values.packing.loop_nests.matrix_choice import MatrixChoice
from latticework.values.packing.pack import PackMap

Ranges = Mapping[str, tuple[float, float]]  # by the name of an input


@dataclass(frozen=True)
class TracedProgram:
    """A program as tensors: calibrated, its functions approximated.

    module   tensor + loop IR, outputs equal to NumPy's up to the approximations
    fitted   one record per approximated function
    shifts   of every output, how far the approximations move an element at most, on calibration data
    effects  the same for inputs like those of calibration: what the largest errors of the functions can do
    loss     what degrees that the user gave lose, in words, where that is more than was asked; then `is_lossy`
    scores   against labels of calibration rows, if there were any
    feedback  numbers of outputs that are an input of the next run -> the number of that input
    stand_ins  the functions themselves, and the polynomials that took their places
    forms      arguments of these functions that clients can hold within their ranges
    narrowed   how often they are approximated less far beyond calibration, as the levels of an old model's are few
    num_given  samples that runs one after the other start from; those after them are what is fed later
    """

    module: Module
    fitted: list[Fitted]
    shifts: list[float]
    effects: list[float]
    loss: str = ""
    scores: Scores | None = None
    feedback: Mapping[int, int] = field(default_factory=dict)
    num_given: int | None = None
    stand_ins: tuple[StandIn, ...] = ()
    forms: tuple[CheckedForm, ...] = ()
    narrowed: int = 0

    @property
    def is_lossy(self) -> bool:
        """Whether the user gave degrees that lose more than was asked."""
        return bool(self.loss)


@dataclass(frozen=True)
class CircuitFacts:
    """The facts that a plan keeps of a circuit beside its code; line: where it is defined."""

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    record: CircuitRecord | None
    line: Loc


@dataclass(frozen=True)
class Vectors:
    """A program as slot vectors.

    placed     tensor IR with layouts, or scalar IR of a circuit: the reference that runs beside the plan
    module     vec IR
    inputs     how the inputs lie in vectors, None for a run-time integer;  outputs  how the outputs do
    tensors    the program's tensors by position;  positions: which value of `placed` each is
    depth      levels it spends
    placing    why its tensors lie where they do;  lines  what the locations in that number
    circuit    of a circuit: what users call its inputs and outputs, and how it was vectorised
    starts     levels of the inputs, counted down from the top of the chain, where they are not to be chosen
    ends       numbers of outputs -> levels at which they have to end, counted so; the others end where they do
    flat       vec IR from which levels are managed, if not `module`: loops that spend levels are copies, and public
               factors stand where they spend the fewest levels
    stated     ranges of inputs that a client file says: they are accepted, where calibration lies within
    residual   levels that bootstraps leave on the chain that the bootstraps in `flat` are for, if there are any
    iterations  of each of these bootstraps
    feedback  numbers of outputs that are an input of the next run -> the number of that input
    rows       of a batch that are interleaved in `slots`, and computed in one run; `placed` is of one of them
    sizes      of the values of `placed` on samples, as far as they were asked for
    one_row    the same for one row, where there are more
    lower      lowers tensors with other layouts to vectors as these were; None: they come of no layouts
    seconds    predicted by layouts for all rows of a batch, with sending
    elements   the same program in vectors of one element each, as another way to compute rows of a batch
    """

    placed: Module
    module: Module
    tensors: list[PlacedTensor]
    positions: dict[Value, int]
    depth: int
    slots: int
    inputs: tuple[PackMap | None, ...]
    outputs: tuple[PackMap, ...]
    placing: LayoutRecord | None = None
    lines: tuple[Loc, ...] = ()
    circuit: CircuitFacts | None = None
    starts: tuple[int, ...] | None = None
    ends: Mapping[int, int] = field(default_factory=dict)
    stated: Ranges = field(default_factory=dict)
    flat: Module | None = None
    residual: int | None = None
    iterations: int = 1
    feedback: Mapping[int, int] = field(default_factory=dict)
    rows: int = 1
    sizes: SampleSizes = field(default_factory=SampleSizes, compare=False, repr=False)
    one_row: Vectors | None = field(default=None, compare=False, repr=False)
    lower: Callable[[Module], Vectors] | None = field(default=None, compare=False, repr=False)
    seconds: float = field(default=0.0, compare=False)
    elements: Vectors | None = field(default=None, compare=False, repr=False)

    @property
    def row_ways(self) -> tuple[Vectors, ...]:
        """The ways to compute rows of a batch: these vectors, and those of one element each."""
        return (self,) if self.elements is None else (self, self.elements)


@dataclass(frozen=True)
class Lowered:
    """A program as primitives for one modulus chain.

    levels   what was decided about levels; None where `managed` came from elsewhere
    managed  with levels and scales, linear maps and polynomials still whole
    choices  how each linear map of `managed` is carried out
    """

    managed: Module
    module: Module
    code: Code
    manifest: KeyManifest
    choices: Mapping[Op, Choice | MatrixChoice]
    levels: LevelPlan | None = None

    def is_code_of(self, plan: Plan) -> bool:
        """Whether a plan runs these primitives."""
        code = self.code
        same = code.blocks, code.kinds, code.registers
        return same == (list(plan.blocks), list(plan.kinds), list(plan.registers))
