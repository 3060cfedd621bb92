"""lift: a regular circuit as a few loop nests over arrays.

In:  a graph, as it was traced (rewriting and balancing would hide what is regular), with its arguments and results.
Out: stages, each an array of numbers that is a sum of loop nests over earlier ones; None where it is not regular.

Numbers of the circuit that are computed alike, down to the arguments they start from, form one array, ordered as they
were traced. The terms of every element are put into one order, and the elements that they read have to be sums of one
stride for every loop. Everything is then replayed, so that a guess that does not hold is never used; what is built of
the stages is checked once more, as a whole (`latticework.compiler.lifting`).
Cost: sorting all terms a few times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from latticework.compiler.lanes.circuit_terms import CircuitTerms, flatten_sums
from latticework.compiler.lanes.lane_graph import ADD_CONSTANT, BINARY, INPUT, MUL_CONSTANT, Constant, Graph, Node
from latticework.compiler.lanes.nests import Nest, Numbers, Reading, Reals, Stage, loops_in_shape, replay
from latticework.ir import Loc
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import Argument, Result

MAX_MATRIX = 1 << 20  # public numbers in a product with sparse or irregular ones


@dataclass(frozen=True)
class Lifted:
    """Stages in an order in which each reads earlier ones only.

    outputs  which stage each result is
    lines    whose work each stage does, an operation of the circuit counting like any other; unknown for arguments
    """

    stages: tuple[Stage, ...]
    outputs: tuple[int, ...]
    lines: tuple[Loc, ...]


def lift_circuit(graph: Graph, arguments: Sequence[Argument], results: Sequence[Result]) -> Lifted | None:
    """The loop nests of a circuit, or None."""
    if not graph.ends:
        return None
    graph = _with_sums(graph, results)
    sums = flatten_sums(graph, graph.ends)
    return None if sums is None else _Lift(graph, arguments, results, *sums).run()


def _with_sums(graph: Graph, results: Sequence[Result]) -> Graph:
    """Write public numbers of a partly encrypted result as sums too: of something that those start from, times 0."""
    nodes, constants = list(graph.nodes), list(graph.constants)
    outputs, lines = list(graph.outputs), list(graph.lines)
    for result in results:
        ends = [graph.outputs[e] for e in result.elements]
        start = next((end for end in ends if isinstance(end, int)), None)
        if start is None:
            continue
        while graph.nodes[start].code != INPUT:
            start = graph.nodes[start].left
        for element, end in zip(result.elements, ends, strict=True):
            if isinstance(end, Constant):
                nodes += [Node(MUL_CONSTANT, start, len(constants)), Node(ADD_CONSTANT, len(nodes), len(constants) + 1)]
                constants += [0, end.value]
                lines += [graph.lines[start]] * 2
                outputs[element] = len(nodes) - 1
    return Graph(tuple(nodes), tuple(constants), graph.groups, tuple(outputs), tuple(lines))


class _Lift:
    """Arrays of one circuit.

    sums   nodes that are sums, ascending;  terms  theirs
    array  of every node: the array it is an element of, -1 for none yet;  element  which element
    """

    def __init__(
        self, graph: Graph, arguments: Sequence[Argument], results: Sequence[Result], sums: Numbers, terms: CircuitTerms
    ) -> None:
        self.graph, self.results, self.sums, self.terms = graph, results, sums, terms
        self.array = np.full(len(graph.nodes), -1)
        self.element = np.full(len(graph.nodes), -1)
        self.stages: list[Stage] = []
        self.lines = [Loc.unknown()] * len(arguments)
        self.seen: set[int] = set()
        numbers = {(node.left, node.right): i for i, node in enumerate(graph.nodes) if node.code == INPUT}
        for number, argument in enumerate(arguments):
            self.stages.append(Stage(argument.name, argument.encrypted_shape))
            for place, element in enumerate(argument.elements):
                node = numbers.get((argument.input, element))
                if node is not None:
                    self.array[node], self.element[node] = number, place

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
        for _, members in sorted(groups.items()):  # kinds are numbered after those they read
            chosen = np.array(members)
            nests = self._nests(chosen, starts, (len(members),))
            if nests is None:
                return None
            nodes = self.sums[chosen]
            self.array[nodes], self.element[nodes] = len(self.stages), np.arange(len(members))
            shapes = [nest.extents[: nest.num_result_loops] for nest in nests if nest.factors] or [(len(members),)]
            self.stages.append(Stage("", max(shapes, key=len), tuple(nests)))
            self.lines.append(self._lines(nodes.tolist()))
        outputs = []
        for result in self.results:
            nests = self._nests_of(result, starts, kinds)
            if nests is None:
                return None
            outputs.append(len(self.stages))
            self.stages.append(Stage("", result.shape, tuple(nests)))
            self.lines.append(self._lines([end for end in map(self.graph.outputs.__getitem__, result.elements)
                                           if isinstance(end, int)]))  # fmt: skip
        return Lifted(tuple(self.stages), tuple(outputs), tuple(self.lines))

    def _lines(self, nodes: list[int]) -> Loc:
        """The lines of numbers and of what they are made of, as far as no stage before did it; else of these alone."""
        ends, waiting = [self.graph.lines[node] for node in nodes], list(nodes)
        lines: dict[Loc, float] = {}
        while waiting:
            number = waiting.pop()
            node = self.graph.nodes[number]
            if node.code == INPUT or number in self.seen:
                continue
            self.seen.add(number)
            line = self.graph.lines[number]
            lines[line] = lines.get(line, 0.0) + 1.0
            waiting += [node.left, node.right] if node.code in BINARY else [node.left]
        return Loc.fuse(lines.items() or dict.fromkeys(ends, 1.0).items(), ends[0] if ends else Loc.unknown())

    def _nests_of(self, result: Result, starts: Numbers, kinds: list[int]) -> list[Nest] | None:
        """The nests of a result, of which all elements are public numbers or none is."""
        ends = [self.graph.outputs[e] for e in result.elements]
        public = [end.value for end in ends if isinstance(end, Constant)]
        if public:
            return [Nest(result.shape, len(result.shape), (), _fewest(np.array(public, float).reshape(result.shape)))]
        chosen = np.searchsorted(self.sums, np.array(ends))
        alike = len({kinds[i] for i in chosen.tolist()}) == 1
        return self._nests(chosen, starts, result.shape) if alike else None

    def _kinds(self, starts: Numbers) -> list[int]:
        """A number for every sum: equal where the same products are added up of numbers of the same kinds.

        How many numbers are added without being multiplied does not count: some may have been multiplied by zero.
        Numbers ascend from what is read to what reads it.
        """
        of_node = self.array.copy()  # arguments first
        numbers: dict[tuple[bytes, tuple[int, ...]], int] = {}
        kinds: list[int] = []
        left, right = self.terms.left, self.terms.right
        given = len(self.stages)
        for number, node in enumerate(self.sums.tolist()):
            part = slice(starts[number], starts[number + 1])
            pair = np.stack([_kinds_at(of_node, left[part]), _kinds_at(of_node, right[part])])
            pair.sort(axis=0)
            codes = pair[0] * (1 << 31) + pair[1]
            products = np.sort(codes[pair[0] > 0])
            key = (products.tobytes(), tuple(np.unique(codes[(pair[0] == 0) & (pair[1] > 0)]).tolist()))
            kind = numbers.setdefault(key, given + len(numbers))
            kinds.append(kind)
            if self.array[node] < 0:
                of_node[node] = kind
        return kinds

    def _nests(self, chosen: Numbers, starts: Numbers, shape: tuple[int, ...]) -> list[Nest] | None:
        """Sums that are alike as nests whose first loops number them in the order given; a nest a kind of terms."""
        counts = (starts[chosen + 1] - starts[chosen]).astype(np.int64)
        owner = np.repeat(np.arange(len(chosen)), counts)
        rows = np.repeat(starts[chosen] - np.cumsum(counts) + counts, counts) + np.arange(len(owner))
        left, right = self.terms.left[rows], self.terms.right[rows]
        arrays = np.stack([_kinds_at(self.array, left), _kinds_at(self.array, right)])
        swapped = arrays[0] > arrays[1]
        factors = np.where(swapped, np.stack([right, left]), np.stack([left, right]))
        pair = np.minimum(*arrays) * (1 << 31) + np.maximum(*arrays)
        nests = []
        for value in np.unique(pair).tolist():
            these = np.flatnonzero(pair == value)
            nest = self._nest(factors[:, these], owner[these], self.terms.coefficient[rows[these]], shape)
            if nest is None:
                return None
            nests.append(nest)
        return nests

    def _nest(self, factors: Numbers, owner: Numbers, coefficients: Reals, shape: tuple[int, ...]) -> Nest | None:
        """Terms of one kind as one nest, in the first order of terms in which there is one.

        factors       (2, terms) nodes that are multiplied, -1: none
        owner         of every term the element that it is added to, ascending
        """
        elements = int(np.prod(shape, dtype=np.int64))
        present = factors[factors[:, 0] >= 0]
        arrays = [int(self.array[nodes[0]]) for nodes in present]
        places = self.element[present]
        if not arrays:
            total = np.bincount(owner, weights=coefficients, minlength=elements).astype(np.float64)
            return Nest(shape, len(shape), (), _fewest(total.reshape(shape)))
        count, rest = divmod(len(owner), elements)
        if rest or not np.array_equal(owner, np.repeat(np.arange(elements), count)):
            return self._matrix(places[0], arrays[0], owner, coefficients, shape) if len(arrays) == 1 else None
        places = places.reshape(len(arrays), elements, count)
        coefficients = coefficients.reshape(elements, count)
        for sides in _sides(places, arrays, shape):
            for order in _orders(sides):
                ordered = np.stack([np.take_along_axis(side, order, axis=1) for side in sides])
                by_turn = np.take_along_axis(coefficients, order, axis=1)
                nest = _replay(ordered, arrays, by_turn, shape)
                if nest is not None:
                    return nest
        if len(arrays) == 1:
            return self._matrix(places.reshape(-1), arrays[0], owner, coefficients.reshape(-1), shape)
        return None

    def _matrix(
        self, places: Numbers, array: int, owner: Numbers, coefficients: Reals, shape: tuple[int, ...]
    ) -> Nest | None:
        """Sums of single elements by public numbers as a product with a whole matrix; None if that is too large."""
        size, elements = int(np.prod(self.stages[array].shape)), int(np.prod(shape))
        if elements * size > MAX_MATRIX:
            return None
        matrix = np.zeros((elements, size))
        np.add.at(matrix, (owner, places), coefficients)
        extents = (*shape, size)
        reading = Reading(array, 0, (*(0 for _ in shape), 1))
        return Nest(extents, len(shape), (reading,), matrix.reshape(extents))


def _kinds_at(of_node: Numbers, nodes: Numbers) -> Numbers:
    """Return the kind of every node plus 1, 0 where there is none."""
    return np.where(nodes >= 0, of_node[nodes] + 1, 0)


def _sides(places: Numbers, arrays: list[int], shape: tuple[int, ...]) -> Iterator[Numbers]:
    """Yield orders of two factors: as they are; of two elements of one array, also as other elements suggest."""
    yield places
    if len(arrays) == 2 and arrays[0] == arrays[1]:
        yield np.sort(places, axis=0)
        yield from _match(np.sort(places, axis=0), shape)


def _match(places: Numbers, shape: tuple[int, ...]) -> Iterator[Numbers]:
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


def _replay(places: Numbers, arrays: list[int], coefficients: Reals, shape: tuple[int, ...]) -> Nest | None:
    """The nest that reads these places, or None."""
    outer = loops_in_shape(places[:, :, 0], shape)
    inner = loops_in_shape(places[:, 0, :], (places.shape[2],))
    if outer is None or inner is None:
        return None
    for channel, read in enumerate(places):
        wanted = read[0, 0] + replay(outer, channel)[:, None] + replay(inner, channel)[None, :]
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
    first = coefficients.reshape(-1)[:1].reshape(())
    return first if (coefficients == first).all() else coefficients
