"""What a report says, as plain data; how it looks is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from latticework.analysis.estimate import CostEstimate
from latticework.analysis.memory_plan import BudgetPoint, MemoryPlan
from latticework.cost import ClientCosts
from latticework.instructions.reason import RefreshReason
from latticework.packing.pack import PackMap
from latticework.plan.circuits import CircuitRecord
from latticework.plan.schema import Scores
from latticework.plan.weighed import WeighedChain


@dataclass(frozen=True, slots=True)
class Security:
    """What the parameters promise.

    bits   security level asked for;  limit_bits  largest log2(QP) for it, None where the table has no entry
    """

    ring_degree: int
    log2_qp: float
    limit_bits: int | None
    bits: int
    insecure: bool


@dataclass(frozen=True, slots=True)
class LevelUse:
    """Which levels a program takes: its inputs are encrypted at level `first`, its outputs leave at level `last`.

    chain      levels of the modulus chain, which is at least what a program without bootstraps spends
    refreshed  of them, that bootstraps leave; None on a chain without
    """

    first: int
    last: int
    chain: int
    refreshed: int | None = None

    @property
    def spent(self) -> int:
        """Levels between inputs and outputs."""
        return self.first - self.last


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One level of the main track: the primes that rescaling it removes, and what is left below it."""

    level: int
    limbs: tuple[int, ...]
    prime_bits: tuple[float, ...]
    scale: float
    log2_modulus: float
    digits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InputRow:
    """One input; a public integer has a limit only.

    low, high  of what users give
    words      the layout in a sentence
    bits       binary digits of every number, which are what is encrypted; 0: the numbers are
    """

    name: str
    shape: tuple[int, ...]
    layout: str
    slots: int
    level: int | None
    low: float | None
    high: float | None
    limit: int | None
    bytes: int
    vectors: int = 1
    words: str = ""
    bits: int = 0


@dataclass(frozen=True, slots=True)
class OutputRow:
    """One output with its predicted error.

    error_bound of the noise model; for every accepted input if `is_proved`, else for inputs like those of calibration
    usual_error the bound for inputs like those of calibration
    shift       what approximating functions changed at most, in calibration
    approximation  part of `usual_error` that approximating functions takes
    worst_case  what noise cannot exceed for any accepted input; None if unknown (a client file holds no code)
    words       the layout in a sentence
    conditions  what has to hold for the bound, beside that the input is accepted, in words
    budget_bits of an exact output: bits by which the noise is expected to stay below what would make it wrong
    """

    name: str
    shape: tuple[int, ...]
    layout: str
    slots: int
    level: int
    bytes: int
    error_bound: float
    magnitude: float
    shift: float
    worst_case: float | None
    vectors: int = 1
    budget_bits: float | None = None
    usual_error: float = 0.0
    is_proved: bool = False
    words: str = ""
    approximation: float = 0.0
    conditions: str = ""


@dataclass(frozen=True, slots=True)
class StageRow:
    """What the owner computes for an input or a result.

    name   of what is given, or of the result;  of  the encrypted input, or the decrypted output
    shape  of what is given, or of the output
    """

    name: str
    of: str
    shape: tuple[int, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Between which numbers a column of what is given has to lie.

    name  of the column, where it is known
    """

    given: str
    column: int
    name: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OwnerWork:
    """What the owner computes in the clear.

    learned  what of the model's weights is in its steps, and so in the client's file
    """

    before: tuple[StageRow, ...]
    after: tuple[StageRow, ...]
    ranges: tuple[ColumnRange, ...]
    learned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One evaluation key. steps: of a rotation; None for relinearisation and conjugation."""

    kind: str
    steps: int | None
    level: int
    uses: int
    stored_bytes: int
    resident_bytes: int
    log2_qp: float


@dataclass(frozen=True, slots=True)
class ApproximationRow:
    """One function replaced by a polynomial, and the user's line.

    given  whether the user gave the degree; else it follows from the precision asked for
    form   what was taken instead of one polynomial, and what that would cost; "": one polynomial
    may_leave  whether accepted inputs may take the argument out of the range, or out of its channel's part of it
    leaving    the estimated share of inputs like those of calibration that do; null: not known
    """

    function: str
    where: str
    text: str
    low: float
    high: float
    degree: int
    max_error: float
    given: bool = False
    form: str = ""
    may_leave: bool = False
    leaving: float | None = None


@dataclass(frozen=True, slots=True)
class LayoutGroup:
    """Tensors that are laid out alike."""

    tensors: tuple[str, ...]
    shape: tuple[int, ...]
    layout: str
    pack: PackMap


@dataclass(frozen=True, slots=True)
class LayoutStep:
    """Why tensors that are made one after the other lie where they all do.

    box          the layout in which two factors meet, if they do
    conversions  (operand, layouts on its way, recipes between them)
    other        the best layout that was not taken
    behind       how much longer the program would have taken with it, as a share of what the search expected of the
                 whole; below 0 where it lost only later
    """

    names: tuple[str, ...]
    operation: str
    where: str
    text: str
    shape: tuple[int, ...]
    layout: str
    vectors: int
    box: str
    conversions: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    other: str
    behind: float


@dataclass(frozen=True, slots=True)
class LayoutEnding:
    """One way to lay out the whole program, compared with the one that was taken.

    slower  time with sending, as a share of that of the chosen way: 0.1 is 10 % more
    levels, ciphertexts  more than the chosen way has, of levels and of ciphertexts sent and received
    """

    slower: float
    levels: int
    ciphertexts: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class LayoutChoice:
    """The search for layouts: its steps in program order, and the ways through the program that nothing beats.

    The search looks at programs before their levels and parameters are known, so it says how ways compare, and nothing
    of what the program costs.
    """

    explored: int
    bits_a_second: float
    steps: tuple[LayoutStep, ...]
    endings: tuple[LayoutEnding, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An expression in a line, without those in it that are listed themselves; quantities as of a line."""

    text: str
    seconds: float
    encode_seconds: float
    levels: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's program with what is booked to it (`report.lines`).

    seconds         of every run but the first;  by_family  the same by family of operations
    encode_seconds  for constants, in the first run only
    levels          the highest and the lowest at which it makes ciphertexts
    operations      the expressions in it that take time, if there are several
    """

    where: str
    text: str
    seconds: float
    encode_seconds: float
    by_family: dict[str, float]
    levels: tuple[int, int] | None
    operations: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class BootstrapCallRow:
    """The bootstraps of one call.

    where, text    of the lines that call;  times: how often that runs
    ciphertexts    bootstrapped each time
    level          where it starts;  target_level: where it ends
    seconds        of all of them in a later run;  encode_seconds: what the first run adds
    reason         why it stands there, and the same in words;  None and "": nothing was noted
    """

    where: str
    text: str
    slots: int
    ciphertexts: int
    real: bool
    iterations: int
    level: int
    target_level: int
    times: int
    seconds: float
    encode_seconds: float
    reason: RefreshReason | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Bootstrapping:
    """All bootstraps of a run.

    number        of ciphertexts that are bootstrapped;  seconds: of a later run
    num_keys      that nothing else reads, and their bytes
    failure_log2  log2 of the probability, at most, that some slot of one of them is wrong
    weighed       the chains that were compared; none where there was no choice
    """

    calls: tuple[BootstrapCallRow, ...]
    number: int
    seconds: float
    num_keys: int
    stored_bytes: int
    resident_bytes: int
    failure_log2: float
    weighed: tuple[WeighedChain, ...] = ()


@dataclass(frozen=True, slots=True)
class CarriedLevel:
    """A level that a carried value has in an iteration.

    op     what gives it that: "start", "bootstrap", or the instruction that spends levels;  where  its lines
    """

    op: str
    where: str
    level: int


@dataclass(frozen=True, slots=True)
class CarriedValue:
    """The levels of what a loop carries in a place, from the start of an iteration to its end."""

    name: str
    levels: tuple[CarriedLevel, ...]


@dataclass(frozen=True, slots=True)
class LoopLevels:
    """A loop that bootstraps, and the levels of what it carries."""

    where: str
    text: str
    values: tuple[CarriedValue, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A stretch of code for the timeline: one or more like instructions in a row.

    lines  (where, text) of the lines that cause it;  trips  how often it runs;  seconds  of every run but the first
    bootstrap  number of the call among those of `Bootstrapping` that it is part of
    """

    family: str
    op: str
    level: int | None
    lines: tuple[tuple[str, str], ...]
    seconds: float
    trips: int
    instructions: int
    bootstrap: int | None = None


@dataclass(frozen=True, slots=True)
class KeyLine:
    """What a line reads of keys in a run.

    where, text  of the line
    used, loads  rows that it computes with, and of them those that have to be read for it
    stalls       waits for rows, and stall_seconds of all of them
    """

    where: str
    text: str
    used: float
    loads: float
    stalls: float
    stall_seconds: float


@dataclass(frozen=True, slots=True)
class KeyStretch:
    """What is in memory of keys for some time of a run, on average unless it says otherwise.

    start, seconds  of the run;  waiting  of these, for rows
    where, text, op of the line and the instruction that most of it goes to; "" where no key is read any more
    bootstrap       number of the one that this is in, of those that are told; None: in none
    most_bytes      the most;  held_bytes  rows that are there and rows that are being read
    being_read, kept, unneeded  bytes of these that are being read, are used again later, are not used again; the rest
                    is in use or next
    loads, stalls   rows that are read for it, and waits for them
    """

    start: float
    seconds: float
    waiting: float
    where: str
    text: str
    op: str
    bootstrap: int | None
    most_bytes: int
    held_bytes: float
    being_read: float
    kept: float
    unneeded: float
    loads: float
    stalls: float


@dataclass(frozen=True, slots=True)
class KeyLoop:
    """A loop over the time of a run, in seconds: the turns from alike_start to alike_end are told as one."""

    trips: int
    start: float
    alike_start: float
    alike_end: float
    end: float
    depth: int


@dataclass(frozen=True, slots=True)
class UnderBudget:
    """A server with a budget of memory, and others.

    chosen     this budget;  curve: budgets from the smallest to all that a run has a use for, in rising order
    least      (op, where) of the instruction that sets the smallest; None where no key is read
    lines      those that read keys, the most first
    over_time  in the order of the run, up to its end;  loops  in it
    """

    chosen: BudgetPoint
    curve: tuple[BudgetPoint, ...]
    least: tuple[str, str] | None
    lines: tuple[KeyLine, ...]
    over_time: tuple[KeyStretch, ...]
    loops: tuple[KeyLoop, ...]

    @property
    def shares(self) -> MemoryPlan:
        """How the chosen budget is shared out."""
        return self.chosen.shares


@dataclass(frozen=True)
class Execution:
    """What running the code takes; a client file does not say.

    choice   why tensors lie where they do; None if the plan does not say
    circuit  the schedule of a circuit of scalars; None for programs on arrays
    loss     what degrees that the user gave lose, where it is more than was asked
    scores   against labels of calibration rows
    bootstraps  None where there are none;  loops  that have some, with the levels of what they carry
    under_budget  where a budget of memory was given
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


@dataclass(frozen=True)
class RowCosts:
    """What a row of a batch takes, of a run that is full.

    count            rows that a run holds
    seconds          of later runs; None for a client file
    encrypt_seconds, decrypt_seconds, input_bytes, result_bytes  at the client, predicted
    """

    count: int
    seconds: float | None
    encrypt_seconds: float
    decrypt_seconds: float
    input_bytes: float
    result_bytes: float


@dataclass(frozen=True)
class Contents:
    """A compiled program, described.

    client     what the owner of the data takes, predicted
    execution  None for a client file, which holds no code
    notes      what the numbers rest on
    plain_modulus  of exact integers; 0: approximate numbers
    owner      what the owner computes before encryption and after decryption; None: nothing
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
