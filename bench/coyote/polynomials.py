"""Random polynomials: trees of scalar operations of exactly a stated depth, in the paper's three regimes.

full, one operation     2^depth - 1 products
full, both operations   every gate is a sum or a product, with equal chance
sparse                  of every gate one operand has full depth; the other is an input with probability 1/2, else a
                        tree of the same kind; sums and products with equal chance

Inputs are drawn with replacement from as many as the paper's trees have, 1024. Every tree has a seed of its own. (The
generator of the paper's repository starts the same random sequence anew for every subtree, so that its trees have far
fewer different operations than gates.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.coyote.cases import Case, Given

VARIABLES = 1024
DEPTHS, TREES = (5, 10), 5
REGIMES = ("full, one operation", "full, both operations", "sparse")

Tree = int | tuple[str, "Tree", "Tree"]  # the number of an input, or an operation


def grow(regime: str, depth: int, rng: np.random.Generator) -> Tree:
    """A random tree."""
    if depth == 0:
        return int(rng.integers(VARIABLES))
    op = "*" if regime == REGIMES[0] else "+*"[int(rng.integers(2))]
    if regime == REGIMES[2]:
        deep = grow(regime, depth - 1, rng)
        other = grow(regime, 0 if rng.random() < 0.5 else depth - 1, rng)
        left, right = (deep, other) if rng.random() < 0.5 else (other, deep)
    else:
        left, right = grow(regime, depth - 1, rng), grow(regime, depth - 1, rng)
    return op, left, right


def depth_of(tree: Tree) -> int:
    """Gates on the longest path."""
    return 0 if isinstance(tree, int) else 1 + max(depth_of(tree[1]), depth_of(tree[2]))


def inputs_of(tree: Tree) -> list[int]:
    """The numbers of the inputs, ascending, each once."""
    return [tree] if isinstance(tree, int) else sorted({*inputs_of(tree[1]), *inputs_of(tree[2])})


@dataclass(frozen=True)
class Polynomial:
    """A tree of a regime and a seed."""

    regime: str
    depth: int
    number: int

    @property
    def tree(self) -> Tree:
        """Its gates."""
        return grow(
            self.regime, self.depth, np.random.default_rng((REGIMES.index(self.regime), self.depth, self.number))
        )

    def case(self) -> Case:
        """A case whose inputs are free scalars."""
        tree = self.tree
        names = {number: f"x{number}" for number in inputs_of(tree)}
        name = f"{self.regime}, depth {self.depth}, tree {self.number}"
        return Case(name, "polynomials", kernel_of(tree, names), {x: Given(()) for x in names.values()})


def polynomials(depths: Sequence[int] = DEPTHS, trees: int = TREES) -> Iterator[Polynomial]:
    """All of them."""
    for depth in depths:
        for regime in REGIMES:
            yield from (Polynomial(regime, depth, number) for number in range(1, trees + 1))


def kernel_of(tree: Tree, names: dict[int, str]) -> Any:
    """A function of the named inputs that computes the tree."""

    def polynomial(**given: Any) -> list[Any]:
        def evaluate(node: Tree) -> Any:
            if isinstance(node, int):
                return given[names[node]]
            left, right = evaluate(node[1]), evaluate(node[2])
            return left + right if node[0] == "+" else left * right

        return [evaluate(tree)]

    return polynomial
