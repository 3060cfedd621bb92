"""Blocks with loops: straight lines get their bootstraps when what follows them is known, loops by the group.

Operations of a block are gathered in a run until a loop stands in the way. The loop is decided by the levels that its
values have there; iterations of its start join the run, which then gets its bootstraps; iterations of its end begin the
next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from math import ceil

from latticework.compiler.levels.depth import Env, Levels, is_public, is_trivial, levels_of, spent_by
from latticework.compiler.levels.loops.bootstrap_period import (
    MOST_COPIED,
    MOST_POINTS,
    IterationGroup,
    TripSplit,
    first_iterations,
    needed_after,
    note_period,
    sizes,
    split,
    steady_heads,
)
from latticework.compiler.levels.loops.iteration_levels import has_spending_loop, iteration_levels, stays_above
from latticework.compiler.levels.loops.seconds import USUAL_TRIPS
from latticework.compiler.levels.loops.straight_run import Place, PlacedRun, WaitingRun, iterations_of
from latticework.compiler.levels.loops.writing import (
    LoopWriter,
    TripCount,
    ValueCopies,
    ValueFacts,
    arguments_of,
    captured_by,
    inits_of,
)
from latticework.errors import LevelError
from latticework.ir import Block, Module, Op, Value, last_uses
from latticework.plan.instructions.reason import LoopStrategy
from latticework.values.sums import add_up

HARDLY = 0.025  # more
WORTH_COPIES = 0.1  # of a loop's time, that copies of its body have to save
FEW_POINTS = 12  # of a group in which bootstraps are looked for behind its head too, where it needs none there


class BlockPlanner:
    """Writes the operations of a block, with bootstraps.

    levels  of values of the block that is written, and around it
    at      what stands for each value of the block that is read: in what is written, or in the run
    """

    def __init__(
        self, module: Module, residual: int, place: Place, writer: LoopWriter, at: ValueCopies, levels: Env
    ) -> None:
        self.module, self.residual, self.place = module, residual, place
        self.writer, self.at, self.levels = writer, at, levels
        self.facts: ValueFacts = writer.facts
        self.run = WaitingRun(levels, self.facts, module)
        self.last: Mapping[Value, int] = {}

    def block(self, source: Block, wanted: Sequence[int]) -> list[Value]:
        """All operations; returns what the block yields, at these levels at least."""
        self.last = last_uses(source)
        for number, op in enumerate(source.ops[:-1]):
            self.writer.builder.loc = op.loc
            if op.name == "loop.for":
                self.loop(op, number, wanted)
            elif op.regions:
                self.keep(op, number)
            elif op.name.startswith("loop.") or is_public(op):
                self.writer.builder.copy(op, self.at)
                self.levels.update(dict.fromkeys((self.at[v] for v in op.results), None))
            else:
                self.append(op)
        ends = [self.at.get(v, v) for v in source.terminator.operands]
        refreshed = self.flush(len(source.ops), dict(zip(ends, wanted, strict=True)), ends)
        return [refreshed.get(v, v) for v in ends]

    # -- runs ------------------------------------------------------------------------------------

    def append(self, op: Op) -> None:
        """One operation of the run."""
        copies = ValueCopies(self.facts)
        for value in op.operands:
            copies[value] = self.run.of(self.at.get(value, value))
        self.run.writer.builder.copy(op, copies)
        for value in op.results:
            self.at[value] = copies[value]

    def flush(self, number: int, wanted: Mapping[Value, int], also: Sequence[Value] = ()) -> dict[Value, Value]:
        """Write the run with its bootstraps; returns what stands for its values.

        number  of the operation before which it stands: what is read from there on is an output
        wanted  levels of values of the run;  also  values that are outputs
        """
        run, self.run = self.run, WaitingRun(self.levels, self.facts, self.module)
        later = [self.at[v] for v, last in self.last.items() if last >= number and v in self.at]
        raised = [v for v, level in wanted.items() if not run.holds(v) and self.needs_raising(v, level)]
        outputs = [v for v in dict.fromkeys([*later, *also]) if run.holds(v)]
        outputs += [run.of(v) for v in raised]
        if not outputs:
            return {}
        names = {run.of(v): level for v, level in wanted.items() if run.holds(v) or v in raised}
        placed = self.place_run(run.end(outputs, self.writer.builder.loc), run.starts, [names.get(v) for v in outputs])
        written = self.inline(placed.module, dict(zip(placed.module.inputs, run.outside, strict=True)))
        result = dict(zip(outputs, written, strict=True))
        for old, new in result.items():
            self.facts.hand_on(old, new)
        result |= {v: result[run.of(v)] for v in raised}
        for value, now in list(self.at.items()):
            if now in result:
                self.at[value] = result[now]
        return result

    def run_seconds(self, wanted: Mapping[Value, int]) -> float:
        """Seconds that the run takes if it ends with these values, at these levels."""
        outputs = [v for v in wanted if self.run.holds(v)]
        module = self.run.end(outputs, self.writer.builder.loc)
        return self.place_run(module, self.run.starts, [wanted[v] for v in outputs]).seconds

    def needs_raising(self, value: Value, level: int) -> bool:
        """Whether a value that is written already lies too low."""
        has = self.levels.get(value)
        return has is not None and has < level

    def place_run(
        self,
        module: Module,
        starts: Sequence[int | None],
        wanted: Sequence[int | None],
        only: Sequence[Value] | None = None,
    ) -> PlacedRun:
        """A run with its bootstraps, of these values alone if they are given."""
        exact = [-self.residual if level is None else level for level in wanted]
        known = self.facts.exponents
        able = known if only is None else {value: known[value] for value in only if value in known}
        return self.place(module, starts, exact, able)

    def inline(self, module: Module, known: Mapping[Value, Value], writer: LoopWriter | None = None) -> list[Value]:
        """Write the operations of a run where the block is written, or by another writer; returns its outputs."""
        target = writer or self.writer
        copies = ValueCopies(self.facts)
        copies.update(known.items())
        for op in module.body.ops[:-1]:
            target.builder.copy(op, copies)
        of = levels_of(module, [self.levels[known[v]] for v in module.inputs], self.residual).of
        self.levels.update((copies[v], level) for v, level in of.items() if v in copies)
        return [copies[v] for v in module.body.terminator.operands]

    def run_levels(self) -> Env:
        """Levels of values of the run as it is now; the floor where it needs bootstraps before."""
        of = Levels(dict(zip(self.run.module.inputs, self.run.starts, strict=True)), residual=self.residual)
        for op in self.run.module.body.ops:
            of.add(op)
        return {v: None if level is None else max(level, -self.residual) for v, level in of.of.items()}

    def level_of(self, value: Value, of: Env) -> int | None:
        """Level of what stands for a value of the block."""
        now = self.at.get(value, value)
        if is_trivial(value) or not value.is_secret:
            return None
        return of[now] if self.run.holds(now) else self.levels[now]

    # -- loops -----------------------------------------------------------------------------------

    def keep(self, op: Op, number: int, levels: Mapping[Value, int | None] = {}) -> None:
        """An operation with regions that stays as it is, and reads values at these levels at least."""
        wanted: dict[Value, int] = {}
        for value, level in levels.items():
            if level is not None:
                now = self.at.get(value, value)
                wanted[now] = max(wanted.get(now, level), level)
        self.flush(number, wanted)
        copied = self.writer.builder.copy(op, self.at)
        Levels(self.levels, residual=self.residual).add(copied)

    def loop(self, op: Op, number: int, wanted: Sequence[int]) -> None:
        """A loop, as it is if it spends nothing."""
        of = self.run_levels()
        outside = {v: self.level_of(v, of) for v in captured_by(op)}
        starts = [self.level_of(v, of) for v in inits_of(op)]
        heads = steady_heads(op, starts, self.residual, outside)
        if None not in heads and self.fits(op, heads, outside) and not has_spending_loop(op, self.residual):
            self.keep(op, number, outside | dict(zip(inits_of(op), starts, strict=True)))
            return
        plan = LoopPlanner(self, op, number, starts, heads, outside)
        if any(inner.regions for inner in op.regions[0].block.ops):
            plan.nest()
            return
        plan = self.above(plan) or plan
        if plan.trips.is_static:
            plan.plan_counted(needed_after(op, self.residual, wanted))
        else:
            plan.any_number()

    def above(self, plan: LoopPlanner) -> LoopPlanner | None:
        """The same loop behind bootstraps of what it reads from outside and lies low, where that takes less.

        One such bootstrap before the loop is about one of those in it.
        """
        low = [v for v, level in plan.outside.items() if level is not None and level < 0]
        if not low or not all(self.at.get(v, v) in self.facts.exponents for v in low):
            return None
        outside = {**plan.outside, **dict.fromkeys(low, 0)}
        heads = steady_heads(plan.op, plan.starts, self.residual, outside)
        other = LoopPlanner(self, plan.op, plan.number, plan.starts, heads, outside)
        trip_count = plan.trips.static if plan.trips.is_static else USUAL_TRIPS
        fewer = trip_count / max(plan.fitting(), 0.5) - trip_count / max(other.fitting(), 0.5)
        if fewer < len(low):
            return None
        here, there = (min(each.groups, key=lambda group: group.rate) for each in (plan, other))
        once = there.seconds / max(there.bootstraps, 1)
        return other if trip_count * there.rate + len(low) * once < trip_count * here.rate else None

    def fits(self, op: Op, heads: Sequence[int | None], outside: Env) -> bool:
        """Whether an iteration from these levels stays above the floor."""
        return stays_above(iteration_levels(op, heads, self.residual, outside), self.residual)


class LoopPlanner:
    """Decides and writes one loop of a block.

    starts   level of each initial value; None: public
    heads    level at which each carried value settles by itself, or None
    outside  level of each value that the body reads from outside
    """

    def __init__(
        self, around: BlockPlanner, op: Op, number: int, starts: list[int | None], heads: list[int | None], outside: Env
    ) -> None:
        self.around, self.op, self.number = around, op, number
        self.starts, self.heads, self.outside = starts, heads, outside
        self.residual = around.residual
        self.trips = TripCount.of(op)
        if not self.trips.is_static:
            self.trips = TripCount(around.at[self.trips.value], self.trips.at_most)
        self.copied: PlacedRun | None = None
        self.counts = bool(op.regions[0].block.args[0].uses)
        self.num_points = max(sum(1 for each in op.regions[0].block.ops if spent_by(each)), 1)

    # -- groups ----------------------------------------------------------------------------------

    def tops(self) -> list[int]:
        """The highest levels that carried values may start an iteration at."""
        return [0 if head is None else head for head in self.heads]

    def fitting(self, needed: int = 0) -> int:
        """Count the iterations from the top after which `needed` levels above the floor are left."""
        levels = self.residual - needed
        return self.free(self.tops(), levels, self.outside, levels)

    def levels_spent(self, number: int) -> int:
        """Return the levels that a number of iterations from the top spend, of which as many fit."""
        tops, outside = self.tops(), self.outside
        enough = (n for n in range(self.residual) if self.free(tops, n, outside, number) >= number)
        return next(enough, self.residual)

    def free(self, starts: Sequence[int | None], levels: int, outside: Env, most: int) -> int:
        """The number of iterations that `levels` levels from the top are enough for."""
        return first_iterations(self.op, starts, levels, outside, most, guarded=False)

    @cached_property
    def groups(self) -> list[IterationGroup]:
        """Groups that are worth a look."""
        floor, quarter = -self.residual, max(self.residual // 4, 1)
        result: list[IterationGroup] = []
        for size in sizes(self.fitting(), self.num_points):
            result.append(self.group(size, floor))
            if self.fitting() > 1 and len(result) > 1 and result[-1].rate >= result[-2].rate:
                break
        if result[0].size == 1 and self.num_points <= MOST_POINTS // 3:
            result += [self.group(1, head) for head in range(floor + quarter, 0, quarter)]
            best = min(result, key=lambda group: group.rate)
            if best.size == 1 and self.base_of(best) != floor:
                result += [self.group(1, self.base_of(best) + step) for step in (-1, 1)]
        return result

    def cheapest(self, seconds: Callable[[IterationGroup], float]) -> IterationGroup:
        """The smallest of those groups with which the loop takes hardly more than with any."""
        groups = self.groups
        least = min(map(seconds, groups))
        return min((g for g in groups if seconds(g) <= least * (1 + HARDLY)), key=lambda g: (g.size, seconds(g)))

    def alternatives(self, taken: IterationGroup) -> list[LoopStrategy]:
        """Alternatives that were weighed: groups of each size, copies if they were; none for iterations left over."""
        if all(group is not taken for group in self.groups):
            return []
        best: dict[int, IterationGroup] = {}
        for group in sorted(self.groups, key=lambda group: group.rate):
            best.setdefault(group.size, group)
        best[taken.size] = taken
        shown = [taken, *(group for group in best.values() if group is not taken)]
        alternatives = [LoopStrategy(group.size, group.bootstraps, group.rate) for group in shown]
        if self.copied is not None:
            alternatives.append(LoopStrategy(0, self.copied.bootstraps, self.copied.seconds / self.trips.static))
        return alternatives if len(alternatives) > 1 else []

    def base_of(self, group: IterationGroup) -> int:
        """The level, when a group starts, of the carried values that spend levels."""
        return next((head for head, own in zip(group.head, self.heads, strict=True) if own is None), -self.residual)

    def group(self, size: int, head: int) -> IterationGroup:
        """A group of `size` iterations that starts at the level `head`."""
        heads = tuple(head if each is None else each for each in self.heads)
        levels = self.outside | dict(zip(arguments_of(self.op), heads, strict=True))
        line = iterations_of(self.op, size, levels, self.around.facts, self.around.module)
        module, starts = line.module, line.run.starts
        placed = None
        if 1 < size <= self.fitting() and size * self.num_points > FEW_POINTS:
            with suppress(LevelError):  # what settles by itself may need a bootstrap that is not at the head
                placed = self.around.place_run(module, starts, heads, module.inputs)
        placed = placed or self.around.place_run(module, starts, heads)
        return IterationGroup(size, heads, placed, tuple(line.run.outside), line.indices)

    def write_groups(
        self, group: IterationGroup, trip_count: TripCount, carried: Sequence[Value], first: Value | int
    ) -> list[Value]:
        """The loop over groups, of which iterations are counted from `first`."""
        around, arguments = self.around, arguments_of(self.op)

        def body(inside: LoopWriter, index: Value, values: list[Value]) -> list[Value]:
            known = dict(zip(arguments, values, strict=True))
            around.levels.update(zip(values, group.head, strict=True))
            if self.counts:
                done = inside.times(index, group.size)
                start = inside.shift_index(done, first) if isinstance(first, int) else inside.sum(done, first)
                for number, placeholder in enumerate(group.indices):
                    known[placeholder] = inside.shift_index(start, number)
                    around.levels[known[placeholder]] = None
            stands = [known[v] if v in known else around.at.get(v, v) for v in group.outside]
            module = group.placed.module
            ends = around.inline(module, dict(zip(module.inputs, stands, strict=True)), inside)
            note_period(inside.builder.block, group.size, self.alternatives(group))
            return ends

        return self.results(around.writer.loop(trip_count, carried, arguments, body))

    def results(self, values: list[Value]) -> list[Value]:
        """The results of a loop or a branch, with their levels noted."""
        owner = values[0].owner
        if isinstance(owner, Op) and owner.results == values:
            Levels(self.around.levels, residual=self.residual).add(owner)
        return values

    def end(self, values: Sequence[Value]) -> None:
        """Let the values that the loop leaves stand for its results."""
        for result, value in zip(self.op.results, values, strict=True):
            self.around.at[result] = value
            value.origin = value.origin or result.origin

    # -- iterations outside ------------------------------------------------------------------------

    def inits(self) -> list[Value]:
        """Initial values, of the run or before it."""
        return [self.around.at.get(v, v) for v in inits_of(self.op)]

    def iterations(self, carried: Sequence[Value], first: int, number: int) -> list[Value]:
        """Write `number` iterations at the end of the run."""
        around, values = self.around, list(carried)
        for index in range(first, first + number):
            run = around.run
            outside = {v: run.of(around.at.get(v, v)) for v in captured_by(self.op)}
            at = run.of(around.writer.index(index)) if self.counts else 0
            values = run.writer.iteration(self.op, at, [run.of(v) for v in values], outside)
        return values

    def flush(self, carried: Sequence[Value], wanted: Sequence[int]) -> list[Value]:
        """The run ends here: what the loop carries at these levels, what it reads at those it was planned for."""
        around = self.around
        levels = {around.at.get(v, v): level for v, level in self.outside.items() if level is not None}
        for value, level in zip(carried, wanted, strict=True):
            if not is_trivial(value):
                levels[value] = max(level, levels.get(value, level))
        refreshed = around.flush(self.number, levels, carried)
        return [refreshed.get(v, v) for v in carried]

    # -- kinds of loops ----------------------------------------------------------------------------

    def plan_counted(self, needed: int) -> None:
        """A known number of iterations.

        needed  levels above the floor that what follows spends of the results
        """
        trip_count = self.trips.static
        group = self.cheapest(lambda each: self.estimate(each, needed))
        parts = self.parts(group, needed)
        if parts.groups == 0 or self.is_copied(group, parts, needed):
            self.end(self.iterations(self.inits(), 0, trip_count))
            return
        first, carried = self.write_first(group, parts)
        results = self.write_groups(
            group, TripCount((trip_count - parts.last - first) // group.size), self.flush(carried, group.head), first
        )
        self.end(self.iterations(results, trip_count - parts.last, parts.last))

    def write_first(self, group: IterationGroup, parts: TripSplit) -> tuple[int, list[Value]]:
        """Write the iterations that end the run, a group more where that takes less: their number, what they yield."""
        carried = self.iterations(self.inits(), 0, parts.first)
        if self.without(1) or parts.groups < 2 or group.size * self.num_points > MOST_POINTS:
            return parts.first, carried
        later = self.iterations(carried, parts.first, group.size)
        known = dict(zip(carried, group.head, strict=True)), dict(zip(later, group.head, strict=True))
        fewer, more = (self.around.run_seconds(each) for each in known)
        if more < fewer + group.seconds:
            return parts.first + group.size, later
        return parts.first, carried

    def parts(self, group: IterationGroup, needed: int) -> TripSplit:
        """The split of the iterations into first ones, groups and last ones."""
        last = 0 if min(group.head) + self.residual >= needed else self.fitting(needed)
        return split(self.trips.static, group.size, self.without(group.size), last)

    def without(self, most: int) -> int:
        """Iterations that the levels at the start are enough for."""
        return self.free(self.starts, self.residual, self.outside, self.residual + most)

    def estimate(self, group: IterationGroup, needed: int) -> float:
        """Seconds that bootstrapping by such groups takes, about."""
        parts = self.parts(group, needed)
        late = max(parts.first - self.without(group.size), 0)
        return parts.groups * group.seconds + late * group.rate + (parts.first + parts.last) * 1e-3 * group.rate

    def is_copied(self, group: IterationGroup, parts: TripSplit, needed: int) -> bool:
        """Whether all iterations stand in a straight line rather than in groups.

        That is no more code where a loop would go round once. Else it has to be worth the code, which grows with the
        number of iterations where that of a loop does not.
        """
        trip_count, worth = self.trips.static, 1 if parts.groups == 1 else 1 - WORTH_COPIES
        if trip_count * self.num_points > MOST_COPIED:
            return False
        ends = [needed - self.residual] * len(self.starts)
        apart = [self.line(self.starts, parts.first, group.head), self.line(list(group.head), parts.last, ends)]
        had = parts.groups * group.bootstraps + sum(line.bootstraps for line in apart)
        later = trip_count - self.without(trip_count) - 1  # iterations that surely spend levels of bootstraps
        if ceil((later * self.levels_spent(1) + needed) / self.residual) > worth * had:
            return False
        grouped = parts.groups * group.seconds + add_up(line.seconds for line in apart)
        self.copied = self.line(self.starts, trip_count, ends)
        return self.copied.seconds < worth * grouped

    def line(self, starts: Sequence[int | None], number: int, wanted: Sequence[int]) -> PlacedRun:
        """Place bootstraps in `number` iterations in a straight line, from the levels `starts` to `wanted`."""
        arguments, inits = arguments_of(self.op), inits_of(self.op)
        begin = [i if start is None else a for a, i, start in zip(arguments, inits, starts, strict=True)]
        levels = self.outside | dict(zip(arguments, starts, strict=True)) | dict(zip(begin, starts, strict=True))
        line = iterations_of(self.op, number, levels, self.around.facts, self.around.module, begin)
        return self.around.place_run(line.module, line.run.starts, list(wanted))

    def any_number(self) -> None:
        """A number of iterations that is known at run time."""
        writer, trip_count = self.around.writer, self.trips
        group = self.cheapest(lambda each: each.rate)
        size, above = group.size, -self.base_of(group)  # what comes before has to leave what groups start with
        free = first_iterations(self.op, self.starts, above, self.outside, size, guarded=True)
        if free >= size:  # the first of them, up to a whole group, need no bootstrap
            whole, _ = writer.groups(writer.after(trip_count, 1), size)
            rest = writer.builder.build("loop.index_sub", [trip_count.value, writer.times(whole.value, size)])
            carried = self.write_guarded(self.inits(), TripCount(rest, size), size, group.head)
        elif size - 1 <= self.free(self.tops(), above, self.outside, size - 1):
            whole, left = writer.groups(trip_count, size)
            rest = left.value
            raised = 0 if free >= size - 1 else self.levels_spent(size - 1)
            wanted = [head + raised if own is None else head for head, own in zip(group.head, self.heads, strict=True)]
            carried = self.write_guarded(self.inits(), left, size - 1, wanted)
        else:  # iterations that are left over have bootstraps of their own
            whole, left = writer.groups(trip_count, size)
            rest = left.value
            alone = self.group(1, self.base_of(group))
            carried = self.write_groups(alone, left, self.flush(self.inits(), group.head), 0)
        self.end(self.write_groups(group, whole, carried, rest if self.counts else 0))

    def write_guarded(
        self, inits: Sequence[Value], trip_count: TripCount, most: int, wanted: Sequence[int]
    ) -> list[Value]:
        """Write iterations guarded by the trip count, without bootstraps, from at least these levels."""
        around, writer = self.around, self.around.writer
        carried = self.flush(inits, wanted)
        outside = {v: around.at.get(v, v) for v in captured_by(self.op)}
        for number in range(most):
            index = writer.index(number) if self.counts else 0
            condition, start = writer.is_above(trip_count, number), carried
            around.levels[condition] = None

            def body(inside: LoopWriter, index: Value | int = index, start: list[Value] = start) -> list[Value]:
                return inside.iteration(self.op, index, start, outside)

            carried = self.results(writer.when(condition, start, body))
        return carried

    def nest(self) -> None:
        """A loop around others: every iteration has the bootstraps that it needs."""
        around, floor = self.around, -self.residual
        heads = [floor if head is None else head for head in self.heads]
        carried = self.flush(self.inits(), heads)
        block = self.op.regions[0].block

        def body(inside: LoopWriter, index: Value, values: list[Value]) -> list[Value]:
            at = ValueCopies(around.facts)
            at.update((v, around.at.get(v, v)) for v in captured_by(self.op))
            at.update(zip(block.args, [index, *values], strict=True))
            around.levels.update(zip([index, *values], [None, *heads], strict=True))
            planner = BlockPlanner(around.module, self.residual, around.place, inside, at, around.levels)
            return planner.block(block, heads)

        self.end(self.results(around.writer.loop(self.trips, carried, arguments_of(self.op), body)))
