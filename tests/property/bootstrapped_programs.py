"""Random programs as users write them, with loops that bootstrap: sequences, nests, structures, scans, parts of arrays.

Every value stays within [-1, 1], whatever the trip counts are, for inputs within it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import latticework as lw

ROWS = 3
WIDTHS = [3, 4, 4, 5]  # of vectors, whose slots are padded where they are no power of two
LIMIT = 9  # of run-time trip counts
STATIC = [0, 1, 2, 3, 4, 5, 9]
STEPS = ("mul", "mul", "damped", "blend", "neg", "roll", "mean", "polynomial", "weights", "shift", "matrix")
SHAPES = ("single", "tuple", "list", "dictionary", "nested")


@dataclass(frozen=True)
class Scope:
    """What a step may read: values of enclosing blocks and of its own so far, and the loop variable."""

    values: list[Any]
    index: Any
    inputs: dict[str, Any]


Step = Callable[[Scope], Sequence[Any]]  # what it makes


@dataclass
class Body:
    """Steps one after another; `count` values are there when they are done."""

    count: int
    steps: list[Step] = field(default_factory=list)

    def add(self, step: Step, made: int = 1) -> None:
        """Append a step that makes so many values."""
        self.steps.append(step)
        self.count += made

    def run(self, values: Sequence[Any], index: Any, inputs: dict[str, Any]) -> list[Any]:
        """All values in the end."""
        scope = Scope(list(values), index, inputs)
        for step in self.steps:
            scope.values.extend(step(scope))
        assert len(scope.values) == self.count
        return scope.values


class RandomProgram:
    """A program of x, the rows xs, public rates, and the trip counts n (up to `LIMIT`) and m (up to `ROWS`)."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.rates = self.rng.uniform(0.2, 1.0, ROWS)
        self.width = width = draw(st.sampled_from(WIDTHS))
        self.body = Body(1)
        for _ in range(draw(st.integers(0, 2))):
            self.add_step(self.body)
        for _ in range(draw(st.integers(1, 2))):
            self.add_loop(self.body, 2)
            for _ in range(draw(st.integers(0, 2))):
                self.add_step(self.body)
        self.outputs = sorted({self.body.count - 1, self.pick(self.body.count)})
        samples = {"x": self.rng.uniform(-1, 1, (12, width)), "xs": self.rng.uniform(-1, 1, (12, ROWS, width))}
        self.data: dict[str, Any] = {**samples, "n": LIMIT, "m": ROWS}

        def program(x: lw.Secret[width], xs: lw.Secret[ROWS, width], rate: lw.Array, n: lw.Index, m: lw.Index) -> Any:
            return self(x, xs, rate, n, m)

        self.program = lw.program(program)

    def __call__(self, x: Any, xs: Any, rate: Any, n: Any, m: Any) -> tuple[Any, ...]:
        values = self.body.run([x], None, {"xs": xs, "rate": rate, "n": n, "m": m})
        return tuple(values[i] + 0.0 * x for i in self.outputs)  # a result that is public has no use for a server

    def pick(self, count: int) -> int:
        """One of so many values, a late one more often."""
        return count - 1 - self.draw(st.integers(0, min(count - 1, self.draw(st.sampled_from([1, 3, 20])))))

    # -- steps -----------------------------------------------------------------------------------

    def add_step(self, body: Body, *, parts: bool = False) -> None:
        """One operation; `parts`: the loop variable may choose rows of inputs."""
        draw, rng = self.draw, self.rng
        i, j = self.pick(body.count), self.pick(body.count)
        turn, weights = draw(st.integers(1, self.width - 1)), rng.uniform(-1, 1, self.width)
        matrix = rng.uniform(-1, 1, (self.width, self.width)) / self.width
        kinds = {
            "mul": lambda v, _: v[i] * v[j],
            "damped": lambda v, _: 0.6 * v[i] * v[j] + 0.4 * v[i],
            "blend": lambda v, _: 0.5 * v[i] - 0.5 * v[j],
            "neg": lambda v, _: -v[i],
            "roll": lambda v, _: np.roll(v[i], turn),
            "mean": lambda v, _: v[i] - np.mean(v[j]) * v[i] * 0.5 - 0.5 * v[i],
            "polynomial": lambda v, _: lw.polynomial(v[i], [0.1, 0.2, 0.3, 0.4]),
            "weights": lambda v, _: v[i] * weights,
            "shift": lambda v, _: 0.6 * v[i] + 0.4 * weights,
            "matrix": lambda v, _: matrix @ v[i],
            "row": lambda v, s: s.inputs["xs"][s.index] * v[i],
            "rate": lambda v, s: v[i] * s.inputs["rate"][s.index],
        }
        kind = kinds[draw(st.sampled_from([*STEPS, *["row", "rate"] * (3 * parts)]))]
        body.add(lambda scope: [kind(scope.values, scope)])

    def add_body(self, body: Body, nesting: int, *, parts: bool) -> Body:
        """Steps of an iteration, perhaps with a loop of their own."""
        for _ in range(self.draw(st.integers(1, 5))):
            self.add_step(body, parts=parts)
        if nesting > 1 and self.draw(st.integers(0, 2)) == 0:
            self.add_loop(body, nesting - 1)
            self.add_step(body, parts=parts)
        return body

    # -- loops -----------------------------------------------------------------------------------

    def add_loop(self, body: Body, nesting: int) -> None:
        """A loop of one of three kinds; what it carries in the end, and stacks, are values that follow."""
        match self.draw(st.sampled_from(["plain", "plain", "parts", "scan"])):
            case "plain":
                self.add_for(body, nesting, self.draw(st.sampled_from(["n", "n", "n", *STATIC])), parts=False)
            case "parts":
                self.add_for(body, nesting, self.draw(st.sampled_from(["m", "m", 1, 2, ROWS])), parts=True)
            case "scan":
                self.add_scan(body)

    def starts(self, body: Body) -> list[Callable[[Scope], Any]]:
        """What a loop carries first: values, and public numbers that become secret on the way."""
        found: list[Callable[[Scope], Any]] = []
        for _ in range(self.draw(st.integers(1, 3))):
            at, number = self.pick(body.count), self.rng.uniform(-1, 1, self.width)
            is_public = self.draw(st.integers(0, 2)) == 0
            found.append((lambda scope, number=number: number) if is_public else lambda scope, at=at: scope.values[at])
        return found

    def add_for(self, body: Body, nesting: int, trips: Any, *, parts: bool) -> None:
        starts, outer = self.starts(body), body.count
        shape = self.draw(st.sampled_from(SHAPES))
        inner = self.add_body(Body(outer + len(starts)), nesting, parts=parts)
        last = range(max(outer, inner.count - 4), inner.count)
        kept = [self.draw(st.sampled_from(last)) for _ in starts]

        def step(scope: Scope) -> Sequence[Any]:
            def turn(index: Any, *carried: Any) -> Any:
                leaves = list(carried) if shape == "tuple" else leaves_of(shape, carried[0])
                values = inner.run([*scope.values, *leaves], index, scope.inputs)
                return built(shape, [values[i] for i in kept])

            number = scope.inputs[trips] if isinstance(trips, str) else trips
            return leaves_of(shape, lw.for_loop(number, turn, built(shape, [start(scope) for start in starts])))

        body.add(step, len(starts))

    def add_scan(self, body: Body) -> None:
        starts, outer = self.starts(body), body.count
        public = self.rng.uniform(-1, 1, (ROWS, self.width))
        over = self.draw(st.sampled_from(["secret", "public", "both", "nothing"]))
        given = {"secret": 1, "public": 1, "both": 2, "nothing": 0}[over]
        inner = self.add_body(Body(outer + len(starts) + given), 1, parts=False)
        kept = [self.draw(st.sampled_from(range(max(outer, inner.count - 4), inner.count))) for _ in starts]
        row = self.draw(st.integers(0, ROWS - 1))

        def step(scope: Scope) -> Sequence[Any]:
            def turn(carried: list[Any], part: Any) -> Any:
                parts = {"both": lambda: [part["s"], part["p"]], "nothing": list}.get(over, lambda: [part])()
                values = inner.run([*scope.values, *carried, *parts], None, scope.inputs)
                return [values[i] for i in kept], values[-1]

            rows = {"secret": scope.inputs["xs"], "public": public, "nothing": None}
            rows["both"] = {"s": scope.inputs["xs"], "p": public}
            first = [start(scope) for start in starts]
            length = {"length": 2} if over == "nothing" else {}
            carried, stacked = lw.scan(turn, first, rows[over], **length)
            return [*carried, np.mean(stacked, axis=0), stacked[min(row, 1)]]

        body.add(step, len(starts) + 2)


def built(shape: str, leaves: Sequence[Any]) -> Any:
    """A structure of these; a single one where it is of one kind."""
    match shape:
        case "tuple":
            return tuple(leaves)
        case "list":
            return list(leaves)
        case "dictionary":
            return {f"v{i}": leaf for i, leaf in enumerate(leaves)}
        case "nested":
            return {"first": leaves[0], "rest": [*([leaf] for leaf in leaves[1:]), {"again": leaves[0]}]}
    return leaves[0] if len(leaves) == 1 else list(leaves)


def leaves_of(shape: str, structure: Any) -> list[Any]:
    """What `built` was given."""
    match shape:
        case "dictionary":
            return list(structure.values())
        case "nested":
            *others, last = structure["rest"]
            return [0.5 * (structure["first"] + last["again"]), *(leaf for (leaf,) in others)]
    return list(structure) if isinstance(structure, list | tuple) else [structure]


@st.composite
def programs(draw: Any) -> RandomProgram:
    """Any of them."""
    return RandomProgram(draw)
