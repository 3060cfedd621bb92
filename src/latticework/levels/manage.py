"""manage-levels: give every vector a level and an exact scale, and rescale where the waterline asks.

In:  vec IR (scheme-free) and the modulus chain.
Out: rlwe + ckks IR. Rescaling and relinearisation are lazy: a product stays at
its doubled scale and degree while it is only added to its like, and is settled
(relinearised, rescaled) before anything else reads it, on the lines of the
products. Settled values lie on
the ladder of canonical scales, and so do carried values, inputs and outputs.
Meaning kept: the same slot vectors, up to the rounding of constants.
Source: waterline rescaling as in EVA (PLDI'20); type matching of loops as in HALO (ASPLOS'25).
Cost: O(ops), times the copies of loops that spend levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from latticework.dialects.rlwe import CipherType, Level
from latticework.dialects.vec import VecType
from latticework.errors import ScaleError
from latticework.ir import INDEX, Block, Builder, Loc, Module, Op, Region, Value
from latticework.levels import unroll
from latticework.levels.depth import input_levels, is_free_factor, is_public, plan_loop, polynomial_depth
from latticework.packing.constants import ConstRef, splat
from latticework.params import ModulusChain
from latticework.techniques import ALL, Techniques

SCHEME = "ckks"
_SUMS = ("rlwe.add", "rlwe.sub", "rlwe.neg", "rlwe.sum", "rlwe.take", "rlwe.concat")
INTEGER_BITS = 62  # of the integers that the core multiplies by and adds
MAX_ADDENDS = 16


@dataclass(frozen=True)
class Public:
    """A public operand that is encoded where it is used: a gathered array of vectors, or one number."""

    value: ConstRef | float
    slots: int


Managed = Value | Public


def manage_levels(
    module: Module, chain: ModulusChain, techniques: Techniques = ALL, starts: Sequence[int] | None = None
) -> Module:
    """Rewrite a verified `vec` module for a chain of at least `program_depth(module, starts)` levels.

    techniques  whether products are relinearised and rescaled lazily
    starts      level of each input, counted down from the top; the lowest that do if not given
    """
    module = unroll.run(module)
    body = Block()
    result = Module(body, list(module.input_names), list(module.outputs), dict(module.sources))
    emitter = _Emitter(Builder(body), chain, techniques)
    env: dict[Value, Managed] = {}
    for arg, start in zip(module.body.args, input_levels(module) if starts is None else starts, strict=True):
        kind = INDEX if arg.type is INDEX else emitter.settled_type(_vectors(arg), chain.main.top + start)
        env[arg] = body.add_arg(kind, arg.origin)
    outputs = [emitter.encrypted(v, chain.main.top) for v in emitter.block(module.body, env)]
    labelled = [isinstance(v.owner, Op) and v.owner.name == "vec.label" for v in module.body.terminator.operands]
    settled = [v if is_read else emitter.settle(v) for v, is_read in zip(outputs, labelled, strict=True)]
    emitter.builder.create("loop.yield", settled)
    return result


def _vectors(value: Value) -> VecType:
    assert isinstance(value.type, VecType)
    return value.type


class _Emitter:
    """Emits managed code at a builder's insertion point."""

    def __init__(self, builder: Builder, chain: ModulusChain, techniques: Techniques) -> None:
        self.builder = builder
        self.chain = chain
        self.techniques = techniques
        self.scales = chain.main.scales

    def _in(self, block: Block, loc: Loc | None) -> _Emitter:
        return _Emitter(Builder(block, loc), self.chain, self.techniques)

    # -- blocks and loops ------------------------------------------------------------------

    def block(self, block: Block, env: dict[Value, Managed]) -> list[Managed]:
        """Emit a block's operations; returns what it yields."""
        for op in block.ops:
            if op.name == "loop.yield":
                return [env[v] for v in op.operands]
            self.builder.loc = op.loc
            for old, new in zip(op.results, self.op(op, env), strict=True):
                if isinstance(new, Value) and old.origin is not None:
                    new.origin = old.origin
                env[old] = new
        raise AssertionError("block without loop.yield")

    def op(self, op: Op, env: dict[Value, Managed]) -> list[Managed]:
        """Emit one operation."""
        if op.name == "loop.for":
            return self.loop(op, env)
        if op.name == "loop.if":
            return self.branch(op, env)
        if op.name.startswith("loop."):
            operands = [v for v in (env[v] for v in op.operands) if isinstance(v, Value)]
            return list(self.builder.create(op.name, operands, dict(op.attrs)).results)
        managed, top = [env[v] for v in op.operands], self.chain.main.top
        if not is_public(op) and not any(isinstance(v, Value) for v in managed):
            first = next(i for i, v in enumerate(op.operands) if v.is_secret)
            managed[first] = self.encrypted(managed[first], top)
        handlers: dict[str, Callable[..., Managed]] = {
            "vec.add": lambda a, b: self.add("add", a, b),
            "vec.sub": lambda a, b: self.add("sub", a, b),
            "vec.neg": lambda a: self.build("rlwe.neg", [a]),
            "vec.mul": self.mul,
            "vec.label": lambda a: self.label(a, op.attrs["factor"]),
            "vec.constant": lambda: Public(op.attrs["value"], op.attrs["value"].slots),
            "vec.splat": lambda: Public(op.attrs["value"], op.attrs["slots"]),
            "vec.trivial": lambda a: a,  # encrypted where a ciphertext is needed
            "vec.take": lambda a: self.build("rlwe.take", [self.encrypted(a, top)], vectors=op.attrs["vectors"]),
            "vec.concat": self.concat,
            "vec.sum": lambda a: self.build("rlwe.sum", [self.encrypted(a, top)], groups=op.attrs["groups"]),
            "vec.rotate": lambda a: self.build("rlwe.rotate", [self.settle(a)], steps=op.attrs["steps"]),
            "vec.conjugate": lambda a: self.build("rlwe.conjugate", [self.settle(a)]),
            "vec.linear_transform": lambda a: self.symbolic(
                "ckks.linear_transform", a, 1, map=op.attrs["map"], real=_is_real(op) or None
            ),
            "vec.polynomial": lambda a: self.symbolic(
                "ckks.polynomial",
                a,
                polynomial_depth(op.attrs["polynomial"].degree),
                polynomial=op.attrs["polynomial"],
            ),
        }
        return [handlers[op.name](*managed)]

    def loop(self, op: Op, env: dict[Value, Managed]) -> list[Managed]:
        """A loop that keeps its levels; others are copies already."""
        top = self.chain.main.top
        plan = plan_loop(op, {v: self._relative(m) for v, m in env.items()})
        assert plan.copies is None, "loops that spend levels are copies already"
        static_trip = op.attrs.get("static_trip")
        inits = op.operands if static_trip is not None else op.operands[1:]
        carried = [
            self.at_level(self.encrypted(env[v], top + level), top + level)
            for v, level in zip(inits, plan.carried, strict=True)
        ]
        head = Block()
        index = head.add_arg(INDEX, None)
        args = [head.add_arg(v.type, v.origin) for v in carried]
        inner = dict(env)
        inner.update(zip(op.regions[0].block.args, [index, *args], strict=True))
        emitter = self._in(head, op.loc)
        yielded = emitter.block(op.regions[0].block, inner)
        emitter.builder.create("loop.yield", [emitter.like(v, a.type) for v, a in zip(yielded, args, strict=True)])
        attrs = {k: op.attrs[k] for k in ("static_trip", "at_most") if op.attrs.get(k) is not None}
        trip = [] if static_trip is not None else [env[op.operands[0]]]
        operands = [v for v in trip if isinstance(v, Value)] + carried
        return list(self.builder.create("loop.for", operands, attrs, [Region(head)]).results)

    def branch(self, op: Op, env: dict[Value, Managed]) -> list[Managed]:
        """Both sides of a condition, dropped to the same levels."""
        top = self.chain.main.top
        condition = env[op.operands[0]]
        assert isinstance(condition, Value)
        carried = [self.settle(self.encrypted(env[v], top)) for v in op.operands[1:]]
        sides: list[tuple[_Emitter, list[Value]]] = []
        for region in op.regions:
            block = Block()
            args = [block.add_arg(v.type, v.origin) for v in carried]
            emitter = self._in(block, op.loc)
            yielded = emitter.block(region.block, {**env, **dict(zip(region.block.args, args, strict=True))})
            sides.append((emitter, [emitter.settle(emitter.encrypted(v, top)) for v in yielded]))
        levels = [min(_cipher(v).level.index for v in both) for both in zip(*(v for _, v in sides), strict=True)]
        for emitter, values in sides:
            emitter.builder.create("loop.yield", [emitter.at_level(v, n) for v, n in zip(values, levels, strict=True)])
        regions = [Region(emitter.builder.block) for emitter, _ in sides]
        return list(self.builder.create("loop.if", [condition, *carried], {}, regions).results)

    # -- arithmetic --------------------------------------------------------------------------

    def add(self, kind: str, a: Managed, b: Managed) -> Value:
        """Add or subtract; unsettled operands of one kind stay unsettled."""
        if isinstance(a, Public):
            assert isinstance(b, Value)
            if kind == "add":
                return self.add(kind, b, a)
            return self.add("add", self.build("rlwe.neg", [b]), a)
        if isinstance(b, Public):
            return self._add_public(kind, a, b)
        ta, tb = _cipher(a), _cipher(b)
        if (ta.level, ta.scale) != (tb.level, tb.scale):
            a, b = self.settle(a), self.settle(b)
            level = min(_cipher(a).level.index, _cipher(b).level.index)
            a, b = self.at_level(a, level), self.at_level(b, level)
        return self.build(f"rlwe.{kind}", [a, b])

    def concat(self, *arrays: Managed) -> Value:
        """Join arrays; unsettled ones of one kind stay unsettled."""
        top = self.chain.main.top
        places = {(t.level, t.scale, t.degree) for t in (_cipher(a) for a in arrays if isinstance(a, Value))}
        if len(places) == 1 and all(isinstance(a, Value) for a in arrays):
            return self.build("rlwe.concat", list(arrays))
        settled = [self.settle(a) if isinstance(a, Value) else a for a in arrays]
        level = min((_cipher(a).level.index for a in settled if isinstance(a, Value)), default=top)
        return self.build("rlwe.concat", [self.at_level(self.encrypted(a, level), level) for a in settled])

    def _add_public(self, kind: str, a: Value, b: Public) -> Value:
        a = self.settle(a)
        if isinstance(b.value, ConstRef):
            return self.build(f"rlwe.{kind}_plain", [a, self.encode(b, _cipher(a).level.index, _cipher(a).scale)])
        sign = 1 if kind == "add" else -1
        for addend in split_integer(sign * round(b.value * _cipher(a).scale), self.builder.loc):
            a = self.build("rlwe.add_int", [a], addend=addend)
        return a

    def mul(self, a: Managed, b: Managed) -> Value:
        """Multiply; the product is left unsettled, as far as that is wanted."""
        product = self._product(a, b)
        if not self.techniques.lazy_relinearization and _cipher(product).degree > 1:
            product = self.build("rlwe.relinearize", [product])
        kind = _cipher(product)
        if not self.techniques.lazy_rescaling and kind.scale != self.scales[kind.level.index]:
            product = self.build("rlwe.rescale", [product], scale=self.scales[kind.level.index - 1])
        return product

    def _product(self, a: Managed, b: Managed) -> Value:
        if isinstance(a, Public):
            a, b = b, a
        assert isinstance(a, Value)
        if isinstance(b, Public):
            return self._mul_public(a, b)
        if a is b:
            return self.build("ckks.square", [self.settle(a)])
        a, b = self.settle(a), self.settle(b)
        level = min(_cipher(a).level.index, _cipher(b).level.index)
        return self.build("ckks.mul", [self.at_level(a, level), self.at_level(b, level)])

    def _mul_public(self, a: Value, b: Public) -> Value:
        if isinstance(b.value, float | int) and is_free_factor(b.value):
            return self.build("rlwe.mul_int", [a], factor=int(b.value), scale=_cipher(a).scale, exact=True)
        a = self.settle(a)
        kind = _cipher(a)
        if isinstance(b.value, ConstRef):
            return self.build("rlwe.mul_plain", [a, self.encode(b, kind.level.index, kind.scale)])
        first = 1 << max(round(abs(b.value) * kind.scale).bit_length() - INTEGER_BITS, 0)
        if first > 1:  # the exact factor 2^k first, so that the rest fits in the core's integers
            a = self.build("rlwe.mul_int", [a], factor=first, scale=kind.scale, exact=True)
        factor = round(b.value / first * kind.scale)
        return self.build("rlwe.mul_int", [a], factor=factor, scale=float(kind.scale * kind.scale))

    def label(self, a: Managed, factor: float) -> Value:
        """A value that is read by another scale."""
        a = self.settle(a)
        sign = 1 if factor > 0 else -1
        return self.build("rlwe.mul_int", [a], factor=sign, scale=_cipher(a).scale / abs(factor), exact=True)

    def symbolic(self, name: str, a: Managed, depth: int, **attrs: Any) -> Value:
        """An operation that is expanded later and ends settled, `depth` levels down."""
        assert isinstance(a, Value)
        a = self.settle(a)
        index = _cipher(a).level.index - depth
        return self.build(name, [a], level=Level(0, index), scale=self.scales[index], **attrs)

    # -- levels and scales -------------------------------------------------------------------

    def settle(self, value: Managed) -> Value:
        """Relinearise and rescale what is pending, so that the value lies on the ladder."""
        assert isinstance(value, Value)
        kind, origin = _cipher(value), value.origin
        is_settled = kind.degree == 1 and kind.scale == self.scales[kind.level.index]
        if is_settled:
            return value
        reader, self.builder.loc = self.builder.loc, products_of(value)
        if kind.degree > 1:
            value = self.build("rlwe.relinearize", [value])
        if kind.scale != self.scales[kind.level.index]:
            value = self.build("rlwe.rescale", [value], scale=self.scales[kind.level.index - 1])
        value.origin = origin
        self.builder.loc = reader
        return value

    def at_level(self, value: Value, level: int) -> Value:
        """Bring a value down to a level, exactly onto its canonical scale."""
        value = self.settle(value)
        kind = _cipher(value)
        if kind.level.index == level:
            return value
        if kind.level.index > level + 1:
            value = self.build("rlwe.drop_level", [value], level=Level(0, level + 1))
        product = self.scales[level] * self.chain.group_product(level + 1)
        factor = round(product / kind.scale)
        value = self.build("rlwe.mul_int", [value], factor=factor, scale=product)
        return self.build("rlwe.rescale", [value], scale=self.scales[level])

    def like(self, value: Managed, kind: Any) -> Value:
        """A value as the given settled type."""
        return self.at_level(self.encrypted(value, kind.level.index), kind.level.index)

    def encrypted(self, value: Managed, level: int) -> Value:
        """A public value as a trivial ciphertext; others unchanged."""
        if isinstance(value, Value):
            return value
        return self.build("rlwe.trivial", [self.encode(value, level, self.scales[level])])

    def encode(self, public: Public, level: int, scale: float) -> Value:
        """A public operand at the level and scale of use."""
        value = public.value if isinstance(public.value, ConstRef) else splat(public.value, public.slots)
        return self.build(
            "rlwe.encode", [], value=value, slots=public.slots, level=Level(0, level), scale=scale, basis="Q"
        )

    def settled_type(self, of: VecType, level: int) -> CipherType:
        """The type of settled ciphertexts of vectors like these at a level."""
        return CipherType(SCHEME, of.count, of.slots, Level(0, level), self.scales[level], 1, "Q", "main")

    def build(self, name: str, operands: list[Any], **attrs: Any) -> Value:
        """Create an operation with one result."""
        return self.builder.build(name, operands, **attrs)

    def _relative(self, value: Managed) -> int | None:
        """Settled level counted down from the top; None for public values and indices."""
        if isinstance(value, Public) or not isinstance(value.type, CipherType):
            return None
        kind = value.type
        pending = kind.scale != self.scales[kind.level.index]
        return kind.level.index - self.chain.main.top - (1 if pending else 0)


def _is_real(op: Op) -> bool:
    """Whether a linear map, and what it is applied to, are real."""
    type_ = op.operands[0].type
    return isinstance(type_, VecType) and type_.elem == "real" and bool(op.attrs["map"].is_real)


def products_of(value: Value) -> Loc | None:
    """The lines of the products that a value not yet settled is the sum of: they are what it is settled for."""
    found: dict[Loc, float] = {}
    seen, waiting = {value}, [value]
    while waiting:
        op = waiting.pop().owner
        if not isinstance(op, Op):
            continue
        if op.name in _SUMS:
            waiting += [v for v in op.operands if v not in seen]
            seen.update(op.operands)
        else:
            found[op.loc] = found.get(op.loc, 0.0) + 1.0
    at = value.owner.loc if isinstance(value.owner, Op) else None
    return at and Loc.fused(found.items(), at)


def split_integer(number: int, loc: Loc | None) -> list[int]:
    """Integers of the core's size that add up to a number.

    raises  ScaleError where it takes more than 16 of them
    """
    largest = (1 << INTEGER_BITS) - 1
    count = max(-(-abs(number) // largest), 1)
    if count > MAX_ADDENDS:
        raise ScaleError(
            f"a number to be added becomes the integer {number:.3g}, more than {MAX_ADDENDS} * 2^{INTEGER_BITS} at its "
            "scale; scale the values down, or lower precision_bits",
            at=loc,
        )
    share, rest = divmod(number, count)
    return [share + (i < rest) for i in range(count)]


def _cipher(value: Value) -> CipherType:
    assert isinstance(value.type, CipherType), value.type
    return value.type
