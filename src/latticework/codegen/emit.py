"""emit: from expanded IR to a Plan. The only module of `plan` that knows the IR."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from latticework.dialects.bfv import AddendType
from latticework.dialects.key import KeyType
from latticework.dialects.rlwe import CipherType, DigitsType, PlainType
from latticework.instructions.code import Instruction, PlanBlock, RegisterOperand
from latticework.instructions.kinds import AddendKind, CipherKind, DigitsKind, IndexKind, KeyKind, Kind, PlainKind
from latticework.ir import INDEX, Block, Loc, Module, Op, Type, Value
from latticework.packing.constants import ConstRef, MapSums
from latticework.packing.keys import KeySpec, serving_key
from latticework.params import ModulusChain
from latticework.plan.schema import SourceLocation

_INDEX_OPS = {"loop.index_add": "iadd", "loop.index_sub": "isub", "loop.index_mul": "imul", "loop.index_min": "imin",
              "loop.index_less": "ilt"}  # fmt: skip
_BASIS = {"Q": 0, "QP": 1}
_SECRET = {"main": 0, "sparse": 1}
UNBOUNDED_TRIPS = 1 << 31  # the core's decoder allows no more


@dataclass
class Code:
    """The executable part of a plan, being emitted."""

    chain: ModulusChain
    keys: tuple[KeySpec, ...]
    kinds: list[Kind] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)
    blocks: list[PlanBlock] = field(default_factory=list)
    constants: list[ConstRef | MapSums] = field(default_factory=list)
    locations: list[SourceLocation] = field(default_factory=list)
    watch: dict[int, int] = field(default_factory=dict)
    factors: dict[int, float] = field(default_factory=dict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _values: dict[Value, int] = field(default_factory=dict)

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
        if origin is not None and origin.position is not None and self._settled(value.type):
            self.watch[register] = origin.position[0]
            if origin.factor != 1.0:
                self.factors[register] = origin.factor
        return register

    def _settled(self, kind: Type) -> bool:
        if not isinstance(kind, CipherType) or (kind.degree, kind.basis, kind.secret_key) != (1, "Q", "main"):
            return False
        return kind.scale == self.chain.tracks[kind.level.track].scales[kind.level.index]

    def kind(self, kind: Type) -> Kind:
        """The plan's form of an IR type."""
        if kind is INDEX:
            return IndexKind()
        if isinstance(kind, CipherType):
            return CipherKind(
                kind.slots,
                kind.level.track,
                kind.level.index,
                kind.scale,
                kind.degree,
                _BASIS[kind.basis],
                _SECRET[kind.secret_key],
                kind.count,
            )
        if isinstance(kind, DigitsType):
            of = kind.of
            return DigitsKind(of.slots, of.level.track, of.level.index, of.scale, of.degree, of.count)
        if isinstance(kind, PlainType | AddendType):
            place = kind.level.track, kind.level.index
            encoded = PlainKind if isinstance(kind, PlainType) else AddendKind
            return encoded(kind.slots, *place, kind.scale, _BASIS[kind.basis], kind.count)
        assert isinstance(kind, KeyType), kind
        return KeyKind(serving_key(kind.spec, self.keys, self.chain.covers))

    def block(self, block: Block) -> int:
        """Emit a block; returns its number. Numbers are taken outermost first."""
        number = len(self.blocks)
        self.blocks.append(PlanBlock((), ()))
        arguments = tuple(self.define(arg) for arg in block.args)
        remaining = Counter(v for op in block.ops for v in _all_operands(op))
        own: set[Value] = set(block.args)
        code: list[Instruction] = []
        for op in block.ops:
            nested = Counter(_nested_reads(op))
            operands = []
            for value in op.operands:
                remaining[value] -= 1  # what the op's own blocks read comes after its operands
                operands.append(RegisterOperand(self._values[value], remaining[value] == 0 and value in own))
            remaining.subtract(nested)
            if op.name == "loop.for" and op.attrs.get("static_trip") is not None:
                trips, constant = self.constant_trips(op)
                code.append(constant)
                operands.insert(0, RegisterOperand(trips, last_use=True))
            code.append(self.instruction(op, tuple(operands)))
            own.update(op.results)
        self.blocks[number] = PlanBlock(arguments, tuple(code))
        return number

    def constant_trips(self, op: Op) -> tuple[int, Instruction]:
        """A register that holds the trip count known at compile time, and what sets it."""
        register = len(self.registers)
        self.registers.append(self._number("kind", IndexKind(), self.kinds))
        return register, Instruction("iconst", self.location(op.loc), (), (register,), (op.attrs["static_trip"],))

    def instruction(self, op: Op, operands: tuple[RegisterOperand, ...]) -> Instruction:
        """Emit one operation."""
        name, immediate = self.opcode(op)
        results = tuple(self.define(v) for v in op.results)
        return Instruction(name, self.location(op.loc), operands, results, immediate)

    def opcode(self, op: Op) -> tuple[str, tuple[int, ...]]:
        """Opcode and immediates of an operation."""
        attrs = op.attrs
        match op.name:
            case "loop.for":
                static, at_most = attrs.get("static_trip"), attrs.get("at_most")
                limit = static if static is not None else at_most
                return "for", (self.block(op.regions[0].block), UNBOUNDED_TRIPS if limit is None else limit)
            case "loop.if":
                return "if", (self.block(op.regions[0].block), self.block(op.regions[1].block))
            case "loop.yield":
                return "yield", ()
            case "loop.index_constant":
                return "iconst", (attrs["value"],)
            case name if name in _INDEX_OPS:
                return _INDEX_OPS[name], ()
            case "rlwe.encode" | "bfv.encode":
                return "encode", (self._number("constant", attrs["value"], self.constants),)
            case "key.demand":
                return "key", (serving_key(attrs["spec"], self.keys, self.chain.covers),)
            case "rlwe.mul_int":
                return "mul_int", (attrs["factor"],)
            case "rlwe.add_int":
                return "add_int", (attrs["addend"],)
            case "rlwe.mul_monomial":
                return "mul_monomial", (attrs["exponent"],)
            case "ckks.mod_raise":
                return "mod_raise", (attrs["factor"],)
            case "rlwe.map_sums":
                return "map_sums", (self._number("constant", attrs["sums"], self.constants),)
            case "rlwe.take":
                return "take", attrs["vectors"]
            case "rlwe.sum":
                return "sum", (attrs["groups"],)
            case "ckks.dot" | "bfv.dot" | "rlwe.dot_plain":
                return "dot", (attrs["groups"],)
            case "rlwe.diag_sums":
                terms = attrs["terms"]
                pairs = (number for term in terms for number in term)
                return "diag_sums", (len(op.operands) - 1 - len(terms), attrs["giants"], *pairs)
            case name:
                return name.split(".", 1)[1], ()


def emit_code(module: Module, chain: ModulusChain, keys: tuple[KeySpec, ...]) -> Code:
    """Registers, blocks and tables of an expanded module (static trips made explicit first)."""
    code = Code(chain, keys)
    code.block(module.body)
    return code


def _nested_reads(op: Op) -> list[Value]:
    return [v for region in op.regions for inner in region.block.ops for v in _all_operands(inner)]


def _all_operands(op: Op) -> list[Value]:
    return list(op.operands) + _nested_reads(op)
