"""The Plan: the narrow waist between compiler and runtime.

A plan is self-contained: running it needs no compiler. Registers are numbered
over the whole plan and have static types; loops and branches are blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from math import inf, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors.escaping import plain_text
from latticework.errors.shown import count_noun, describe, of_program
from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.stages import OwnerStages
from latticework.plan.instructions.executable import BootstrapBlock, Instruction, PlanBlock
from latticework.plan.instructions.reason import CallReason
from latticework.plan.instructions.register_kinds import Kind
from latticework.plan.parameters import ModulusChain
from latticework.plan.parameters.bootstrap_noise import BootstrapNoise
from latticework.plan.schema.arguments import Argument, Result
from latticework.plan.schema.batch import Batch, RowsChoice
from latticework.plan.schema.circuit_schedule import CircuitRecord
from latticework.plan.schema.conditions import UNLIKE, Condition, left_by, merge_conditions
from latticework.plan.schema.considered_chains import WeighedChain
from latticework.plan.schema.constraints import Constraint
from latticework.plan.schema.feedback_limits import FeedbackLimits
from latticework.plan.schema.kept_parts import KeptParts
from latticework.plan.schema.placement_record import LayoutRecord
from latticework.values.packing.interleaved_rows import groups_of, pack_rows, unpack_rows
from latticework.values.packing.key_manifest import KeyManifest, KeySpec
from latticework.values.packing.pack import PackMap
from latticework.values.packing.packed_constants import Constant

FORMATS = (1, 2, 3)  # that are read
FORMAT = 3  # of plans that are written
CLIENT_FORMAT = 1  # of client files: what they hold is in plans of every format

MAX_NAMES = 4  # of results in one output


@dataclass(frozen=True, slots=True)
class SecretInput:
    """One encrypted input.

    low, high  the calibrated range, margin included; values outside are refused before encryption
    fed        the output of a run before that it may be, still encrypted
    pack       of a tensor of this shape; or (rows, *shape), where a run computes rows of them side by side
    """

    name: str
    shape: tuple[int, ...]
    pack: PackMap
    level: int
    scale: float
    low: float
    high: float
    fed: str = field(default="", metadata={"unstored_default": True})

    def groups(self, tensors: npt.ArrayLike) -> Iterator[npt.NDArray[np.float64]]:
        """Tensors (items, *shape), or one, as `pack` takes them: `packing.rows`."""
        return groups_of(self.pack, self.shape, tensors)

    def pack_values(self, tensors: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The vectors of tensors (items, *shape), or of one, which is that of all rows: `packing.rows`."""
        return pack_rows(self.pack, self.shape, tensors)


@dataclass(frozen=True, slots=True)
class IndexInput:
    """One public run-time integer, at least 0 and at most `limit`: the loop counts that the plan was calibrated for."""

    name: str
    limit: int


@dataclass(frozen=True, slots=True)
class Output:
    """One encrypted output.

    error_bound  bound on the absolute error of an element against the program with its functions exact, by the noise
                 model: for every accepted input if `reach` is known, else for inputs like those of calibration
    magnitude    largest absolute value in calibration, over all run-time integers looked at
    shift        how far approximating functions moved an element at most, in calibration
    reach        largest absolute value for inputs anywhere in the accepted ranges, for which no step of the program
                 leaves its modulus; None if that is not proved
    usual_error  the bound on the error for inputs like those of calibration, as measured on them
    approximation  part of `usual_error` that approximating functions takes: what their largest errors can do
    conditions   what has to hold of an accepted input for `error_bound`; none: it holds for every one
    wrapping     elements, in C order, that may leave what integers modulo t hold, where a condition is that none does;
                 (): all
    degree       of its ciphertexts: polynomials - 1
    pack         of a tensor of this shape; or (rows, *shape), where a run computes rows of them side by side
    """

    name: str
    shape: tuple[int, ...]
    pack: PackMap
    level: int
    scale: float
    error_bound: float
    magnitude: float
    shift: float
    reach: float | None = field(default=None, metadata={"unstored_default": True})
    usual_error: float = field(default=0.0, metadata={"unstored_default": True})
    approximation: float = field(default=0.0, metadata={"unstored_default": True})
    conditions: tuple[Condition, ...] = field(default=(), metadata={"unstored_default": True})
    wrapping: tuple[int, ...] = field(default=(), metadata={"unstored_default": True})
    degree: int = field(default=1, metadata={"unstored_default": True})

    @property
    def is_proved(self) -> bool:
        """Whether the bound holds for every accepted input."""
        return self.reach is not None and not self.conditions

    def mask_wrapping(self, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """Mask what may wrap around in an array of this shape: one tensor, or several along axes before its own."""
        if not any(each.modulus for each in self.conditions):
            return np.zeros(shape, dtype=bool)
        mask = np.zeros(self.shape, dtype=bool)
        mask.flat[list(self.wrapping) or slice(None)] = True
        return np.broadcast_to(mask, shape)

    @property
    def all_conditions(self) -> tuple[Condition, ...]:
        """The conditions, and that an input is like those of calibration where intervals prove nothing."""
        return self.conditions if self.reach is not None or not self.error_bound else (*self.conditions, UNLIKE)

    def unpack_values(self, vectors: npt.NDArray[Any], items: int | None = None) -> npt.NDArray[np.float64]:
        """Tensors (items, *shape) from their vectors, or the first one: `packing.rows`."""
        return unpack_rows(self.pack, self.shape, vectors, items)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of the user's program.

    span    columns of the expression in `text`, from and before; (0, 0) if not known
    shares  of what several lines together cause: (number of a location that has none, share), which add up to 1
    """

    file: str
    line: int
    text: str
    span: tuple[int, int] = field(default=(0, 0), metadata={"unstored_default": True})
    shares: tuple[tuple[int, float], ...] = field(default=(), metadata={"unstored_default": True})

    def __str__(self) -> str:
        return f"{plain_text(self.file)}:{self.line}" if self.file else "<unknown>"


@dataclass(frozen=True, slots=True)
class TensorValue:
    """A tensor of the user's program, for debugging: where it is defined and how it is packed.

    bound  absolute error beyond which it counts as off
    """

    position: int
    name: str
    location: int
    pack: PackMap
    bound: float

    def unpack_values(self, vectors: npt.NDArray[Any], rows: int, items: int | None = None) -> npt.NDArray[np.float64]:
        """Tensors (items, *shape) from the vectors of a run that computes `rows` rows."""
        return unpack_rows(self.pack, self.pack.shape[rows > 1 :], vectors, items)


@dataclass(frozen=True, slots=True)
class Approximation:
    """One function that was replaced by a polynomial.

    max_error  largest distance of the polynomial from the function on [low, high]
    may_leave  inputs that a client accepts may take its argument outside [low, high], where the polynomial is wrong
    given      whether the user gave the degree
    form       what was taken instead of one polynomial, what it costs and what that would cost; "": one polynomial
    leaving    where it may leave: the probability, estimated from calibration, that an input like those does so, also
               only in a channel that has another polynomial; None: not known
    """

    function: str
    location: int
    low: float
    high: float
    degree: int
    max_error: float
    may_leave: bool
    given: bool = field(default=False, metadata={"unstored_default": True})
    form: str = field(default="", metadata={"unstored_default": True})
    leaving: float | None = field(default=None, metadata={"unstored_default": True})


@dataclass(frozen=True, slots=True)
class Scores:
    """The agreement of results with labels of calibration rows.

    measure              "accuracy" or "R^2"
    rows                 that were scored
    exact, approximated  of the program itself, and with its functions approximated; both without noise
    """

    measure: str
    rows: int
    exact: float
    approximated: float

    def __str__(self) -> str:
        return (
            f"{plain_text(self.measure)} on {self.rows} labelled calibration rows: {self.exact:.4g} by the program "
            f"itself, {self.approximated:.4g} with its functions approximated"
        )


@dataclass(frozen=True)
class ClientSpec:
    """All that a client needs: parameters, inputs, outputs, keys. No weights, no code.

    arguments, results  what users give and get, of a circuit, whose inputs and outputs are shared by several; of other
                        programs there are none, and inputs and outputs are what users give and get
    batch               the axis along which there may be any number of rows; of circuits there is none
    declared            where users declare what they give, by name: "program.py:7", for messages
    feeding             what is known of runs that go on from encrypted results; None: nothing
    owner               what the owner computes before encryption and after decryption; None: nothing
    columns             names of the elements of last axes of what users give, by name, where they are known; of what
                        the owner's steps are given they stand there
    constraints          what encrypted inputs have to meet in addition to their ranges
    slot_rows           2 where the two rows of slots of BFV hold different rows of a batch, as nothing moves numbers
                        between them; else both hold the same
    """

    name: str
    chain: ModulusChain
    inputs: tuple[SecretInput | IndexInput, ...]
    outputs: tuple[Output, ...]
    manifest: KeyManifest
    precision_bits: float
    arguments: tuple[Argument, ...] = field(default=(), metadata={"unstored_default": True})
    results: tuple[Result, ...] = field(default=(), metadata={"unstored_default": True})
    batch: Batch | None = field(default=None, metadata={"unstored_default": True})
    declared: tuple[tuple[str, str], ...] = field(default=(), metadata={"unstored_default": True})
    feeding: FeedbackLimits | None = field(default=None, metadata={"unstored_default": True})
    owner: OwnerStages | None = field(default=None, metadata={"unstored_default": True})
    columns: tuple[tuple[str, tuple[str, ...]], ...] = field(default=(), metadata={"unstored_default": True})
    constraints: tuple[Constraint, ...] = field(default=(), metadata={"unstored_default": True})
    slot_rows: int = field(default=1, metadata={"unstored_default": True})

    def columns_of(self, name: str) -> tuple[str, ...]:
        """Names of the columns of what users give by this name; () where they are not known."""
        inputs = () if self.owner is None else self.owner.given
        known = dict(self.columns) | {each.name: each.columns for each in inputs}
        return known.get(name, ())

    def shape_given(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of the user's input of this name, for one run; None for run-time integers and unknown
        names."""
        shapes = {i.name: i.shape for i in self.arguments or self.secret_inputs}
        shapes |= {} if self.owner is None else {each.name: each.shape for each in self.owner.given}
        return shapes.get(name)

    def with_columns(self, columns: Mapping[str, tuple[str, ...]]) -> ClientSpec:
        """Return the specification with names of columns, by the user's names of inputs, where there are as many as the
        last axis has elements."""
        shapes = {name: self.shape_given(name) or (0,) for name in self.given_names}
        fitting = {n: tuple(columns[n]) for n in shapes if columns.get(n) and len(columns[n]) == shapes[n][-1]}
        inputs = () if self.owner is None else self.owner.given
        staged = {each.name for each in inputs}
        owner = self.owner and replace(
            self.owner, given=tuple(replace(g, columns=g.columns or fitting.get(g.name, ())) for g in inputs)
        )
        own = tuple((name, names) for name, names in fitting.items() if name not in staged)
        return replace(self, owner=owner, columns=own)

    @property
    def given_names(self) -> list[str]:
        """The user's names of the inputs."""
        names = [i.name for i in self.arguments or self.inputs]
        return names if self.owner is None else self.owner.given_for(names)

    @property
    def result_names(self) -> list[str]:
        """The user's names of the results."""
        finished = () if self.owner is None else self.owner.after
        return [r.name for r in self.results or finished or self.outputs]

    def result_conditions(self) -> Iterator[tuple[str, tuple[Condition, ...]]]:
        """Yield the conditions under which the bound of each result holds, by name: less what another output tells of
        it."""
        outputs = {output.name: output for output in self.outputs}
        if self.results:
            yield from ((result.name, self._conditions_of(result)) for result in self.results)
            return
        if self.owner is None or not self.owner.after:
            yield from ((output.name, output.all_conditions) for output in self.outputs)
            return
        for result in self.owner.after:
            conditions = merge_conditions(outputs[name].all_conditions for name in result.reads())
            yield result.name, left_by(conditions, is_told=result.doubt is not None)

    @property
    def output_labels(self) -> dict[str, str]:
        """Names of the user's results that each output holds, by its own; of circuits these may be several."""
        held: dict[str, list[str]] = {}
        ends = np.cumsum([prod(output.shape) for output in self.outputs])
        for result in self.results:
            for number in np.unique(np.searchsorted(ends, result.elements, side="right")):
                held.setdefault(self.outputs[number].name, []).append(result.name)
        shown = {name: names[:MAX_NAMES] + ["..."] * (len(names) > MAX_NAMES) for name, names in held.items()}
        return {o.name: ", ".join(shown.get(o.name, [])) or o.name for o in self.outputs}

    def _conditions_of(self, result: Result) -> tuple[Condition, ...]:
        """Conditions of a result of a circuit: those of outputs that hold a part of it; to fit, if that may wrap."""
        elements, found, start = set(result.elements), list[Condition](), 0
        for output in self.outputs:
            held = elements & set(range(start, start + prod(output.shape)))
            if held and output.all_conditions:
                wraps = output.mask_wrapping(output.shape).reshape(-1)[[e - start for e in held]].any()
                found += [each for each in output.all_conditions if wraps or not each.modulus]
            start += prod(output.shape)
        return tuple(dict.fromkeys(found))

    @property
    def rows(self) -> int:
        """Inputs that are computed side by side in one run, as many rows of a batch: 1 without `compile(batch=)`."""
        return self.slot_rows * self.packed_rows

    @property
    def packed_rows(self) -> int:
        """Those of them that lie in one row of slots."""
        return next((o.pack.shape[0] for o in self.outputs if len(o.pack.shape) > len(o.shape)), 1)

    def runs_for(self, items: int) -> int:
        """Return the number of runs of the plan that these inputs take."""
        return -(-items // self.rows)

    @property
    def secret_inputs(self) -> tuple[SecretInput, ...]:
        """The encrypted inputs, in order."""
        return tuple(i for i in self.inputs if isinstance(i, SecretInput))

    def errors_after(self, runs: int) -> list[float]:
        """Bound the errors of all outputs after `runs` runs, each of which goes on from the one before."""
        if self.feeding is None:
            return [inf] * len(self.outputs)
        errors = [output.usual_error for output in self.outputs]
        bounds = self.feeding.errors_after(runs, errors, [output.magnitude for output in self.outputs])
        pairs = zip(bounds, self.outputs, strict=True)
        return [e if o.reach is not None else max(e, o.error_bound) for e, o in pairs]  # no less than of one run

    @property
    def levels_spent(self) -> int:
        """Levels between the highest input and the lowest output."""
        first = max((i.level for i in self.secret_inputs), default=self.chain.main.top)
        return first - min((o.level for o in self.outputs), default=first)

    def facts(self) -> tuple[str, ...]:
        """Facts that whatever stands for the program shows of it."""
        chain = self.chain
        detail = f"t={chain.plain_modulus}"
        if chain.has_wide_integers:
            detail = f"{len(chain.plain_moduli)} plaintext moduli of {chain.plain_modulus.bit_length()} bits"
        if not chain.plain_modulus:
            detail = f"spends {self.levels_spent} of {count_noun(chain.main.top, 'level')}"
        if chain.bootstrap is not None:
            detail = f"bootstraps leave {count_noun(chain.main.top - chain.floor, 'level')}"
        security = "INSECURE" if chain.insecure else f"{chain.security_bits}-bit security"
        named = of_program(chain.scheme, chain.ring_degree, self.name)
        return *named, detail, count_noun(len(self.manifest.uses), "key"), security

    def __repr__(self) -> str:
        return describe("ClientSpec", *self.facts())


@dataclass(frozen=True)
class Plan:
    """A compiled program.

    kinds      register types in use;  registers[r] is the number of r's kind
    constants  what `encode` instructions gather from `sources`, the block maps of `map_sums` and the matrices of
               `public_matmul`
    watch      register -> position of the tensor value that it holds
    factors    of some of these registers: what is to be multiplied by to be that value
    placing    how the layouts were chosen, for the report;  circuit  of a circuit: how it was vectorised
    loss       what degrees that the user gave lose, in words, where it is more than was asked
    scores     against labels of calibration rows, if there were any
    bootstraps  which blocks are bootstraps, those that are called for them (`plan.bootstraps` says of what kind)
    bootstrap_noise  what they leave, each as one step; None: known only by following their code
    weighed    chains with bootstraps, for the report; none where there was no choice
    reasons    why bootstraps stand where they do, for the report
    changes    what is computed in the place of what the user gave, because the user asked for it, for the report
    kept       what is kept of the model that it was compiled like, for the report; None: there was none
    rows_choice  ways to compute rows of a batch, for the report; None where there was no choice
    """

    client: ClientSpec
    kinds: tuple[Kind, ...]
    registers: tuple[int, ...]
    blocks: tuple[PlanBlock, ...]
    keys: tuple[KeySpec, ...]
    constants: tuple[Constant, ...]
    sources: Mapping[str, npt.NDArray[np.float64]]
    locations: tuple[SourceLocation, ...]
    tensors: tuple[TensorValue, ...]
    watch: Mapping[int, int]
    approximations: tuple[Approximation, ...] = ()
    layouts: tuple[tuple[str, str, str], ...] = field(default=())  # (tensor, shape, layout) for the report
    placing: LayoutRecord | None = None
    circuit: CircuitRecord | None = None
    factors: Mapping[int, float] = field(default_factory=dict)
    loss: str = ""
    scores: Scores | None = None
    bootstraps: tuple[BootstrapBlock, ...] = ()
    bootstrap_noise: BootstrapNoise | None = None
    weighed: tuple[WeighedChain, ...] = ()
    reasons: tuple[CallReason, ...] = ()
    changes: tuple[str, ...] = ()
    kept: KeptParts | None = None
    rows_choice: RowsChoice | None = None

    @property
    def chain(self) -> ModulusChain:
        """The parameters."""
        return self.client.chain

    def modulo(self, number: int) -> Plan:
        """The plan of one of several plaintext moduli, by number: of integers modulo that one."""
        chain = replace(self.chain, plain_modulus=self.chain.plain_moduli[number], more_plain_moduli=())
        return replace(self, client=replace(self.client, chain=chain))

    def __repr__(self) -> str:
        code = sum(len(block.code) for block in self.blocks)
        return describe(
            "Plan", *self.client.facts(), count_noun(code, "instruction"), count_noun(len(self.constants), "constant")
        )

    def kind(self, register: int) -> Kind:
        """Return the type of a register."""
        return self.kinds[self.registers[register]]

    def shares(self, location: int) -> tuple[tuple[int, float], ...]:
        """The lines that cause what is at a location, with shares that add up to 1."""
        return self.locations[location].shares or ((location, 1.0),)

    def walk(self) -> Iterator[tuple[int, int, Instruction]]:
        """(block, place, instruction) of all code."""
        for number, block in enumerate(self.blocks):
            for place, instruction in enumerate(block.code):
                yield number, place, instruction
