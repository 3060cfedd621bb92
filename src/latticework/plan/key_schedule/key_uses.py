"""Every use of an evaluation key in a plan: which instruction reads which rows of which key, and in what order.

A row is one prime's residues of both halves of one digit of a key; rows of a plan are all equally large. An instruction
makes passes over its keys, one for each ciphertext of an array, and a pass goes through its target limbs in order:
special limbs first, then the Q limbs of the level of its ciphertext, whatever the key's own level is. So what a pass
reads of a key is a rectangle of digits and limbs, which the types of the instruction's operands say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.executable import Executable
from latticework.plan.instructions.register_kinds import KeyKind
from latticework.plan.instructions.value_shapes import key_digits, key_limbs, key_row_bytes, plain_rows
from latticework.plan.instructions.walk import Body, Domain, Site, Walk
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec
from latticework.values.packing.packed_constants import MapSums

LATE_KEYS = ("to_dense",)  # read at the level that comes out, not at the one that goes in


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The rows of one key that a pass reads.

    key     its number in the plan
    spec    the key at the track and level of use
    digits, limbs  by their numbers in the chain; every digit with every limb is a row
    """

    key: int
    spec: KeySpec
    digits: tuple[int, ...]
    limbs: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Rows that are read."""
        return len(self.digits) * len(self.limbs)


Pass = tuple[KeyPart, ...]  # of one set of limbs


@dataclass(frozen=True, slots=True)
class KeyRead:
    """One use of one key.

    block, index  of the instruction
    passes  times that it goes through the key;  bytes  of the rows that each of them reads, in memory
    """

    block: int
    index: int
    op: str
    location: int
    part: KeyPart
    passes: int
    bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class KeyStep:
    """An instruction that reads keys, and its passes in order."""

    site: Site
    passes: tuple[Pass, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """Instructions that read no key."""

    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A loop, which runs its body `trips` times."""

    trips: int
    body: Sequence[Node]


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """Two branches of which one is taken, and it is not known which."""

    branches: tuple[Sequence[Node], Sequence[Node]]


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """A block that is called; every call with the same integers is the same object's body.

    location  of the call;  block  its number
    """

    location: int
    block: int
    body: Sequence[Node]


Node = KeyStep | Others | Loop | Either | Called


class KnownTripCounts(Protocol):
    """Trip counts, as far as they are known (`analysis.trips.TripCounts`)."""

    indices: list[int | None]

    def of(self, loop: Site, known: int | None) -> int:
        """Return the trip count of a loop."""


def key_uses(plan: Executable, chain: ModulusChain, at_once: Callable[[int], int] | None = None) -> tuple[KeyRead, ...]:
    """Every use of every key, block by block, each block once; passes that read one part of a key are one use.

    at_once  as of `passes_of`
    """
    walk, size = Walk(plan, chain, Domain()), key_row_bytes(chain)
    reads: list[KeyRead] = []
    for number in range(len(plan.blocks)):
        for site in walk.sites(number):
            times: dict[KeyPart, int] = {}
            for one in passes_of(site, chain, plan, at_once):
                for part in one:
                    times[part] = times.get(part, 0) + 1
            at = site.block, site.index, site.record.name, site.instruction.location
            reads += [KeyRead(*at, part, passes, part.rows * size) for part, passes in times.items()]
    return tuple(reads)


def key_order(
    plan: Executable, chain: ModulusChain, trip_counts: KnownTripCounts, at_once: Callable[[int], int] | None = None
) -> Sequence[Node]:
    """Return the uses of keys in the order of a run, loops and calls kept as they are; `trip_counts` are those of
    loops."""
    order = _Order(plan, chain, trip_counts, at_once)
    Walk(plan, chain, order).run(0, trip_counts.indices)
    return order.take()


def passes_of(
    site: Site, chain: ModulusChain, plan: Executable, at_once: Callable[[int], int] | None = None
) -> tuple[Pass, ...]:
    """The passes of an instruction over its keys, in order; none where it reads no key.

    at_once  rows of a plaintext -> how many of them a block map multiplies with in one pass; None: all of an input
    """
    use = site.use
    products = site.record.keys(use)
    if not products:
        return ()
    parts = {place: _part(site, chain, plan, place) for place in sorted(products)}
    if not site.record.signature.has_map:
        return (tuple(dict.fromkeys(parts.values())),) * max(products.values())
    constant = use.constants[use.immediate[0]]
    assert isinstance(constant, MapSums)
    rows = plain_rows(chain, use.stated)
    subsets = _babies_by_pass(constant, at_once(rows) if at_once else len(constant.products.rows))
    return tuple(tuple(parts[baby] for baby in babies) for babies in subsets if babies)


def _part(site: Site, chain: ModulusChain, plan: Executable, place: int) -> KeyPart:
    """All that an instruction reads of the key that is its operand of this place."""
    kind, spec = plan.kinds[plan.registers[site.instruction.operands[place].register]], site.use.operands[place]
    assert isinstance(kind, KeyKind) and isinstance(spec, KeySpec)
    at = site.use.stated if spec.kind in LATE_KEYS else site.use.operands[0]
    spec = replace(spec, track=at.track, level=at.level)
    return KeyPart(kind.key, spec, key_digits(chain, spec), key_limbs(chain, spec))


def _babies_by_pass(sums: MapSums, at_once: int) -> Iterator[tuple[int, ...]]:
    """Return the numbers of the keys of each pass of a block map: input by input, `at_once` products at a time."""
    by_input: dict[int, list[int]] = {}
    for in_, baby, _ in sums.products.rows.tolist():
        by_input.setdefault(in_, []).append(baby)
    for in_ in sorted(by_input):
        own = by_input[in_]
        for first in range(0, len(own), at_once):
            yield tuple(baby for baby in dict.fromkeys(own[first : first + at_once]) if baby)


class _Order(Domain):
    """Follows every block once, called ones once for every set of integers."""

    def __init__(
        self, plan: Executable, chain: ModulusChain, trip_counts: KnownTripCounts, at_once: Callable[[int], int] | None
    ) -> None:
        self.plan = plan
        self.chain = chain
        self.trips = trip_counts
        self.at_once = at_once
        self._nodes: list[Node] = []
        self._others: list[Site] = []
        self._steps: dict[tuple[int, int], KeyStep | None] = {}
        self._calls: dict[tuple[Any, ...], tuple[Sequence[Node], Sequence[Any]]] = {}

    def take(self) -> list[Node]:
        """Return the nodes since the last time."""
        self._add()
        nodes, self._nodes = self._nodes, []
        return nodes

    def _add(self, *nodes: Node) -> None:
        if self._others:
            self._nodes.append(Others(tuple(self._others)))
            self._others = []
        self._nodes += nodes

    def _inside(self, follow: Callable[[], Sequence[Any]]) -> tuple[list[Node], Sequence[Any]]:
        """Return the nodes of a block that is followed, and what it yields."""
        before = self.take()
        yielded = follow()
        inside = self.take()
        self._nodes = before
        return inside, yielded

    def step(self, site: Site, operands: list[Any]) -> Sequence[None]:
        """Note an instruction."""
        place = site.block, site.index
        if place not in self._steps:
            passes = passes_of(site, self.chain, self.plan, self.at_once)
            self._steps[place] = KeyStep(site, passes) if passes else None
        known = self._steps[place]
        if known is None:
            self._others.append(site)
        else:
            self._add(known)
        return [None] * len(site.instruction.results)

    def loop(self, site: Site, trip_count: int | None, carried: Sequence[Any], body: Body) -> Sequence[None]:
        """Note a loop, whatever it carries."""
        nothing = [None] * len(carried)
        inside, _ = self._inside(lambda: body(None, nothing))
        self._add(Loop(self.trips.of(site, trip_count), inside))
        return nothing

    def branch(
        self, site: Site, condition: int | None, then: Callable[[], list[Any]], otherwise: Callable[[], list[Any]]
    ) -> Sequence[Any]:
        """Follow the branch that is taken, or both."""
        if condition is not None:
            return then() if condition else otherwise()
        (first, _), (second, _) = self._inside(then), self._inside(otherwise)
        self._add(Either((first, second)))
        return [None] * len(site.instruction.results)

    def call(self, site: Site, operands: Sequence[Any], follow: Callable[[], list[Any]]) -> Sequence[Any]:
        """A called block, which is the same for the same integers."""
        key = (site.instruction.immediate[0], *operands)
        if key not in self._calls:
            self._calls[key] = self._inside(follow)
        inside, yielded = self._calls[key]
        self._add(Called(site.instruction.location, site.instruction.immediate[0], inside))
        return yielded
