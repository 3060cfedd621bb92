"""Layout search: dynamic programming over the program's operations, by predicted time.

A state says where the values that are still needed lie, and what that took. Every operation extends every state by
each of its choices: operands are converted to where the choice wants them, the result lies where it says. Of
states that leave the same values in the same places only those survive that are cheaper, spend fewer levels or fewer
ciphertexts of the client, and of all states the `beam` cheapest. Encrypted inputs are laid out by the client, so theirs
are chosen where they are first used, for the price of sending them: as compactly as can be, or as often as the first
use wants them. A value that is used twice is paid for once.

Source: Rotom, section 6 (the cheapest kernel per output layout); here whole states are kept instead, so that shared
values are not counted twice, and time takes the place of operation counts.
Cost: O(ops * beam * choices) prices, which their owner caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import NoReturn, Protocol

from latticework.errors import LayoutError
from latticework.ir import Block, Module, Op, Value, kind_key, last_uses
from latticework.ir.dialects.tensor_dialect import TensorType
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.placement_record import ProgramLayout, pareto_front
from latticework.tensor.layout.assign import LayoutRules, OperationLayouts, is_trivial
from latticework.tensor.layout.conversions import Conversion, stations
from latticework.tensor.layout.derive import fold
from latticework.tensor.layout.layout import Layout, Shape
from latticework.tensor.layout.reasons import Move, Other, Taken
from latticework.tensor.layout.tuning import USUAL, LayoutTuning
from latticework.values.packing.pack import MAX_PLACES
from latticework.values.sums import add_up

MOST_VECTORS = 256  # times as many as the choice that takes the fewest: what it would take is not looked at

MOST_ITERATIONS = 2  # layouts of what a loop carries that are tried
_DEEPEST = 500  # levels from which on all are as dear: powers leave the range of numbers


@dataclass(frozen=True, slots=True)
class Price:
    """Predicted seconds, and levels spent."""

    seconds: float = 0.0
    levels: int = 0


class Prices(Protocol):
    """Cost model of the search; `spent` is the number of levels that the operands have spent already."""

    def operation(self, op: Op, choice: OperationLayouts, layouts: Sequence[Layout | None], spent: int) -> Price:
        """Price an operation whose secret operands have these layouts (None: public)."""

    def conversion(self, shape: Shape, old: Layout, new: Layout, spent: int) -> Price:
        """Price the cheapest conversion from one layout to another."""

    def find_conversions(self, shape: Shape, old: Layout, new: Layout) -> Sequence[Conversion]:
        """Return the steps of the cheapest conversion."""

    def client_transfer(self, layout: Layout) -> float:
        """Return the seconds to send a tensor to or from the client."""


Choices = Callable[[Op, Sequence[Layout | None], LayoutRules], Iterable[OperationLayouts]]


@dataclass(frozen=True)
class Decisions:
    """Result of a layout search.

    inputs    layout of every encrypted input
    heads     of what loops carry, where it is not that of the initial value
    chosen    choice of every operation with a secret result, in loops too
    explored  choices that were priced
    seconds   predicted for the whole program, sending included, and what levels of iterations take
    taken     what each decision took;  others  the best other layout of each result
    pareto    layouts of the program of which none is better in time, levels and ciphertexts at once
    """

    inputs: dict[Value, Layout]
    heads: dict[Value, Layout]
    chosen: dict[Op, OperationLayouts]
    explored: int
    seconds: float
    prices: Prices
    taken: dict[Op | Value, Taken]
    others: dict[Op, Other]
    pareto: tuple[ProgramLayout, ...]

    def find_conversions(self, value: Value, old: Layout, new: Layout) -> Sequence[Conversion]:
        """The conversions of a value, one after the other."""
        return self.prices.find_conversions(value.type.shape, old, new)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class _SearchState:
    """layouts and spent levels of the values that live; what it took; the decisions that led here, newest first.

    sent  ciphertexts of the client
    """

    layouts: Mapping[Value, Layout]
    spent: Mapping[Value, int]
    seconds: float = 0.0
    deepest: int = 0
    sent: int = 0
    trail: tuple[object, object, Layout | OperationLayouts, Taken] | None = None

    def having(
        self, value: Value, layout: Layout, spent: int, price: Price, what: object, how: object,
        moves: Sequence[Move] = (), sent: int = 0,
    ) -> _SearchState:  # fmt: skip
        """The state with one more value chosen, its operands moved or the client having sent it."""
        total = self.seconds + add_up(move.seconds for move in moves) + price.seconds
        return _SearchState(
            {**self.layouts, value: layout},
            {**self.spent, value: spent},
            total,
            max(self.deepest, spent),
            self.sent + sent,
            (self.trail, what, how, Taken(price.seconds, price.levels, tuple(moves), total)),  # type: ignore[arg-type]
        )

    def rank(self, tuning: LayoutTuning, scarce_levels: bool, level_seconds: float) -> float:
        """Seconds, what the depth makes everything cost, and what its levels take."""
        scarce = tuning.scarce_level ** min(self.deepest, _DEEPEST)
        dearer = scarce if scarce_levels else 1.0 + tuning.level_share * self.deepest
        return self.seconds * dearer + level_seconds * self.deepest


@dataclass
class LayoutSearch:
    """One search.

    choices  the choices of an operation
    pool     layouts for a shape in which a client may send it
    scarce_levels  few levels count for more than little time
    level_seconds  what a level takes that an iteration of a loop spends, where loops bootstrap
    """

    rules: LayoutRules
    choices: Choices
    prices: Prices
    pool: Callable[[Shape], Sequence[Layout]]
    tuning: LayoutTuning = USUAL
    scarce_levels: bool = False
    level_seconds: float = 0.0
    explored: int = 0
    _numbers: dict[Value, int] = field(default_factory=dict)
    _choices: dict[object, list[OperationLayouts]] = field(default_factory=dict)
    _texts: dict[Layout, str] = field(default_factory=dict)
    _reached: dict[Op, dict[Layout, float]] = field(default_factory=dict)  # least seconds, by where a result lies

    def run(self, module: Module) -> Decisions:
        """Layouts for a whole module.

        raises  LayoutError of an operation that fits nowhere
        """
        self._number(module.body)
        end = self._block(module.body, [_SearchState({}, {})], keep=False)
        best = min(end, key=lambda state: (self._rank(state), state.seconds, state.sent))
        inputs: dict[Value, Layout] = {}
        heads: dict[Value, Layout] = {}
        chosen: dict[Op, OperationLayouts] = {}
        taken: dict[Op | Value, Taken] = {}
        trail = best.trail
        while trail is not None:
            trail, what, how, took = trail  # type: ignore[assignment]
            taken[what] = took  # type: ignore[index]
            if isinstance(what, Op):
                chosen[what] = how  # type: ignore[assignment]
            else:
                layouts = inputs if what.owner is module.body else heads  # type: ignore[attr-defined]
                layouts[what] = how  # type: ignore[index, assignment]
        for value in module.inputs:
            if isinstance(value.type, TensorType) and value not in inputs:
                inputs[value] = self.rules.input_layout(value.type.shape)  # nothing reads it
        others = {}
        for op, choice in chosen.items():
            there = [(s, lay) for lay, s in self._reached[op].items() if lay != choice.result]
            if there:
                seconds, layout = min(there, key=lambda item: item[0])
                others[op] = Other(layout, seconds - taken[op].total)
        endings = (ProgramLayout(s.seconds, s.deepest, s.sent, s is best) for s in end)
        return Decisions(
            inputs, heads, chosen, self.explored, best.seconds, self.prices, taken, others, pareto_front(endings)
        )

    # -- blocks ------------------------------------------------------------------------------

    def _rank(self, state: _SearchState) -> float:
        return state.rank(self.tuning, self.scarce_levels, self.level_seconds)

    def _number(self, block: Block) -> None:
        for value in block.args:
            self._numbers[value] = len(self._numbers)
        for op in block.ops:
            for value in op.results:
                self._numbers[value] = len(self._numbers)
            for region in op.regions:
                self._number(region.block)

    def _block(self, block: Block, states: list[_SearchState], keep: bool) -> list[_SearchState]:
        """States after a block. keep: values from outside live on."""
        ending: dict[int, set[Value]] = {}
        for value, until in last_uses(block).items():
            ending.setdefault(until, set()).add(value)
        outside = {value for state in states for value in state.layouts}
        for place, op in enumerate(block.ops):
            if op.spec.terminator:
                return [self._finish(op, state) for state in states] if not keep else states
            if op.regions:
                states = [after for state in states for after in self._search_loop(op, state)]
            elif any(_is_tensor(v) and v.is_secret for v in op.results):
                states = [after for state in states for after in self._place(op, state)] or self._refuse(op)
                reached = self._reached.setdefault(op, {})
                for state in states:
                    lying = state.layouts[op.result]
                    reached[lying] = min(state.seconds, reached.get(lying, state.seconds))
            states = self._prune(states, ending.get(place, set()) - (outside if keep else set()))
        return states

    def _finish(self, op: Op, state: _SearchState) -> _SearchState:
        for value in op.operands:
            if not (_is_tensor(value) and value.is_secret):
                continue
            if value not in state.layouts:
                state = self._close(state, value, self.rules.input_layout(value.type.shape))  # type: ignore[attr-defined]
            lying = state.layouts[value]
            state = _SearchState(
                state.layouts,
                state.spent,
                state.seconds + self.prices.client_transfer(lying),
                state.deepest,
                state.sent + lying.count,
                state.trail,
            )
        return state

    def _prune(self, states: list[_SearchState], gone: set[Value]) -> list[_SearchState]:
        """Drop dead values; keep the best states of those with the same layouts, and the cheapest of all."""
        groups: dict[object, list[_SearchState]] = {}
        for state in states:
            layouts = {v: lay for v, lay in state.layouts.items() if v not in gone}
            spent = {v: n for v, n in state.spent.items() if v in layouts}
            live = _SearchState(layouts, spent, state.seconds, state.deepest, state.sent, state.trail)
            key = tuple(sorted([(self._numbers[v], self._text(lay)) for v, lay in layouts.items()]))
            groups.setdefault(key, []).append(live)
        survivors = []
        for group in sorted(groups, key=str):
            best: list[_SearchState] = []
            for state in sorted(groups[group], key=lambda s: (s.seconds, s.deepest, s.sent)):
                if all(self._cheaper_somewhere(state, other) for other in best):
                    best.append(state)
            survivors += best
        return sorted(survivors, key=self._rank)[: self.tuning.beam]

    def _text(self, layout: Layout) -> str:
        """Return a layout as text, written once: states are told apart by many of them."""
        text = self._texts.get(layout)
        if text is None:
            text = self._texts[layout] = str(layout)
        return text

    @staticmethod
    def _cheaper_somewhere(state: _SearchState, other: _SearchState) -> bool:
        """Whether a dearer state spends fewer levels on some value that lives, or in all, or fewer ciphertexts."""
        if state.deepest < other.deepest or state.sent < other.sent:
            return True
        return any(n < other.spent.get(v, n) for v, n in state.spent.items())

    # -- operations --------------------------------------------------------------------------

    def _close(self, state: _SearchState, value: Value, layout: Layout) -> _SearchState:
        """An input gets its layout."""
        price = Price(self.prices.client_transfer(layout))
        return state.having(value, layout, 0, price, value, layout, sent=layout.count)

    def _place(self, op: Op, state: _SearchState) -> Iterator[_SearchState]:
        secret = [v for v in op.operands if _is_tensor(v) and v.is_secret]
        is_open = list(dict.fromkeys(v for v in secret if v not in state.layouts))
        pools = [self._open(v.type.shape) for v in is_open]  # type: ignore[attr-defined]
        seen: set[object] = set()
        for tried in product(*pools):
            assumed = dict(zip(is_open, tried, strict=True))
            layouts = [
                (state.layouts.get(v) or assumed[v]) if _is_tensor(v) and v.is_secret else None for v in op.operands
            ]
            for choice in self._offer(op, layouts):
                sendable = [self._send_as(op, value, layout, choice) for value, layout in assumed.items()]
                for sent in product(*sendable):
                    if is_open and (choice, sent) in seen:
                        continue
                    seen.add((choice, sent))
                    yield self._with(op, state, choice, dict(zip(is_open, sent, strict=True)))

    def _offer(self, op: Op, layouts: Sequence[Layout | None]) -> Sequence[OperationLayouts]:
        """The choices that can be packed, found once for all operations of a kind."""
        key = (kind_key(op), tuple(layouts))
        if key not in self._choices:
            fitting = [p for p in self.choices(op, layouts, self.rules) if p.fits]
            few = min((_vectors(p) for p in fitting), default=0)
            self._choices[key] = [p for p in fitting if _vectors(p) <= MOST_VECTORS * few]
        return self._choices[key]

    def _refuse(self, op: Op) -> NoReturn:
        shapes = " and ".join(str(v.type.shape) for v in op.operands if isinstance(v.type, TensorType))
        raise LayoutError(
            f"{op.name.removeprefix('tensor.')}: however the operands of shapes {shapes} are laid out in vectors of "
            f"{self.rules.slots} slots, they take more than {MAX_PLACES} slots together; compute it in parts, such as "
            "some rows or columns at a time",
            at=op.loc,
        )

    def _open(self, shape: Shape) -> Sequence[Layout]:
        """Return layouts to try for an input that has none yet: fewer of large ones, whose prices take long."""
        pool = self.pool(shape)
        return pool[: self.tuning.open_layouts if pool[0].count == 1 else self.tuning.open_large]

    def _with(
        self,
        op: Op,
        state: _SearchState,
        choice: OperationLayouts,
        sent: Mapping[Value, Layout],
    ) -> _SearchState:
        """The state after an operation in one choice, some operands just sent."""
        self.explored += 1
        for value, layout in sent.items():
            state = self._close(state, value, layout)
        spent = 0
        moves: list[Move] = []
        where: list[Layout | None] = []
        for value, wanted in zip(op.operands, choice.operands, strict=True):
            if not (_is_tensor(value) and value.is_secret):
                where.append(None)
                continue
            lying = state.layouts[value]
            target = wanted or lying
            price = Price()
            if target != lying:
                price = self.prices.conversion(value.type.shape, lying, target, state.spent[value])  # type: ignore[attr-defined]
                moves.append(Move(value, lying, target, price.seconds))
            where.append(target)
            spent = max(spent, state.spent[value] + price.levels)
        price = self.prices.operation(op, choice, where, spent)
        return state.having(op.result, choice.result, spent + price.levels, price, op, choice, moves)

    def _send_as(self, op: Op, value: Value, layout: Layout, choice: OperationLayouts) -> list[Layout]:
        """Return layouts that a client may send: that of the first use, or the nearest to it with no more vectors."""
        for operand, wanted in zip(op.operands, choice.operands, strict=True):
            if operand is value and wanted is not None:
                may = self.rules.may_send
                if wanted.count <= layout.count and may(wanted):
                    return [wanted]
                candidates = [layout, *(near for stop in stations(wanted) for near in (stop, fold(stop)) if may(near))]
                near = [station for station in dict.fromkeys(candidates) if station.count <= layout.count]
                few = min(near, key=lambda station: self._seconds(value, station, wanted))
                most = self.tuning.most_sent * layout.count
                often = wanted.fits and (wanted.count <= most or op.name == "tensor.rows") and may(wanted)
                return [few, wanted] if often else [few]
        return [layout]

    def _seconds(self, value: Value, old: Layout, new: Layout) -> float:
        return self.prices.conversion(value.type.shape, old, new, 0).seconds  # type: ignore[attr-defined]

    def _search_loop(self, op: Op, state: _SearchState) -> Iterator[_SearchState]:
        """A loop: its carried values lie at the end of the body as at the head.

        There they lie as the initial values do; or as an iteration leaves them that began so.
        """
        for value in op.operands:
            if _is_tensor(value) and value.is_secret and value not in state.layouts:
                state = self._close(state, value, self.rules.input_layout(value.type.shape))  # type: ignore[attr-defined]
        block = op.regions[0].block
        starts = {
            head: state.layouts.get(value) or self.rules.row_major(head.type.shape)  # type: ignore[attr-defined]
            for head, value in zip(block.args[1:], _initial_values(op), strict=True)
            if _is_tensor(head)
        }
        heads, tried = starts, list[dict[Value, Layout]]()
        while heads not in tried and len(tried) < MOST_ITERATIONS:
            tried.append(heads)
            ends = self._search_iteration(op, state, starts, heads)
            yield from (after for after, _ in ends)
            heads = {**heads, **ends[0][1]} if ends else heads

    def _search_iteration(
        self, op: Op, state: _SearchState, starts: Mapping[Value, Layout], heads: Mapping[Value, Layout]
    ) -> list[tuple[_SearchState, dict[Value, Layout]]]:
        """States after a loop whose carried values lie so at its head, and where its body left them."""
        static = op.attrs.get("static_trip")
        trip_count = self.tuning.unknown_trip_count if static is None else int(static)
        block = op.regions[0].block
        inits = dict(zip(block.args[1:], _initial_values(op), strict=True))
        spent = {**state.spent, **{head: state.spent.get(inits[head], 0) for head in heads}}
        before = state
        for head, layout in heads.items():
            if layout != starts[head]:
                price = self._start(inits[head], starts[head], layout, spent[head])
                spent[head] += price.levels
                before = before.having(head, layout, spent[head], price, head, layout)
        inner = _SearchState({**before.layouts, **heads}, spent, 0.0, before.deepest, before.sent, before.trail)
        found = []
        for end in self._block(block, [inner], keep=True):
            seconds, left, levels = end.seconds, {}, 0
            for head, value in zip(block.args[1:], block.terminator.operands, strict=True):
                if _is_tensor(value) and value in end.layouts:
                    left[head] = end.layouts[value]
                    back = Price()
                    if left[head] != heads[head]:
                        shape = value.type.shape  # type: ignore[attr-defined]
                        back = self.prices.conversion(shape, left[head], heads[head], end.spent[value])
                    seconds += back.seconds
                    levels = max(levels, end.spent[value] + back.levels - spent[head])
            results = {r: heads[h] for r, h in zip(op.results, block.args[1:], strict=True) if h in heads}
            drop = {r: spent[h] for r, h in zip(op.results, block.args[1:], strict=True) if r in results}
            after = _SearchState(
                {**state.layouts, **results},
                {**state.spent, **drop},
                before.seconds + trip_count * (seconds + self.level_seconds * levels),
                max(before.deepest, end.deepest),
                end.sent,
                end.trail,
            )
            found.append((after, left))
        found.sort(key=lambda each: self._rank(each[0]))
        return found[: max(1, self.tuning.beam // 4)]

    def _start(self, init: Value, old: Layout, new: Layout, spent: int) -> Price:
        """Price the conversion of an initial value to the layout that a loop wants: nothing, if it is public."""
        if is_trivial(init):
            return Price()
        return self.prices.conversion(init.type.shape, old, new, spent)  # type: ignore[attr-defined]


def _initial_values(loop: Op) -> Sequence[Value]:
    """The initial values of what a loop carries, without the trip count."""
    return loop.operands if loop.attrs.get("static_trip") is not None else loop.operands[1:]


def _is_tensor(value: Value) -> bool:
    return isinstance(value.type, TensorType)


def _vectors(choice: OperationLayouts) -> int:
    """Count the vectors of the operand or result that takes the most."""
    laid = [*(layout for layout in choice.operands if layout is not None), choice.result]
    return max(layout.count for layout in laid)
