"""Random circuits: functions on numbers, with inputs grouped and replicated in every way."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from hypothesis import strategies as st

import latticework as lw

MAX_OPERATIONS = 60
LARGEST_CONSTANT = 5


@dataclass(frozen=True)
class RandomCircuit:
    """inputs: annotations by name;  steps: (operation, operand, operand or constant);  outputs: numbers of values."""

    inputs: dict[str, Any]
    steps: tuple[tuple[str, int, int], ...]
    outputs: tuple[int, ...]

    def compute(self, **values: Any) -> list[Any]:
        """The outputs, by the arithmetic of whatever numbers are given."""
        made = [n for name in self.inputs for n in np.asarray(values[name], dtype=object).reshape(-1)]
        made = [n + 0 for n in made]
        for op, a, b in self.steps:
            x, y = made[a % len(made)], made[b % len(made)]
            match op:
                case "+":
                    made.append(x + y)
                case "-":
                    made.append(x - y)
                case "*":
                    made.append(x * y)
                case "neg":
                    made.append(-x)
                case "select":
                    made.append(x * y + (1 - x) * made[(a + b) % len(made)])
                case "+c":
                    made.append(x + (b % (2 * LARGEST_CONSTANT + 1) - LARGEST_CONSTANT))
                case "*c":
                    made.append(x * (b % LARGEST_CONSTANT + 2))
        return [made[i % len(made)] for i in self.outputs]

    @property
    def circuit(self) -> Any:
        """What `lw.compile` takes."""

        def function(**values: Any) -> Any:
            return self.compute(**values)

        function.__dict__["__signature__"] = Signature(
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in self.inputs.items()
        )
        return lw.circuit(function)

    def values(self, rng: np.random.Generator, largest: int) -> dict[str, Any]:
        """Random whole numbers for the inputs, as Python integers."""
        shapes = {name: kind.shape for name, kind in self.inputs.items()}
        drawn = {name: rng.integers(-largest, largest, shape, endpoint=True) for name, shape in shapes.items()}
        return {name: array.astype(object) if array.shape else int(array) for name, array in drawn.items()}


@st.composite
def annotations(draw: Any) -> dict[str, Any]:
    """One to four inputs: free numbers, vectors and matrices, replicated, in groups, at fixed lanes."""
    found = {}
    for i in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["scalar", "alone", "vector", "copies", "matrix", "group", "lanes"]))
        n = draw(st.integers(1, 6))
        lanes = draw(st.lists(st.integers(0, 31), min_size=n, max_size=n, unique=True)) if kind == "lanes" else ()
        found[f"x{i}"] = {
            "scalar": lambda n, _: lw.scalar(),
            "alone": lambda n, _: lw.scalar(replicate=False),
            "vector": lambda n, _: lw.vector(n),
            "copies": lambda n, _: lw.vector(n, replicate=True),
            "matrix": lambda n, _: lw.matrix(2, 2),
            "group": lambda n, _: lw.vector(n, group="shared"),
            "lanes": lambda n, lanes: lw.vector(n, lanes=lanes),
        }[kind](n, lanes)
    return found


@st.composite
def random_circuits(draw: Any, most: int = MAX_OPERATIONS, deepest: int = 4) -> RandomCircuit:
    """A circuit of at most so many operations and so many products on a path."""
    inputs = draw(annotations())
    depths = [0] * sum(kind.size for kind in inputs.values())
    steps: list[tuple[str, int, int]] = []
    for _ in range(draw(st.integers(1, most))):
        op = draw(st.sampled_from(["+", "-", "*", "*", "neg", "select", "+c", "*c"]))
        a, b = draw(st.integers(0, 199)), draw(st.integers(0, 199))
        read = [a, b, a + b] if op == "select" else [a] if op in ("neg", "+c", "*c") else [a, b]
        below = max(depths[i % len(depths)] for i in read)
        if op in ("*", "select") and below >= deepest:
            op, below = "+", max(depths[i % len(depths)] for i in (a, b))
        steps.append((op, a, b))
        depths.append(below + (op in ("*", "select")))
    outputs = draw(st.lists(st.integers(0, 199), min_size=1, max_size=5))
    return RandomCircuit(inputs, tuple(steps), (len(depths) - 1, *outputs))
