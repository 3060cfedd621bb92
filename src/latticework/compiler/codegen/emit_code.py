"""emit: from expanded IR to the code of a plan: registers, blocks and tables. What each op is, primitives say."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from latticework.ir import Block, Loc, Module, Op, Type, Value
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.op_kinds import kind_of
from latticework.ir.dialects.primitives import PRIMITIVES
from latticework.ir.dialects.procedure_dialect import ProcedureType
from latticework.ir.dialects.rlwe_dialect import CipherType
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.control import CALL, FOR, ICONST, IF, MAX_TRIPS
from latticework.plan.instructions.executable import BootstrapBlock, Instruction, PlanBlock, RegisterOperand
from latticework.plan.instructions.reason import CallReason
from latticework.plan.instructions.register_kinds import IndexKind, KeyKind, Kind
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import SourceLocation
from latticework.values.packing.key_manifest import KeySpec, serving_key
from latticework.values.packing.packed_constants import Constant


@dataclass
class Code:
    """The executable part of a plan, being emitted."""

    chain: ModulusChain
    keys: tuple[KeySpec, ...]
    kinds: list[Kind] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)
    blocks: list[PlanBlock] = field(default_factory=list)
    bootstraps: list[BootstrapBlock] = field(default_factory=list)
    reasons: list[CallReason] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    locations: list[SourceLocation] = field(default_factory=list)
    watch: dict[int, int] = field(default_factory=dict)
    factors: dict[int, float] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _values: dict[Value, int] = field(default_factory=dict)
    _procedures: dict[Value, int] = field(default_factory=dict)

    def location(self, loc: Loc) -> int:
        """Number of a source location."""
        shares = tuple((self.location(part), share) for part, share in loc.parts)
        place = SourceLocation(loc.file, loc.line, loc.text, loc.span, shares)
        return self._number("location", place, self.locations)

    def _number(self, table: str, item: object, items: list) -> int:  # type: ignore[type-arg]
        key = (table, item)
        if key not in self._numbers:
            self._numbers[key] = len(items)
            items.append(item)
        return self._numbers[key]

    def define(self, value: Value) -> int:
        """A new register for a value."""
        register = len(self.registers)
        self.registers.append(self._number("kind", self.kind(value.type), self.kinds))
        self._values[value] = register
        origin = value.origin
        if origin is not None and origin.position is not None and self._is_settled(value.type):
            self.watch[register] = origin.position[0]
            if origin.factor != 1.0:
                self.factors[register] = origin.factor
        return register

    def _is_settled(self, kind: Type) -> bool:
        if not isinstance(kind, CipherType) or (kind.degree, kind.basis, kind.secret_key) != (1, "Q", "main"):
            return False
        return kind.scale == self.chain.tracks[kind.level.track].scales[kind.level.index]

    def kind(self, type_: Type) -> Kind:
        """The plan's form of an IR type."""
        return KeyKind(self._key(type_.spec)) if isinstance(type_, KeyType) else kind_of(type_)

    def block(self, block: Block) -> int:
        """Emit a block; returns its number. Numbers are taken outermost first."""
        number = len(self.blocks)
        self.blocks.append(PlanBlock((), ()))
        arguments = tuple(self.define(arg) for arg in block.args)
        remaining = Counter(v for op in block.ops for v in _all_operands(op))
        own: set[Value] = set(block.args)
        code: list[Instruction] = []
        for op in block.ops:
            if op.name == "procedure.define":
                self.procedure(op)
                continue
            nested = Counter(_nested_reads(op))
            operands = []
            for value in op.operands:
                if isinstance(value.type, ProcedureType):
                    continue  # no register: its number is in the instruction
                remaining[value] -= 1  # what the op's own blocks read comes after its operands
                operands.append(RegisterOperand(self._values[value], remaining[value] == 0 and value in own))
            remaining.subtract(nested)
            if op.name == "loop.for" and op.attrs.get("static_trip") is not None:
                trip_count, constant = self.constant_trips(op)
                code.append(constant)
                operands.insert(0, RegisterOperand(trip_count, last_use=True))
            if "why" in op.attrs:
                self.reasons.append(CallReason(number, len(code), op.attrs["why"]))
            code.append(self.instruction(op, tuple(operands)))
            own.update(op.results)
        self.blocks[number] = PlanBlock(arguments, tuple(code))
        return number

    def procedure(self, op: Op) -> None:
        """Emit a block that is called; whatever calls it stands in a block that was begun before."""
        number = self._procedures[op.result] = self.block(op.regions[0].block)
        kind = op.attrs.get("bootstrap")
        if kind is not None:
            self.bootstraps.append(BootstrapBlock(number, kind.real, kind.iterations))

    def constant_trips(self, op: Op) -> tuple[int, Instruction]:
        """A register that holds the trip count known at compile time, and what sets it."""
        register = len(self.registers)
        self.registers.append(self._number("kind", IndexKind(), self.kinds))
        return register, Instruction(ICONST.name, self.location(op.loc), (), (register,), (op.attrs["static_trip"],))

    def instruction(self, op: Op, operands: tuple[RegisterOperand, ...]) -> Instruction:
        """Emit one operation."""
        name, immediate = self.opcode(op)
        results = tuple(self.define(v) for v in op.results)
        return Instruction(name, self.location(op.loc), operands, results, immediate)

    def opcode(self, op: Op) -> tuple[str, tuple[int, ...]]:
        """Opcode and immediates of an operation."""
        if op.name == "loop.for":
            static, at_most = op.attrs.get("static_trip"), op.attrs.get("at_most")
            limit = static if static is not None else at_most
            return FOR.name, (self.block(op.regions[0].block), MAX_TRIPS if limit is None else limit)
        if op.name == "loop.if":
            return IF.name, (self.block(op.regions[0].block), self.block(op.regions[1].block))
        if op.name == "procedure.call":
            return CALL.name, (self._procedures[op.operands[0]],)
        primitive = PRIMITIVES[op.name]
        instruction = primitive.read(op.name, op.attrs, [value.type for value in op.operands])
        immediate = instruction.immediate
        if instruction.constant is not None:
            immediate = (self._number("constant", instruction.constant, self.constants),)
        elif instruction.constants:
            immediate = tuple(self._number("constant", constant, self.constants) for constant in instruction.constants)
        elif instruction.key is not None:
            immediate = (self._key(instruction.key),)
        return primitive.record.name, immediate

    def _key(self, demand: KeySpec) -> int:
        return serving_key(demand, self.keys, self.chain.covers)


def emit_code(module: Module, chain: ModulusChain, keys: tuple[KeySpec, ...]) -> Code:
    """Registers, blocks and tables of an expanded module (static trips made explicit first)."""
    code = Code(chain, keys)
    code.block(module.body)
    return code


def _nested_reads(op: Op) -> list[Value]:
    return [v for region in op.regions for inner in region.block.ops for v in _all_operands(inner)]


def _all_operands(op: Op) -> list[Value]:
    return list(op.operands) + _nested_reads(op)
