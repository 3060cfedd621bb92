"""lift: a regular circuit as a few loop nests over arrays.

In:  a graph, as it was traced (rewriting and balancing would hide what is regular), with its arguments and results.
Out: stages, each an array of numbers that is a sum of loop nests over earlier ones; None where the circuit is not regular.

Numbers of the circuit that are computed alike, down to the arguments they start from, form one array, ordered as they
were traced. The terms of every element are put into one order, and the elements that they read have to be sums of one
stride for every loop. Everything is then replayed, so that a guess that does not hold is never used; what is built of
the stages is checked once more, as a whole (`latticework.lifting`).
Cost: sorting all terms a few times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from latticework.circuit.graph import INPUT, Graph
from latticework.circuit.nests import Nest, Numbers, Reading, Reals, Stage, loops_in_shape, replayed
from latticework.circuit.terms import Terms, flattened
from latticework.plan.arguments import Argument, Result


@dataclass(frozen=True)
class Lifted:
    """Stages in an order in which each reads earlier ones only.

    outputs  which stage each result is
    """

    stages: tuple[Stage, ...]
    outputs: tuple[int, ...]


def lifted(graph: Graph, arguments: Sequence[Argument], results: Sequence[Result]) -> Lifted | None:
    """The loop nests of a circuit, or None."""
    found = flattened(graph, graph.outputs)
    return None if found is None else _Lift(graph, arguments, results, *found).run()


class _Lift:
    """Arrays of one circuit.

    sums   nodes that are sums, ascending;  terms  theirs
    array  of every node: the array it is an element of, -1 for none yet;  place  which element
    """

    def __init__(
        self, graph: Graph, arguments: Sequence[Argument], results: Sequence[Result], sums: Numbers, terms: Terms
    ) -> None:
        self.graph, self.results, self.sums, self.terms = graph, results, sums, terms
        self.array = np.full(len(graph.nodes), -1)
        self.place = np.full(len(graph.nodes), -1)
        self.stages: list[Stage] = []
        numbers = {(node.left, node.right): i for i, node in enumerate(graph.nodes) if node.code == INPUT}
        for number, argument in enumerate(arguments):
            self.stages.append(Stage(argument.name, argument.shape))
            for place, element in enumerate(argument.elements):
                node = numbers.get((argument.input, element))
                if node is not None:
                    self.array[node], self.place[node] = number, place

    def run(self) -> Lifted | None:
        """Arrays of sums that are alike, the first computed first; then the results."""
        read = np.zeros(len(self.graph.nodes), dtype=bool)
        for nodes in (self.terms.left, self.terms.right):
            read[nodes[nodes >= 0]] = True
        starts = np.searchsorted(self.terms.owner, np.arange(len(self.sums) + 1))
        kinds = self._kinds(starts)
        inner = np.flatnonzero(read[self.sums] & (self.array[self.sums] < 0))
        groups: dict[int, list[int]] = {}
        for number in inner.tolist():
            groups.setdefault(kinds[number], []).append(number)
        for kind, members in sorted(groups.items()):  # kinds are numbered after those they read
            chosen = np.array(members)
            nests = self._nests(chosen, starts, (len(members),))
            if nests is None:
                return None
            extents = nests[0].extents[: nests[0].kept]
            nodes = self.sums[chosen]
            self.array[nodes], self.place[nodes] = len(self.stages), np.arange(len(members))
            self.stages.append(Stage("", extents, tuple(nests)))
        outputs = []
        for result in self.results:
            chosen = np.searchsorted(self.sums, np.array(self.graph.outputs)[list(result.elements)])
            nests = self._nests(chosen, starts, result.shape) if len({kinds[i] for i in chosen.tolist()}) == 1 else None
            if nests is None:
                return None
            outputs.append(len(self.stages))
            self.stages.append(Stage("", result.shape, tuple(nests)))
        return Lifted(tuple(self.stages), tuple(outputs))

    def _kinds(self, starts: Numbers) -> list[int]:
        """A number for every sum: equal where the same operations are done on numbers of the same kinds.

        Numbers ascend from what is read to what reads it.
        """
        of_node = self.array.copy()  # arguments first
        numbers: dict[tuple[int, ...] | bytes, int] = {}
        kinds: list[int] = []
        left, right = self.terms.left, self.terms.right
        given = len(self.stages)
        for number, node in enumerate(self.sums.tolist()):
            part = slice(starts[number], starts[number + 1])
            pair = np.stack([_kinds_at(of_node, left[part]), _kinds_at(of_node, right[part])])
            pair.sort(axis=0)
            key = np.sort(pair[0] * (1 << 31) + pair[1]).tobytes()
            kind = numbers.setdefault(key, given + len(numbers))
            kinds.append(kind)
            if self.array[node] < 0:
                of_node[node] = kind
        return kinds

    def _nests(self, chosen: Numbers, starts: Numbers, shape: tuple[int, ...]) -> list[Nest] | None:
        """Sums that are alike as nests whose first loops number them in the order given; a nest a kind of terms."""
        count = int(starts[chosen[0] + 1] - starts[chosen[0]])
        rows = starts[chosen][:, None] + np.arange(count)
        left, right = self.terms.left[rows], self.terms.right[rows]
        arrays = np.stack([_kinds_at(self.array, left), _kinds_at(self.array, right)])
        swapped = arrays[0] > arrays[1]
        first, second = np.where(swapped, right, left), np.where(swapped, left, right)
        pair = np.minimum(*arrays) * (1 << 31) + np.maximum(*arrays)
        order = np.argsort(pair, axis=1, kind="stable")
        pair, rows, first, second = (np.take_along_axis(x, order, axis=1) for x in (pair, rows, first, second))
        if not (pair == pair[0]).all():
            return None
        nests = []
        for value in np.unique(pair[0]).tolist():
            columns = np.flatnonzero(pair[0] == value)
            factors = (first[:, columns], second[:, columns])
            nest = self._nest(factors, self.terms.coefficient[rows[:, columns]], shape)
            if nest is None:
                return None
            nests.append(nest)
        return nests

    def _nest(self, factors: tuple[Numbers, Numbers], coefficients: Reals, shape: tuple[int, ...]) -> Nest | None:
        """Terms of one kind (elements, terms of each) as one nest, in the first order of terms in which there is one."""
        present = [nodes for nodes in factors if nodes[0, 0] >= 0]
        if not present:
            total = coefficients.sum(axis=1)
            return Nest(shape, len(shape), (), _fewest(total.reshape(shape)))
        arrays = [int(self.array[nodes[0, 0]]) for nodes in present]
        places = np.stack([self.place[nodes] for nodes in present])  # (factors, elements, terms)
        for sides in _sides(places, arrays, shape):
            for order in _orders(sides):
                ordered = np.stack([np.take_along_axis(side, order, axis=1) for side in sides])
                by_turn = np.take_along_axis(coefficients, order, axis=1)
                nest = _replayed(ordered, arrays, by_turn, shape)
                if nest is not None:
                    return nest
        return None


def _kinds_at(of_node: Numbers, nodes: Numbers) -> Numbers:
    """Of every node, 0 where there is none."""
    return np.where(nodes >= 0, of_node[nodes] + 1, 0)


def _sides(places: Numbers, arrays: list[int], shape: tuple[int, ...]) -> Iterator[Numbers]:
    """Which factor is the first: as it is; of two elements of one array, also as other elements suggest."""
    yield places
    if len(arrays) == 2 and arrays[0] == arrays[1]:
        yield np.sort(places, axis=0)
        yield from _matched(np.sort(places, axis=0), shape)


def _matched(places: Numbers, shape: tuple[int, ...]) -> Iterator[Numbers]:
    """Factors exchanged where one stride an axis of the result says so; each axis may walk either factor, or both.

    As in the products of a matrix with its own transpose, where a[i] * a[j] and a[j] * a[i] are one number.
    """
    elements = places.shape[1]
    counters = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=np.int64)
    weights = [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]
    if not 1 <= len(shape) <= 4 or elements != counters.shape[1]:
        return
    for choice in range(1 << len(shape)):
        first, second = (places[side, 0][None, :] + np.zeros((elements, 1), dtype=np.int64) for side in range(2))
        for axis, weight in enumerate(weights):
            if shape[axis] == 1:
                continue
            flipped = choice >> axis & 1
            step = places[:, weight] - places[:, 0]
            first = first + counters[axis][:, None] * step[1 if flipped else 0][None, :]
            second = second + counters[axis][:, None] * step[0 if flipped else 1][None, :]
        if (np.minimum(first, second) == places[0]).all() and (np.maximum(first, second) == places[1]).all():
            yield np.stack([first, second])


def _orders(places: Numbers) -> Iterator[Numbers]:
    """Orders of the terms of every element: by the first factor, by the last, as they were traced."""
    keys: list[Callable[[], tuple[Numbers, ...]]] = [lambda: tuple(places[::-1]), lambda: tuple(places)]
    for key in keys[: len(places)]:
        yield np.lexsort(key(), axis=1)
    yield np.broadcast_to(np.arange(places.shape[2]), places.shape[1:])


def _replayed(places: Numbers, arrays: list[int], coefficients: Reals, shape: tuple[int, ...]) -> Nest | None:
    """The nest that reads these places, or None."""
    outer = loops_in_shape(places[:, :, 0], shape)
    inner = loops_in_shape(places[:, 0, :], (places.shape[2],))
    if outer is None or inner is None:
        return None
    for channel, read in enumerate(places):
        wanted = read[0, 0] + replayed(outer, channel)[:, None] + replayed(inner, channel)[None, :]
        if not np.array_equal(wanted, read):
            return None
    loops = outer + inner
    extents = tuple(extent for extent, _ in loops)
    readings = tuple(
        Reading(array, int(places[channel, 0, 0]), tuple(int(step[channel]) for _, step in loops))
        for channel, array in enumerate(arrays)
    )
    return Nest(extents, len(outer), readings, _fewest(coefficients.reshape(extents)))


def _fewest(coefficients: Reals) -> Reals:
    """One number where all are equal."""
    return coefficients.reshape(-1)[0] if (coefficients == coefficients.reshape(-1)[0]).all() else coefficients
