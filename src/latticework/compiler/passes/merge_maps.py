"""merge-maps: runs of linear operations become one linear map each, as few and as long as is cheapest.

In/out: vec IR, same cleartext meaning. A region's layers are cut into groups; what a group leaves for later is one map
of what the groups before it left. Of all cuts the cheapest is taken, a level having its price too; a group of one layer
may stay as it was written. A stage of a Fourier transform (even and odd parts, twiddle factors, joining: three layers)
is one map by that, and several stages are one where that pays. The lines that a map was made of share it by what each
would take alone.
Cost: for every layer the forms of all operations below it, as far as they stay small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Protocol

import numpy as np

from latticework.compiler.levels.depth import levels_of, spent_by
from latticework.compiler.passes.linear_forms import Form, base_form
from latticework.compiler.passes.linear_regions import LinearRegion, make_forms, regions
from latticework.ir import Builder, Loc, Module, Op, Pass, Value, rebuild
from latticework.ir.dialects.vec_dialect import VecType
from latticework.lazy_dataclass import dataclass
from latticework.values.map_in_order import map_in_order
from latticework.values.packing.pack import REPEAT, PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, Diagonal, LinearMap, LoopNest, splat

MOST_WORK = 1 << 24  # numbers in the forms of groups that begin at one layer
TOO_DEAR = 2.0  # times what its layers take as they are written, for a group to be made any longer


class Cost(Protocol):
    """Costs of vector operations whose operands have spent `spent` levels, in seconds or any one unit."""

    @property
    def level(self) -> float:
        """One more level of the program."""

    def linear(self, linear_map: LinearMap, spent: int, real: bool) -> float:
        """A linear transform."""

    def rotations(self, count: int, spent: int) -> float:
        """The cost of `count` rotations of one vector."""

    def operation(self, op: Op, spent: int) -> float:
        """An operation of straight vec code, by itself."""


@dataclass(frozen=True)
class Group:
    """Values that one group of layers leaves, each as a form of bases."""

    bases: tuple[tuple[Value, int], ...]  # values, and which of their vectors
    forms: dict[Value, list[Form]]

    def ops(self, value: Value) -> list[Op]:
        """The operations that a value is made by, from the bases on."""
        ends = {base for base, _ in self.bases}
        members: dict[Op, None] = {}
        waiting = [value]
        while waiting:
            op = waiting.pop().owner
            if isinstance(op, Op) and op not in members:
                members[op] = None
                waiting += [v for v in op.operands if v.is_secret and v not in ends]
        return list(members)


def run(module: Module, cost: Cost, *, once: bool = False) -> Module:
    """The module with linear operations merged. No value lies on a lower level than before.

    once  loops are to be kept by bootstraps: one iteration of theirs counts, and operations in it are merged too
    """
    # What is public until it is used, such as a trivial encryption, is made at any level.
    spent = {value: -(level or 0) for value, level in levels_of(module, once=once).of.items()}
    groups: dict[Value, Group] = {}
    lines: dict[Value, Loc] = {}
    bodies = [module.body, *(r.block for op in module.walk() for r in op.regions)] if once else [module.body]
    found = [region for block in bodies for region in regions(block)]
    for cut in map_in_order(lambda region: _Cuts(region, module, cost, spent).best(), found):
        for group in cut:
            groups.update(dict.fromkeys(group.forms, group))
            lines.update((value, _lines(group.ops(value), cost, spent)) for value in group.forms)
    if not groups:
        return module
    module = module.empty_like(module.body)  # whose sources may grow
    return rebuild(module, lambda op, builder, mapping: _emit(op, groups, lines, module, builder, mapping))


@dataclass(frozen=True)
class _State:
    """A region down to some layer.

    seconds  it took, and what its levels cost;  spent  levels, by the values that are there;  groups  of several layers
    """

    seconds: float
    levels: float
    spent: Mapping[Value, int]
    groups: tuple[Group, ...] = ()

    @property
    def total(self) -> float:
        """The cost by which states are compared."""
        return self.seconds + self.levels


@dataclass
class _Cuts:
    """Cuts of one region into groups of layers.

    spent  levels of values as the module is written
    """

    region: LinearRegion
    module: Module
    cost: Cost
    spent: Mapping[Value, int]

    def best(self) -> tuple[Group, ...]:
        """The groups of several layers of the cheapest cut."""
        layers, depth = self.region.layers, self.region.depth
        there = {value: self.spent[value] for value, layer in layers.items() if layer == 0}
        least: list[_State | None] = [self._state(0.0, there, ()), *[None] * depth]
        for start in range(depth):
            here = least[start]
            if here is None or any(other is not None and other.total < here.total for other in least[start + 1 :]):
                continue  # nobody stops here who can be further down for less
            written = here
            for end, group in enumerate(self._groups(start), start + 1):
                written = self._add_layer(written, end)
                if end == start + 1:
                    least[end] = _lesser(least[end], written)
                if group is None:
                    break
                grouped = self._add_group(here, group)
                if grouped is not None:
                    least[end] = _lesser(least[end], grouped)
                    if grouped.total - here.total > TOO_DEAR * (written.total - here.total):
                        break
        cut = least[depth]
        assert cut is not None, "a region as it is written is one of its cuts"
        return cut.groups

    def _state(self, seconds: float, spent: Mapping[Value, int], groups: tuple[Group, ...]) -> _State:
        return _State(seconds, self.cost.level * max(spent.values(), default=0), spent, groups)

    def _add_layer(self, before: _State, layer: int) -> _State:
        """Add a layer's own operations to a state."""
        spent, seconds = dict(before.spent), before.seconds
        for op in self.region.ops:
            if self.region.layers[op.result] == layer:
                level = max(spent[v] for v in op.operands if v.is_secret)
                seconds += self.cost.operation(op, level)
                spent[op.result] = level + spent_by(op)
        return self._state(seconds, spent, before.groups)

    def _add_group(self, before: _State, group: Group) -> _State | None:
        """Add a group to a state; None if it would take a value to a lower level than it has as it is written."""
        together: dict[tuple[int, ...], list[Form]] = {}
        spent, seconds = dict(before.spent), before.seconds
        for value, forms in group.forms.items():
            numbers = _read(forms)
            level = max(before.spent[group.bases[number][0]] for number in numbers)
            rotation = _rotation_of_whole(forms)
            if rotation is not None:
                seconds += self.cost.rotations(1, level) if rotation[1] else 0.0
            else:
                together.setdefault(numbers, []).extend(forms)
                level += 1
            if level > self.spent[value]:
                return None
            spent[value] = level
        for numbers, forms in together.items():
            level = max(before.spent[group.bases[number][0]] for number in numbers)
            seconds += self.cost.linear(_unweighted_map(numbers, forms), level, True)
        return self._state(seconds, spent, (*before.groups, group))

    def _groups(self, start: int) -> Iterator[Group | None]:
        """The group of all layers from `start` to every later layer; None where forms become too large."""
        layers = self.region.layers
        bases: dict[tuple[Value, int], int] = {}
        forms: dict[Value, list[Form]] = {}
        ops = sorted((op for op in self.region.ops if layers[op.result] > start), key=lambda op: layers[op.result])
        place = work = 0
        for end in range(start + 1, self.region.depth + 1):
            while place < len(ops) and layers[ops[place].result] == end:
                op = ops[place]
                for value in op.operands:
                    if value.is_secret and layers[value] <= start and value not in forms:
                        numbers = [bases.setdefault((value, i), len(bases)) for i in range(_count(value))]
                        forms[value] = [base_form(number, _slots(value)) for number in numbers]
                new_forms = make_forms(op, forms, self.module.sources) if work < MOST_WORK else None
                if new_forms is None:
                    yield None
                    return
                work += sum(form.size for form in new_forms)
                forms[op.result] = new_forms
                place += 1
            left = {op.result: forms[op.result] for op in ops[:place] if self._is_read_below(op, end)}
            yield Group(tuple(bases), left)

    def _is_read_below(self, op: Op, layer: int) -> bool:
        """Whether anything but the region's operations down to a layer reads a result."""
        inside = self.region.layers
        return any(
            len(reader.results) != 1 or reader.block is not op.block or inside.get(reader.result, layer + 1) > layer
            for reader, _ in op.result.uses
        )


def _lines(ops: Sequence[Op], cost: Cost, spent: Mapping[Value, int]) -> Loc:
    """The lines of operations that become one, by the price of each alone; the last one is what messages name."""
    levels = [max(spent[v] for v in op.operands if v.is_secret) for op in ops]
    prices = [cost.operation(op, level) for op, level in zip(ops, levels, strict=True)]
    return Loc.fuse([(op.loc, price) for op, price in zip(ops, prices, strict=True)], ops[0].loc)


def _lesser(a: _State | None, b: _State) -> _State:
    return b if a is None or b.total < a.total else a


def _unweighted_map(numbers: Sequence[int], forms: Sequence[Form]) -> LinearMap:
    """A map with the diagonals of forms of these bases, for its price."""
    place = {number: i for i, number in enumerate(numbers)}
    places = tuple((steps, out, place[base]) for out, form in enumerate(forms) for base, steps in form.terms)
    return _map_of_ones(forms[0].slots, places, len(numbers), len(forms))


@lru_cache(maxsize=1 << 10)
def _map_of_ones(slots: int, places: tuple[tuple[int, int, int], ...], count_in: int, count_out: int) -> LinearMap:
    """A map whose diagonals, (steps, output, input) of each, are ones: equal ones are the same object, which a search
    that looks up prices by maps compares at once."""
    one = splat(1.0, slots)
    diagonals = tuple(Diagonal(steps, one, False, out, in_) for steps, out, in_ in places)
    return LinearMap(slots, None, 1.0, diagonals or (Diagonal(0, one),), count_in, count_out)


def _emit(
    op: Op,
    groups: dict[Value, Group],
    lines: Mapping[Value, Loc],
    module: Module,
    builder: Builder,
    mapping: dict[Value, Value],
) -> bool:
    """Emit a value that a group leaves as one map of the group's bases."""
    if len(op.results) != 1 or op.result not in groups:
        return False
    builder.loc = lines[op.result]
    group = groups[op.result]
    forms = group.forms[op.result]
    rotation = _rotation_of_whole(forms)
    if rotation is not None:
        base, steps = rotation
        value, number = group.bases[base]
        one = mapping[value]
        if _count(value) > 1:
            one = builder.build("vec.take", [one], vectors=(number,))
        mapping[op.result] = builder.build("vec.rotate", [one], steps=steps) if steps else one
        return True
    numbers = _read(forms)
    array = _array([group.bases[number] for number in numbers], builder, mapping)
    place = {number: i for i, number in enumerate(numbers)}
    values = np.concatenate([form.values for form in forms])
    constants = _constants(values, module)
    terms = [(out, place[base], steps) for out, form in enumerate(forms) for base, steps in form.terms]
    diagonals = tuple(
        Diagonal(steps, constant, False, out, in_)
        for (out, in_, steps), constant in zip(terms, constants, strict=True)
    ) or (Diagonal(0, splat(0.0, forms[0].slots)),)  # fmt: skip
    block = LinearMap(forms[0].slots, None, 1.0, diagonals, len(numbers), len(forms))
    result = builder.build("vec.linear_transform", [array], map=block)
    biases = np.stack([form.bias for form in forms])
    if biases.any():
        whole = builder.build("vec.constant", [], value=_pack(biases, module))
        result = builder.build("vec.add", [result, whole])
    mapping[op.result] = result
    return True


def _array(bases: Sequence[tuple[Value, int]], builder: Builder, mapping: dict[Value, Value]) -> Value:
    """These vectors as one array; whole values where all of theirs follow each other."""
    parts: list[Value] = []
    place = 0
    while place < len(bases):
        value, number = bases[place]
        count = _count(value)
        if number == 0 and list(bases[place : place + count]) == [(value, i) for i in range(count)]:
            parts.append(mapping[value])
            place += count
        else:
            parts.append(builder.build("vec.take", [mapping[value]], vectors=(number,)))
            place += 1
    return parts[0] if len(parts) == 1 else builder.build("vec.concat", parts)


def _constants(values: np.ndarray, module: Module) -> list[ConstRef]:
    """Slot vectors as simple as they are: a number everywhere, one in a stretch of slots, or a row of one source.

    All are as long as their common period; equal ones are one constant, which is encoded once.
    """
    slots, period = values.shape[1], _period(values)
    pack = PackMap((period,), slots, (PackDim(REPEAT, slots // period), PackDim(0, period)))
    rows = {row.tobytes(): row for row in values[:, :period]}
    constants = {key: constant for key, row in rows.items() if (constant := _plain(row, pack)) is not None}
    left = {key: row for key, row in rows.items() if key not in constants}
    if left:
        source, whole = module.add_source(np.stack(list(left.values()))), (len(left) * period,)
        out = Access((period,), ((1,),), (0,))
        for number, key in enumerate(left):
            constants[key] = ConstRef(
                LoopNest((period,), pack, out, source, Access(whole, ((1,),), (number * period,)))
            )
    return [constants[row.tobytes()] for row in values[:, :period]]


def _plain(row: np.ndarray, pack: PackMap) -> ConstRef | None:
    """A row without a source, if it is one number from one slot to another and zero elsewhere."""
    (there,) = np.nonzero(row)
    if not there.size:
        return splat(0.0, pack.slots)
    first, end = int(there[0]), int(there[-1]) + 1
    if not (row[first:end] == row[first]).all():
        return None
    number = float(row[first])
    if end - first == row.size:
        return splat(number, pack.slots)
    stretch = LoopNest((end - first,), pack, Access((row.size,), ((1,),), (first,)), None, None)
    return ConstRef(stretch, factor=number)


def _period(values: np.ndarray) -> int:
    """Slots after which all vectors repeat: the fewest by halving."""
    period: int = values.shape[1]
    while period > 1 and period % 2 == 0 and np.array_equal(values[:, : period // 2], values[:, period // 2 : period]):
        period //= 2
    return period


def _pack(vectors: np.ndarray, module: Module) -> ConstRef:
    """Public vectors as a constant."""
    count, slots = vectors.shape
    if count == 1:
        return _constants(vectors, module)[0]
    period = _period(vectors)
    source = module.add_source(vectors[:, :period])
    dims = PackDim(REPEAT, slots // period), PackDim(1, period)
    pack = PackMap((count, period), slots, dims, (PackDim(0, count),))
    walk = Access((count, period), ((1, 0), (0, 1)), (0, 0))
    return ConstRef(LoopNest((count, period), pack, walk, source, walk))


def _rotation_of_whole(forms: Sequence[Form]) -> tuple[int, int] | None:
    """(base, steps) of a single vector that is a rotated base vector, or None."""
    if len(forms) != 1 or forms[0].codes.size != 1 or forms[0].bias.any() or not (forms[0].values == 1.0).all():
        return None
    return forms[0].terms[0]


def _read(forms: Sequence[Form]) -> tuple[int, ...]:
    """The numbers of all bases that forms read."""
    return tuple(sorted({base for form in forms for base, _ in form.terms})) or (0,)


def _count(value: Value) -> int:
    assert isinstance(value.type, VecType)
    return value.type.count


def _slots(value: Value) -> int:
    assert isinstance(value.type, VecType)
    return value.type.slots


WRITTEN = ("vec.add", "vec.concat", "vec.constant", "vec.linear_transform", "vec.rotate", "vec.take")
PASS = Pass("merge-maps", run, reads=("vec", "loop"), writes=WRITTEN)
PASS_ONCE = Pass("merge-maps", partial(run, once=True), reads=("vec", "loop"), writes=WRITTEN)
