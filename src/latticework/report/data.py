"""Data of a report on a plan, as plain records; its parts are records of the sections that tell them."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import CostEstimate
from latticework.plan.cost import ClientCosts
from latticework.plan.schema.batch import RowsChoice
from latticework.plan.schema.circuit_schedule import CircuitRecord
from latticework.plan.schema.kept_parts import KeptParts
from latticework.plan.schema.schema import Scores
from latticework.report.budget_records import UnderBudget
from latticework.report.carried_drawing import LoopLevels
from latticework.report.sections.approximations_section import ApproximationRow
from latticework.report.sections.bootstrap_section import Bootstrapping
from latticework.report.sections.chain_section import LevelRow, LevelUse
from latticework.report.sections.head_section import RowCosts, Security
from latticework.report.sections.interface_section import ArgumentRow, InputRow, OutputRow
from latticework.report.sections.key_section import KeyRow
from latticework.report.sections.layout_choice_section import LayoutChoice
from latticework.report.sections.layouts_section import LayoutGroup
from latticework.report.sections.owner_section import OwnerWork
from latticework.report.sections.time_section import Line
from latticework.report.timeline import Moment


@dataclass(frozen=True)
class Execution:
    """The cost of running the code; a client file does not tell it.

    choice   why tensors lie where they do; None if the plan does not say
    circuit  the schedule of a circuit of scalars; None for programs on arrays
    loss     what degrees that the user gave lose, where it is more than was asked
    scores   against labels of calibration rows
    bootstraps  None where there are none;  loops  that have some, with the levels of what they carry
    under_budget  where a budget of memory was given
    kept     of the model that it was compiled like, if there was one
    rows_choice  ways to compute rows of a batch, where there was a choice
    """

    estimate: CostEstimate
    approximations: tuple[ApproximationRow, ...]
    layouts: tuple[LayoutGroup, ...]
    choice: LayoutChoice | None
    circuit: CircuitRecord | None
    lines: tuple[Line, ...]
    timeline: tuple[Moment, ...]
    instructions: int
    table: str
    loss: str = ""
    scores: Scores | None = None
    bootstraps: Bootstrapping | None = None
    loops: tuple[LoopLevels, ...] = ()
    under_budget: UnderBudget | None = None
    kept: KeptParts | None = None
    rows_choice: RowsChoice | None = None


@dataclass(frozen=True)
class Contents:
    """A compiled program, described.

    client     what the owner of the data takes, predicted
    execution  None for a client file, which holds no code
    notes      what the numbers rest on
    plain_modulus  of exact integers, the product where there are several; 0: approximate numbers
    owner      what the owner computes before encryption and after decryption; None: nothing
    arguments  of circuits: what users give, where ciphertexts hold several values
    row        what one row takes, where a run holds several side by side (`compile(batch=)`); else None
    """

    name: str
    security: Security
    precision_bits: float
    level_use: LevelUse
    levels: tuple[LevelRow, ...]
    special_bits: tuple[float, ...]
    digits: tuple[tuple[int, ...], ...]
    inputs: tuple[InputRow, ...]
    outputs: tuple[OutputRow, ...]
    keys: tuple[KeyRow, ...]
    client: ClientCosts
    execution: Execution | None
    notes: tuple[str, ...]
    plain_modulus: int = 0
    owner: OwnerWork | None = None
    row: RowCosts | None = None
    arguments: tuple[ArgumentRow, ...] = ()
