"""place-constants: public factors go where they take no level.

In/out: vec IR, loops that spend levels already copies, or to be kept by bootstraps; same cleartext meaning.
Every value is kept as a number times a vector, c * v. Products multiply the
numbers, sums of one number keep it, and public addends are divided by it. Where a
number is wanted as part of the vector (sums of others, arguments of polynomials)
it goes into a linear map, a public operand or a polynomial before it, or into an
operand of a product that has a level to spare; a level is spent where there is
nothing of the kind. An output's number is what its scale is read by.
A number below 1 leaves the vector larger than the value, which costs room in the
lowest level; one above 1 leaves it smaller, which costs precision: both are kept
within bounds. Cost: O(ops), as each factor looks at so many operations at most.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from math import inf

from latticework.compiler.levels.depth import Levels, carried_operands
from latticework.compiler.levels.factors import Emitter, FactorStrategy, Scaling, scaled_origin
from latticework.ir import Block, Module, Op, Pass, Region, Value
from latticework.ir.builder import copy_region
from latticework.ir.core import walk_block
from latticework.lazy_dataclass import dataclass
from latticework.values.packing.packed_constants import ConstRef

WRITTEN = ("vec.constant", "vec.label", "vec.linear_transform", "vec.polynomial", "vec.splat")
LEAST, MOST = 2.0**-12, 4.0  # numbers between these wait
LEAST_IN_LOOPS = 2.0**-3  # where values may be bootstrapped: noise that is added is as large whatever the vector
MOST_LABEL = 2.0**20  # an output's number, or one over it
SMALL = 2.0**-10  # outputs whose magnitude is less are scaled up
ODD = 1.0 - 2.0**-30  # a factor by which no other is a whole number, which would scale noise up too


def factor_pass(
    sizes: Sequence[float] = (),
    *,
    in_loops: bool = False,
    whole: Collection[int] = (),
    most: float = inf,
    fill: bool = False,
) -> Pass[object]:
    """The pass.

    sizes     largest magnitude of every output, if known: small ones are made about 1 before they are read by a scale
    in_loops  in their bodies too, which are left as they are where loops keep their levels: what they carry is whole at
              the ends of an iteration
    whole     numbers of outputs that are to have no scale of their own
    most      largest magnitude that vectors of outputs may have: larger ones are made smaller before they are read
    fill      whether smaller ones are made as large as that, too: noise is a smaller part of them
    """
    return Pass(
        "place-constants",
        lambda module, _cost: _place_factors(module, sizes, whole, most, in_loops=in_loops, fill=fill),
        reads=("vec", "loop"), writes=WRITTEN,
    )  # fmt: skip


def _place_factors(
    module: Module, sizes: Sequence[float], whole: Collection[int], most: float, *, in_loops: bool, fill: bool
) -> Module:
    """The module with its public factors where they spend the fewest levels."""
    body = Block()
    placer = _FactorPlacer(Scaling(Levels(once=in_loops)), LEAST_IN_LOOPS if in_loops else LEAST, most, fill)
    emitter = placer.scaling.emitter(body)
    for value in module.inputs:
        new = body.add_arg(value.type, value.origin)
        placer.scaling.levels.of[new] = 0
        placer.note(value, 1.0, new)
    placer.block(module.body, emitter)
    terminator = module.body.terminator
    emitter.builder.loc = terminator.loc
    known = sizes or [1.0] * len(terminator.operands)
    outputs = [
        placer.whole(v, emitter) if number in whole else placer.output(v, emitter, size)
        for number, (v, size) in enumerate(zip(terminator.operands, known, strict=True))
    ]
    emitter.builder.create("loop.yield", outputs)
    return module.empty_like(body)


@dataclass
class _FactorPlacer:
    """Old values as (number, new value); public operands; how new values take factors in.

    least  number that waits
    most   magnitude of an output's vector;  fill  whether it is to be that large
    """

    scaling: Scaling
    least: float
    most: float
    fill: bool
    values: dict[Value, tuple[float, Value]] = field(default_factory=dict)
    public: dict[Value, float | ConstRef] = field(default_factory=dict)

    def note(self, old: Value, number: float, new: Value) -> None:
        """An old value is a number times a new one."""
        self.values[old] = number, new
        self.scaling.expect(new, len(old.uses))
        if new.origin is None:
            new.origin = scaled_origin(old.origin, number)

    def block(self, block: Block, emitter: Emitter) -> None:
        """Emit a block's operations but the last."""
        for op in block.ops[:-1]:
            emitter.builder.loc = op.loc
            for value in op.operands:
                if value in self.values:
                    self.scaling.count_reader(self.values[value][1])
            self.op(op, emitter)
        for value in block.terminator.operands:
            if value in self.values:
                self.scaling.count_reader(self.values[value][1])

    def op(self, op: Op, emitter: Emitter) -> None:
        """Emit one operation."""
        known = _number_or_constant(op, self.public)
        if known is not None:
            self.public[op.result] = known
        if known is not None and op.name != "vec.trivial":
            new = emitter.public(known, op.result.type.slots)  # type: ignore[attr-defined]
            self.note(op.result, 1.0, emitter.trivial(new) if op.result.is_secret else new)
            return
        handler: Callable[[Op, Emitter], bool] | None = getattr(self, _HANDLERS.get(op.name, "-"), None)
        if handler is None or not handler(op, emitter):
            self.absorb_all(op, emitter)

    # -- operations ------------------------------------------------------------------------

    def product(self, op: Op, emitter: Emitter) -> bool:
        """Numbers multiply, and so do vectors."""
        for side in (0, 1):
            known, other = self.public.get(op.operands[side]), op.operands[1 - side]
            if known is None or not other.is_secret:
                continue
            number, new = self.values[other]
            if isinstance(known, ConstRef):
                scaled = emitter.build("vec.mul", [new, emitter.public(known.times(number), known.slots)])
                self.note(op.result, 1.0, scaled)
                return True
            if known == 0.0:
                return False
            self.waiting(op, number * known, new, emitter)
            return True
        if not all(v.is_secret for v in op.operands):
            return False
        (a, x), (b, y) = (self.bound_number(v, emitter) for v in op.operands)
        self.waiting(op, a * b, emitter.build("vec.mul", [x, y]), emitter)
        return True

    def total(self, op: Op, emitter: Emitter) -> bool:
        """Terms of one number; a public term is divided by it."""
        known = [self.public.get(v) for v in op.operands]
        if known.count(None) == 2:
            self.common(op, emitter)
            return True
        if known.count(None) == 0 or all(not v.is_secret for v in op.operands):
            return False
        side = 0 if known[0] is None else 1
        number, new = self.values[op.operands[side]]
        if number != 1.0:
            strategy = self.scaling.strategy_for(new, number, emitter)
            if strategy.level >= self.scaling.level(new) and strategy.products <= 1:
                number, new = 1.0, strategy.make()
        term = _divide(known[1 - side], number)
        terms = [new, emitter.public(term, op.result.type.slots)]  # type: ignore[attr-defined]
        self.note(op.result, number, emitter.build(op.name, terms if side == 0 else terms[::-1]))
        return True

    def common(self, op: Op, emitter: Emitter) -> None:
        """The sum of two secrets, of the number that leaves it highest."""
        (a, x), (b, y) = (self.bound_number(v, emitter) for v in op.operands)
        if a == b:
            self.note(op.result, a, emitter.build(op.name, [x, y]))
            return
        both = a + b if op.name == "vec.add" else a - b
        if x is y and both != 0.0:
            self.waiting(op, both, x, emitter)
            return
        tried: list[tuple[int, int, int, float, list[FactorStrategy]]] = []
        for number in dict.fromkeys((1.0, a, b)):
            if not all(self.least <= abs(own / number) <= 1 / self.least for own in (a, b)) and number != 1.0:
                continue
            strategies = [self.scaling.strategy_for(v, own / number, emitter) for own, v in ((a, x), (b, y))]
            tried.append(
                (-min(w.level for w in strategies), sum(w.products for w in strategies), len(tried), number, strategies)
            )
        *_, number, strategies = min(tried, key=lambda t: t[:3])
        self.waiting(op, number, emitter.build(op.name, [strategy.make() for strategy in strategies]), emitter)

    def keep_outside(self, op: Op, emitter: Emitter) -> bool:
        """Leave the number outside of an operation that acts on every slot alike."""
        if not op.operands[0].is_secret:
            return False
        number, new = self.values[op.operands[0]]
        self.note(op.result, number, emitter.create(op.spec, [new], op.attrs).result)
        return True

    def concat(self, op: Op, emitter: Emitter) -> bool:
        """Arrays of one number."""
        numbers = {self.values[v][0] for v in op.operands}
        if len(numbers) > 1 or not all(v.is_secret for v in op.operands):
            return False
        new = emitter.create(op.spec, [self.values[v][1] for v in op.operands], op.attrs).result
        self.note(op.result, numbers.pop(), new)
        return True

    def fold_into_map(self, op: Op, emitter: Emitter) -> bool:
        """A linear map takes the number in."""
        number, new = self.values[op.operands[0]]
        transformed = emitter.build(
            op.name, [new], map=op.attrs["map"].scale_by(number) if number != 1.0 else op.attrs["map"]
        )
        self.note(op.result, 1.0, transformed)
        return True

    def absorb_all(self, op: Op, emitter: Emitter) -> None:
        """Any operation on the values themselves, with what is nested in it; loops keep their levels as they are."""
        operands = [self.whole(v, emitter) for v in op.operands]
        is_kept = op.name == "loop.for" and not self.scaling.levels.once
        nest = self.copy_body if is_kept else self.place_region
        regions = [nest(op, region, operands, emitter) for region in op.regions]
        copied = emitter.create(op.spec, operands, op.attrs, regions)
        for old, new in zip(op.results, copied.results, strict=True):
            self.note(old, 1.0, new)

    def place_region(self, op: Op, region: Region, operands: Sequence[Value], _emitter: Emitter) -> Region:
        """The side of a condition, or the body of a loop."""
        inside = self.scaling.emitter(Block())
        starts = operands[len(operands) - len(carried_operands(op)) :]
        arguments = region.block.args
        for old in arguments[: len(arguments) - len(starts)]:
            counter = inside.block.add_arg(old.type, old.origin)
            self.scaling.levels.of[counter] = None
            self.note(old, 1.0, counter)
        for old, start in zip(arguments[len(arguments) - len(starts) :], starts, strict=True):
            new = inside.block.add_arg(old.type, old.origin)
            self.scaling.levels.of[new] = self.scaling.level(start) - (op.name == "loop.for")
            self.note(old, 1.0, new)
        self.block(region.block, inside)
        terminator = region.block.terminator
        inside.builder.loc = terminator.loc
        inside.builder.create("loop.yield", [self.whole(v, inside) for v in terminator.operands])
        return Region(inside.block)

    def copy_body(self, op: Op, region: Region, _operands: Sequence[Value], emitter: Emitter) -> Region:
        """The body of a loop as it is."""
        outside = [v for nested in walk_block(region.block) for v in nested.operands if v in self.values]
        for value in outside:
            self.scaling.count_reader(self.values[value][1])
        mapping = {v: self.whole(v, emitter) for v in dict.fromkeys(outside)}
        return copy_region(region, mapping, op)

    # -- numbers ---------------------------------------------------------------------------

    def waiting(self, op: Op, number: float, new: Value, emitter: Emitter) -> None:
        """A result whose number waits, unless it is too small."""
        if not self.least <= abs(number) <= 1 / self.least:
            number, new = 1.0, self.scaling.strategy_for(new, number, emitter).make()
        self.note(op.result, number, new)

    def bound_number(self, value: Value, emitter: Emitter) -> tuple[float, Value]:
        """A value whose vector is not much smaller than it is: whole numbers take no level."""
        number, new = self.values[value]
        if abs(number) <= MOST:
            return number, new
        whole = float(round(number))
        return number / whole, self.scaling.whole(new, whole, emitter)

    def whole(self, value: Value, emitter: Emitter) -> Value:
        """A value by itself."""
        number, new = self.values[value]
        result = self.scaling.whole(new, number, emitter)
        if result.origin is None and new.origin is None and value.is_secret:
            result.origin = value.origin
        return result

    def output(self, value: Value, emitter: Emitter, size: float) -> Value:
        """An output, whose number is left to the scale that it is read by where nothing takes it in.

        A small one would drown in noise: what made it is scaled up, and its number is small. A large one that there is
        no room for is scaled down; to fill the room, any other up.
        """
        number, new = self.values[value]
        is_large = size > self.most * abs(number)
        is_bound = is_large or self.fill
        if 0.0 < size < (self.most if self.fill else SMALL) * abs(number) or is_large:
            factor = abs(number) / size * (self.most if is_bound else 1.0) * ODD
            strategy = self.scaling.inside(new, factor, emitter)
            if strategy is not None:
                return emitter.create("vec.label", [strategy.make()], {"factor": number / factor}).result
        if number == 1.0 or not 1 / MOST_LABEL <= abs(number) <= MOST_LABEL:
            return self.whole(value, emitter)
        strategy = self.scaling.strategy_for(new, number, emitter)
        if strategy.level >= self.scaling.level(new) and not strategy.products:
            return self.whole(value, emitter)
        return emitter.create("vec.label", [new], {"factor": number}).result


_HANDLERS = {
    "vec.mul": "product",
    "vec.add": "total",
    "vec.sub": "total",
    "vec.neg": "keep_outside",
    "vec.rotate": "keep_outside",
    "vec.conjugate": "keep_outside",
    "vec.times_i": "keep_outside",
    "vec.twice_real": "keep_outside",
    "vec.take": "keep_outside",
    "vec.sum": "keep_outside",
    "vec.concat": "concat",
    "vec.linear_transform": "fold_into_map",
}


def _number_or_constant(op: Op, public: dict[Value, float | ConstRef]) -> float | ConstRef | None:
    """The public number or constant of a result that comes from public numbers alone."""
    match op.name:
        case "vec.splat":
            value = op.attrs["value"]
            return value if isinstance(value, float) else None
        case "vec.constant":
            constant: ConstRef = op.attrs["value"]
            return constant
        case "vec.trivial":
            return public.get(op.operands[0])
        case "vec.mul" | "vec.add" | "vec.sub" if all(v in public for v in op.operands):
            return _combine(op.name, *(public[v] for v in op.operands))
    return None


def _combine(name: str, a: float | ConstRef, b: float | ConstRef) -> float | ConstRef | None:
    if isinstance(a, float) and isinstance(b, float):
        return {"vec.mul": a * b, "vec.add": a + b, "vec.sub": a - b}[name]
    if isinstance(a, ConstRef):
        a, b = b, a
    return b.times(a) if name == "vec.mul" and isinstance(a, float) and isinstance(b, ConstRef) else None


def _divide(term: float | ConstRef | None, number: float) -> float | ConstRef:
    assert term is not None
    if isinstance(term, ConstRef):
        return term.times(1.0 / number) if number != 1.0 else term
    return term / number
