"""write: the module of ciphertexts that a level plan describes, on a chain that is long enough.

In: a `LevelPlan` and a modulus chain. Out: rlwe + ckks (or bfv) IR, the same slot vectors up to the rounding of
constants. Nothing is decided here: a step becomes the operations that it stands for, and an operation what its plan
names. The chain gives levels their exact scales, and these the integers that numbers become (`numbers`). What was
written is then read back and compared with the plan (`check`).
Cost: O(ops).
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

from latticework.compiler.levels.bootstrap_calls import times_i_power, write_bootstrap
from latticework.compiler.levels.depth import carried_operands, public_row, public_value
from latticework.compiler.levels.encode_numbers import INTEGER_BITS, NumberEncoder, NumbersBfv, NumbersCkks
from latticework.compiler.levels.level_plan import (
    LADDER,
    CipherState,
    Drop,
    Encode,
    Encrypt,
    LevelPlan,
    Negate,
    NumberOp,
    OpPlan,
    Settle,
    Step,
)
from latticework.compiler.levels.verify_levels import check_levels
from latticework.errors import LevelError
from latticework.ir import INDEX, Block, Builder, Loc, Module, Op, Region, Value
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.ir.dialects.vec_dialect import VecType
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.packed_constants import ConstRef, splat

_SUMS = ("rlwe.add", "rlwe.sub", "rlwe.neg", "rlwe.sum", "rlwe.take", "rlwe.concat")
ENCODED_BITS = 44  # of the scale of a public addend
_PLACED = ("ckks.linear_transform", "ckks.polynomial")  # expanded later, to where their attributes say


def write_levels(plan: LevelPlan, chain: ModulusChain) -> Module:
    """The module of a plan on a chain of at least `plan.depth` levels above its floor.

    raises  LevelError for a chain that is not what the plan is for; ScaleError for a number that is too large for its
            scale; under BFV DtypeError for constants that are no integers, RangeError for ones that float64 does not
            hold exactly; all at the user's line
    """
    above = chain.main.top - chain.floor
    if above < plan.depth or plan.residual not in (None, above):
        needs = f"{plan.depth} levels" if plan.residual is None else f"bootstraps that leave {plan.residual} levels"
        raise LevelError(f"levels: the program is planned for {needs}; the chain has {above} above its floor")
    numbers = NumbersCkks(chain) if plan.scheme == "ckks" else NumbersBfv(chain, plan.module.sources)
    return _Writer(plan, chain, numbers).module()


class _Writer:
    """Writes at a builder's insertion point.

    written  what stands for every value of the plan's module; None for public vectors, which stand where they are used
    reads    what every operation with steps before it reads after them
    """

    def __init__(self, plan: LevelPlan, chain: ModulusChain, numbers: NumberEncoder) -> None:
        self.plan = plan
        self.chain = chain
        self.numbers = numbers
        self.top = chain.main.top
        self.scales = chain.main.scales
        self.written: dict[Value, Value | None] = {}
        self.reads: dict[Op, list[Value | None]] = {}
        self.lowered: dict[tuple[Value, int], Value] = {}  # BFV: straight-line code
        self.builder = Builder(Block())

    def module(self) -> Module:
        """The module of ciphertexts."""
        planned, body = self.plan.module, self.builder.block
        for value in planned.body.args:
            state = self.plan.states[value]
            self.written[value] = body.add_arg(INDEX if state is None else self.type_of(value, state), value.origin)
        self.block(planned.body)
        check_levels(self.plan, self.chain, self.written, self.reads)
        return Module(body, list(planned.input_names), list(planned.outputs), dict(planned.sources))

    def type_of(self, value: Value, state: CipherState) -> CipherType:
        """The type of ciphertexts of vectors like these."""
        kind, level = value.type, self.top + state.level
        assert isinstance(kind, VecType)
        scale = state.scale.on(self.scales[level])
        return CipherType(self.plan.scheme, kind.count, kind.slots, Level(0, level), scale, state.degree)

    # -- operations ------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """All operations of a block."""
        for op in block.ops[:-1]:
            self.builder.loc = op.loc
            self.op(op, self.plan.ops[op])
        end = block.terminator
        if self.numbers.books_ends:
            self.builder.loc = end.loc
        self.builder.create("loop.yield", self.operands(end, self.plan.ops[end]))

    def op(self, op: Op, planned: OpPlan) -> None:
        """One operation."""
        if not planned.writes:
            self.written[op.result] = None
            return
        operands = self.operands(op, planned)
        if op.regions:
            results = self.nest(op, planned, operands)
        elif op.name == "vec.bootstrap":
            results = write_bootstrap(self.builder, self.chain, op, operands)
        elif op.name == "vec.times_i":
            results = [times_i_power(self.builder, self.chain, operands[0], 1)]
        elif op.name == "vec.twice_real":
            conjugate = self.builder.build("rlwe.conjugate", operands)
            results = [self.builder.build("rlwe.add", [operands[0], conjugate])]
        elif isinstance(planned.writes, NumberOp):
            results = [self.numbers.meet(self.builder, planned.writes, operands[0], _number(op, planned))]
        else:
            if "map" in op.attrs:
                self.numbers.check_map(op.attrs["map"], op.loc)
            results = self.builder.create(planned.writes, operands, self.attributes(op, planned)).results
        if planned.after is not None:
            results = [self.settle(value, planned.after) for value in results]
        for old, new in zip(op.results, results, strict=True):
            self.written[old] = new
            if old.origin is not None:
                new.origin = old.origin

    def operands(self, op: Op, planned: OpPlan) -> list[Any]:
        """The values that an operation reads, after the steps before it."""
        written = [self.written[v] for v in op.operands]
        for number, step in planned.before:
            written[number] = self.step(op.operands[number], written[number], step)
        if planned.before:
            self.reads[op] = written
        return [written[number] for number in planned.reads]

    def attributes(self, op: Op, planned: OpPlan) -> dict[str, Any]:
        """Its own; where it ends is new."""
        if planned.writes not in _PLACED:
            return op.attrs
        state = self.plan.states[op.result]
        assert state is not None
        kind = self.type_of(op.result, state)
        real = {"real": _is_real(op) or None} if "map" in op.attrs else {}
        return {"level": kind.level, "scale": kind.scale, **op.attrs, **real}

    def nest(self, op: Op, planned: OpPlan, operands: list[Value]) -> list[Value]:
        """A loop, or a condition, with what is nested in it."""
        carried = operands[len(operands) - len(carried_operands(op)) :]
        outer, regions = self.builder, []
        for region in op.regions:
            self.builder = Builder(Block(), op.loc)
            indices = [(INDEX, None)] * (len(region.block.args) - len(carried))
            for old, (kind, origin) in zip(
                region.block.args, [*indices, *((v.type, v.origin) for v in carried)], strict=True
            ):
                self.written[old] = self.builder.block.add_arg(kind, origin)
            self.block(region.block)
            regions.append(Region(self.builder.block))
        self.builder = outer
        attrs = {key: value for key, value in op.attrs.items() if value is not None}
        return self.builder.create(planned.writes, operands, attrs, regions).results

    # -- steps -------------------------------------------------------------------------------------

    def step(self, of: Value, value: Any, step: Step) -> Value:
        """Write a step on a value as it stands by now; returns the new value."""
        match step:
            case Settle():
                return self.settle(value, step)
            case Drop(level):
                return self.drop(value, self.top + level)
            case Encode(level, scale, addend):
                at = self.top + level
                return self.encode(of, at, scale.on(self.scales[at]), addend=addend)
            case Encrypt(level, scale) if scale != LADDER:
                return self.encrypt_at(of, self.top + level, scale.on(self.scales[self.top + level]))
            case Encrypt(level):
                at = self.top + level
                if public_row(of) is None:
                    return self.numbers.encrypt(self.builder, _array(of), at)
                return self.builder.build("rlwe.trivial", [self.encode(of, at, self.scales[at], addend=True)])
            case Negate():
                return self.builder.build("rlwe.neg", [value])

    def encode(self, of: Value, level: int, scale: float, *, addend: bool) -> Value:
        """A public vector as a plaintext; of a table, the row that an index names."""
        array, row = _array(of), public_row(of)
        if row is None:
            return self.numbers.encode(self.builder, array, level, scale, addend=addend)
        index = self.written[row.operands[0]]
        assert index is not None, "indices are written"
        return self.builder.build(
            "rlwe.encode_at", [index], value=array, rows=row.attrs["rows"], level=Level(0, level), scale=scale
        )

    def encrypt_at(self, of: Value, level: int, scale: float) -> Value:
        """A trivial ciphertext at any scale: beyond what encoders round at, a multiple of one at a smaller scale."""
        left = max(0, ceil(log2(scale)) - ENCODED_BITS)
        value = self.builder.build("rlwe.trivial", [self.encode(of, level, scale / 2.0**left, addend=True)])
        while left:  # by integers of the core's size
            bits = min(left, INTEGER_BITS - 1)
            left -= bits
            value = self.builder.build("rlwe.mul_int", [value], factor=1 << bits, scale=scale / 2.0**left, exact=True)
        return value

    def settle(self, value: Value, step: Settle) -> Value:
        """Relinearise and rescale what is pending."""
        reader, origin = self.builder.loc, value.origin
        if step.summed:
            self.builder.loc = products_of(value)
        if step.relinearize:
            value = self.builder.build("rlwe.relinearize", [value])
        if step.rescale:
            value = self.builder.build("rlwe.rescale", [value], scale=self.scales[_cipher(value).level.index - 1])
        self.builder.loc, value.origin = reader, origin
        return value

    def drop(self, value: Value, level: int) -> Value:
        """A product with an integer, whose rescale ends exactly on the ladder; under BFV a division, once for all."""
        kind = _cipher(value)
        if self.plan.scheme == "bfv":
            if (value, level) not in self.lowered:
                self.lowered[value, level] = self.builder.build(
                    "rlwe.mod_down", [value], level=Level(0, level), scale=1.0
                )
            return self.lowered[value, level]
        if kind.level.index > level + 1:
            value = self.builder.build("rlwe.drop_level", [value], level=Level(0, level + 1))
        product = self.scales[level] * self.chain.group_product(level + 1)
        value = self.builder.build("rlwe.mul_int", [value], factor=round(product / kind.scale), scale=product)
        return self.builder.build("rlwe.rescale", [value], scale=self.scales[level])


def products_of(value: Value) -> Loc | None:
    """The lines of the products that a value not yet settled is the sum of: they are what it is settled for."""
    lines: dict[Loc, float] = {}
    seen, waiting = {value}, [value]
    while waiting:
        op = waiting.pop().owner
        if not isinstance(op, Op):
            continue
        if op.name in _SUMS:
            waiting += [v for v in op.operands if v not in seen]
            seen.update(op.operands)
        else:
            lines[op.loc] = lines.get(op.loc, 0.0) + 1.0
    at = value.owner.loc if isinstance(value.owner, Op) else None
    return at and Loc.fuse(lines.items(), at)


def _array(value: Value) -> ConstRef:
    """A public vector as a constant."""
    known, kind = public_value(value), value.type
    assert known is not None and isinstance(kind, VecType)
    return known if isinstance(known, ConstRef) else splat(known, kind.slots)


def _number(op: Op, planned: OpPlan) -> float:
    """The number that a ciphertext meets."""
    number = op.attrs["factor"] if planned.writes is NumberOp.LABEL else public_value(op.operands[planned.reads[1]])
    assert isinstance(number, float | int), number
    return number


def _is_real(op: Op) -> bool:
    """Whether a linear map, and what it is applied to, are real."""
    kind = op.operands[0].type
    return isinstance(kind, VecType) and kind.elem == "real" and bool(op.attrs["map"].is_real)


def _cipher(value: Value) -> CipherType:
    assert isinstance(value.type, CipherType), value.type
    return value.type
