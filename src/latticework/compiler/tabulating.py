"""tabulate-carried: what a loop carries and never meets a secret is computed when the program is compiled.

In/out: tensor IR, same cleartext meaning for run-time integers up to those of the sample. A rate that decays, or the
gain of a Kalman filter, starts from public numbers and follows from itself and the number of the iteration alone. The
loop carries it no longer: what its body needs of it is a public table, read by that number, exact, and without a level.
What is returned from the loop, or is more than `MOST_NUMBERS` in all iterations, stays as it is.
Source: partial evaluation (Jones, Gomard, Sestoft, 1993), of the static part of a loop. Cost: one run in the clear.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from latticework.errors import UserError
from latticework.ir import Block, Builder, Module, Op, Region, Value
from latticework.ir.builder import region_block
from latticework.ir.core import Array
from latticework.ir.dialects import loop_dialect
from latticework.ir.interpret import interpret
from latticework.ir.types import INDEX
from latticework.lazy_dataclass import dataclass
from latticework.tensor.ops.indexed import ROW

MOST_NUMBERS = 2**18  # of the tables of one loop
_PUBLIC = ("tensor.constant", "tensor.trivial")


@dataclass
class _Tabled:
    """The values that a loop need not carry.

    trips     most iterations that it makes
    carried   numbers of the carried values that follow from public ones alone
    computed  all values of the body that do, from these
    needed    those of them that something else reads, with where they are made
    """

    trips: int
    carried: set[int]
    computed: set[Value]
    needed: list[Value]


def tabulate(module: Module, sample: Mapping[str, Any]) -> Module:
    """The module with public tables in the place of what loops carry and is public.

    sample  inputs, run-time integers the largest that there will be
    """
    read = {value for op in module.walk() for value in op.operands}
    loops = [op for op in module.walk() if op.name == "loop.for"]
    tabled_loops = {op: tabled for op in loops if (tabled := _look(op, module, sample, read))}
    wanted = {value for tabled in tabled_loops.values() for value in tabled.needed}
    computed: dict[Value, list[Array]] = defaultdict(list)
    try:
        with np.errstate(all="ignore"):
            if wanted:
                interpret(module, sample, on_value=lambda v, array: computed[v].append(array) if v in wanted else None)
    except UserError:
        return module  # calibration says more about it
    tabled_loops = {
        op: tabled
        for op, tabled in tabled_loops.items()
        if all(_fits(computed[v], tabled.trips) for v in tabled.needed)
    }
    if not tabled_loops:
        return module
    new = module.empty_like(body := Block())
    mapping = {value: body.add_arg(value.type, value.origin) for value in module.inputs}
    _Emitter(new, mapping, tabled_loops, computed).block(module.body, Builder(body))
    return new


def _look(op: Op, module: Module, sample: Mapping[str, Any], read: set[Value]) -> _Tabled | None:
    """Find the carried values of a loop that can be tables; None if there are none."""
    block = op.regions[0].block
    inits, ends = _inits(op), block.terminator.operands
    trip_count = op.attrs["static_trip"]
    if trip_count is None:
        of = dict(zip(module.inputs, module.input_names, strict=True)).get(op.operands[0])
        trip_count = None if of is None else sample[of]
    carried = {n for n, v in enumerate(inits) if _is_public(v) and op.results[n] not in read}
    while trip_count and 0 < len(carried) < len(inits):
        follows = {block.args[0], *(block.args[1 + n] for n in carried)}
        for inner in block.ops[:-1]:
            if not inner.regions and all(v in follows or _is_public(v) for v in inner.operands) and inner.operands:
                follows.update(inner.results)
        if stray := {n for n in carried if ends[n] not in follows and not _is_public(ends[n])}:
            carried -= stray
            continue
        computed = {block.args[1 + n] for n in carried}
        for inner in block.ops[:-1]:
            if inner.results and inner.results[0] in follows and any(v in computed for v in inner.operands):
                computed.update(inner.results)
        return _Tabled(trip_count, carried, computed, _values_needed(block, carried, computed))
    return None


def _inits(op: Op) -> tuple[Value, ...]:
    return tuple(op.operands[0 if op.attrs["static_trip"] is not None else 1 :])


def _is_public(value: Value) -> bool:
    """A number known by now, in whatever form."""
    owner = value.owner
    return isinstance(owner, Op) and owner.name in _PUBLIC and all(map(_is_public, owner.operands))


def _values_needed(block: Block, carried: set[int], computed: set[Value]) -> list[Value]:
    """The computed values that others read: operations, also of loops within, and the end of the body."""
    others = [op for op in block.ops[:-1] if not computed.intersection(op.results)]
    reads = {value for op in others for inner in _with_nested(op) for value in inner.operands}
    reads |= {value for n, value in enumerate(block.terminator.operands) if n not in carried}
    return [value for value in computed if value in reads]


def _with_nested(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        for inner in region.block.ops:
            yield from _with_nested(inner)


def _fits(arrays: list[Array], trip_count: int) -> bool:
    """Whether there is a table: as many finite arrays as trips, and not too many numbers."""
    first = arrays[:trip_count]
    numbers = sum(np.size(a) for a in first)
    return len(first) == trip_count and numbers <= MOST_NUMBERS and all(np.all(np.isfinite(a)) for a in first)


@dataclass
class _Emitter:
    """Copies a module, loops without what tables hold."""

    module: Module
    mapping: dict[Value, Value]
    tabled: Mapping[Op, _Tabled]
    computed: Mapping[Value, list[Array]]

    def block(self, block: Block, builder: Builder) -> None:
        """All operations of a block."""
        for op in block.ops:
            if op in self.tabled:
                self.loop(op, builder)
                continue
            regions = []
            for region in op.regions:
                inside = Builder(region_block(region, self.mapping, op))
                self.block(region.block, inside)
                regions.append(Region(inside.block))
            builder.copy_with(op, self.mapping, regions)

    def loop(self, op: Op, builder: Builder) -> None:
        """A loop that carries less."""
        tabled, old = self.tabled[op], op.regions[0].block
        carried = [n for n in range(len(op.results)) if n not in tabled.carried]
        inits = _inits(op)
        inside = Builder(block := Block())
        index = self.mapping[old.args[0]] = block.add_arg(INDEX, old.args[0].origin)
        for n in carried:
            argument = old.args[1 + n]
            self.mapping[argument] = block.add_arg(argument.type, argument.origin)
        for value in tabled.needed:
            table = np.stack(self.computed[value][: tabled.trips])
            place = value.owner.loc if isinstance(value.owner, Op) else op.loc
            attrs = {"source": self.module.add_source(table), "shape": table.shape}
            self.mapping[value] = inside.create(ROW.spec, [index], attrs, loc=place, origin=value.origin).result
        rest = [inner for inner in old.ops[:-1] if not tabled.computed.intersection(inner.results)]
        shell = Block()
        shell.ops.extend(rest)
        self.block(shell, inside)
        ends = [self.mapping.get(old.terminator.operands[n], old.terminator.operands[n]) for n in carried]
        inside.create(loop_dialect.YIELD, ends, {}, loc=old.terminator.loc)
        trip_count = [self.mapping[v] for v in op.operands[: len(op.operands) - len(inits)]]
        operands = [*trip_count, *(self.mapping[inits[n]] for n in carried)]
        new = builder.create(loop_dialect.FOR, operands, op.attrs, [Region(block)], loc=op.loc)
        for n, result in zip(carried, new.results, strict=True):
            result.origin = op.results[n].origin
            self.mapping[op.results[n]] = result
