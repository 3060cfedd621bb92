"""What other ways to hold keys come to on the same plan: whole keys, as KeyMemRT and common caches read them.

These are counted on the trace of the plan's uses of keys, with times that were measured here: of a run with all keys
in memory, and of reading. Source of the two modes: KeyMemRT (its rules 4, 5, 7 and 10): every use loads its key at the
top level and clears it; a clear and a load of the same key with at most ten operations between them go; *low-memory*
reads when a key is needed, *balanced* reads ahead, in order, as long as no more keys are held than it may.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from latticework.compiler.keys import resident_bytes
from latticework.plan.analysis.memory_plan import MachinePrices
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.cost import CostModel
from latticework.plan.key_schedule.key_uses import Called, Either, KeyStep, Loop, Node, Others, key_order
from latticework.plan.schema.schema import Plan

MERGED_OPERATIONS = 10


@dataclass(frozen=True, slots=True)
class Use:
    """An instruction that reads keys.

    keys     by number, all of which it wants whole at the same time
    place    number of the instruction in the run
    seconds  since the last such instruction began to have its keys: what is computed before this one
    """

    keys: tuple[int, ...]
    place: int
    seconds: float


@dataclass(frozen=True)
class Trace:
    """The uses of a run, in order, and what is computed behind the last of them."""

    uses: Sequence[Use]
    rest: float

    @property
    def computing(self) -> float:
        """Seconds of the run but for reading."""
        return self.rest + sum(use.seconds for use in self.uses)

    def scaled(self, seconds: float) -> Trace:
        """The same, of a run that takes so long."""
        by = seconds / self.computing
        return Trace([Use(use.keys, use.place, by * use.seconds) for use in self.uses], by * self.rest)


@dataclass(frozen=True)
class Held:
    """What a way comes to: keys read, the most bytes of keys in memory, and seconds."""

    loads: int
    loaded_bytes: int
    peak_bytes: int
    seconds: float


def unseeded_bytes(plan: Plan) -> int:
    """All keys at the top of the longest track, both halves stored; a key to the sparse secret is for q0 only."""
    chain = plan.chain
    track = max(range(len(chain.tracks)), key=lambda t: chain.tracks[t].top)
    tops = (s if s.kind == "to_sparse" else replace(s, track=track, level=chain.tracks[track].top) for s in plan.keys)
    return sum(resident_bytes(spec, chain) for spec in tops)


def trace(plan: Plan) -> Trace:
    """The uses of a run whose loops turn as often as they may."""
    trips = TripCounts(plan, None)
    follower = _Follower(MachinePrices(plan, CostModel.load(), trips))
    follower.follow(key_order(plan, plan.chain, trips))
    return Trace(follower.uses, follower.since)


class _Follower:
    def __init__(self, prices: MachinePrices) -> None:
        self.prices = prices
        self.uses: list[Use] = []
        self.place = 0
        self.since = 0.0

    def follow(self, nodes: Sequence[Node]) -> None:
        """Of two branches the first is followed."""
        for node in nodes:
            if isinstance(node, Others):
                self.place += len(node.sites)
                self.since += sum(map(self.prices.seconds, node.sites))
            elif isinstance(node, KeyStep):
                self.place += 1
                keys = dict.fromkeys(part.key for one in node.passes for part in one)
                self.uses.append(Use(tuple(keys), self.place, self.since))
                self.since = self.prices.seconds(node.site)
            elif isinstance(node, Loop):
                for _ in range(node.trips):
                    self.follow(node.body)
            elif isinstance(node, Called):
                self.follow(node.body)
            else:
                assert isinstance(node, Either)
                self.follow(node.branches[0])


@dataclass(frozen=True, slots=True)
class _Range:
    """A key from the use that loads it to the use after which it is cleared, by their numbers."""

    key: int
    first: int
    last: int


def merged(run: Trace) -> list[_Range]:
    """Ranges of keys in order of their loads: each use its own, but those next to each other are one."""
    found: list[_Range] = []
    open_: dict[int, tuple[int, int]] = {}
    for number, use in enumerate(run.uses):
        for key in use.keys:
            first, last = open_.get(key, (number, number))
            if use.place - run.uses[last].place > MERGED_OPERATIONS:
                found.append(_Range(key, first, last))
                first = number
            open_[key] = first, number
    found += [_Range(key, first, last) for key, (first, last) in open_.items()]
    return sorted(found, key=lambda one: (one.first, one.key))


def low_memory(run: Trace, key_bytes: int, key_seconds: float) -> Held:
    """KeyMemRT's mode that reads a key when it is needed."""
    ranges = merged(run)
    peak = max(_held_at(ranges, len(run.uses)), default=0)
    seconds = run.computing + len(ranges) * key_seconds
    return Held(len(ranges), len(ranges) * key_bytes, peak * key_bytes, seconds)


def _held_at(ranges: Sequence[_Range], uses: int) -> Iterator[int]:
    changes = [0] * (uses + 1)
    for one in ranges:
        changes[one.first] += 1
        changes[one.last + 1] -= 1
    held = 0
    for change in changes[:-1]:
        held += change
        yield held


def balanced(run: Trace, key_bytes: int, key_seconds: float, most_keys: int) -> Held:
    """KeyMemRT's mode that reads ahead, in order, while fewer than `most_keys` are held.

    The limit is raised to what low-memory mode holds, below which the run would never get its keys.
    """
    ranges = merged(run)
    most = max(most_keys, *_held_at(ranges, len(run.uses))) if ranges else 0
    clears = sorted(one.last for one in ranges)
    ends: list[float] = []  # of uses and what follows them
    reader, loaded = 0.0, 0
    for number, use in enumerate(run.uses):
        ready = ends[-1] if ends else use.seconds
        while loaded < len(ranges) and ranges[loaded].first == number:
            # As no more than `most` are held at any use, the clear that makes room has come by now.
            room = ends[clears[loaded - most]] if loaded >= most else 0.0
            reader, loaded = max(reader, room) + key_seconds, loaded + 1
            ready = max(ready, reader)
        after = run.uses[number + 1].seconds if number + 1 < len(run.uses) else run.rest
        ends.append(ready + after)
    seconds = ends[-1] if ends else run.rest
    return Held(len(ranges), len(ranges) * key_bytes, min(most, len(ranges)) * key_bytes, seconds)


def least_recent(run: Trace, sizes: Sequence[int], budget_bytes: int, byte_seconds: float) -> Held:
    """A cache of whole keys that drops the least recently used; nothing that an instruction wants leaves before it.

    sizes  bytes in memory of each key, at its level in the manifest
    """
    held: OrderedDict[int, int] = OrderedDict()
    loads = loaded = peak = 0
    for use in run.uses:
        for key in use.keys:
            if key in held:
                held.move_to_end(key)
                continue
            while held and sum(held.values()) + sizes[key] > budget_bytes:
                victim = next((one for one in held if one not in use.keys), None)
                if victim is None:
                    break
                del held[victim]
            held[key] = sizes[key]
            loads, loaded = loads + 1, loaded + sizes[key]
            peak = max(peak, sum(held.values()))
    return Held(loads, loaded, peak, run.computing + loaded * byte_seconds)
