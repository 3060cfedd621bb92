"""Circuits as sums: every number that matters is flattened to terms, a public number times at most two others.

Sums are taken apart down to products and inputs; negations and products with public numbers become coefficients. What a
product reads, or a product with a public number, is a sum in turn. All at once on arrays, a round for every operation
on the longest way through a sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.compiler.lanes.lane_graph import ADD, ADD_CONSTANT, EXACT, INPUT, MUL, MUL_CONSTANT, NEG, SUB, Graph
from latticework.compiler.lanes.nests import Numbers, Reals
from latticework.lazy_dataclass import dataclass

MAX_TERMS = 1 << 22  # and, where sums share parts, so many for each node of the circuit:
TERMS_A_NODE, LEAST_TERMS = 16, 1 << 12


@dataclass(frozen=True)
class CircuitTerms:
    """Terms of many sums, one after the other.

    owner        number of the sum
    left, right  nodes that are multiplied; -1: none, so a term without left is a public number
    coefficient  public factor
    """

    owner: Numbers
    left: Numbers
    right: Numbers
    coefficient: Reals


class Flattener:
    """Takes the sums of one circuit apart."""

    def __init__(self, graph: Graph) -> None:
        nodes = np.array(graph.nodes, dtype=np.int64).reshape(-1, 3)
        self.code, self.left, self.right = nodes[:, 0], nodes[:, 1], nodes[:, 2]
        self.constants = np.array(graph.constants, dtype=np.float64)
        self.uses = np.array(graph.uses(), dtype=np.int64)
        self.most = min(MAX_TERMS, TERMS_A_NODE * len(nodes) + LEAST_TERMS)

    def strip_factors(self, nodes: Numbers) -> tuple[Numbers, Reals]:
        """The nodes behind negations and products with public numbers, and the factor that these are."""
        nodes, factor = nodes.copy(), np.ones(len(nodes))
        while True:
            code = self.code[nodes]
            negated, scaled = code == NEG, code == MUL_CONSTANT
            if not (negated | scaled).any():
                return nodes, factor
            factor[negated] *= -1.0
            factor[scaled] *= self.constants[self.right[nodes[scaled]]]
            nodes = np.where(negated | scaled, self.left[nodes], nodes)

    def terms(self, sums: Numbers) -> CircuitTerms | None:
        """The terms of these sums; None if they are too many or have factors that floats do not hold."""
        owner, node, factor = np.arange(len(sums)), sums.copy(), np.ones(len(sums))
        done: list[tuple[Numbers, Numbers, Numbers, Reals]] = []
        count = 0
        while len(node):
            code = self.code[node]
            products = code == MUL
            if products.any():
                left, by = self.strip_factors(self.left[node[products]])
                right, times = self.strip_factors(self.right[node[products]])
                done.append((owner[products], left, right, factor[products] * by * times))
            scaled = code == MUL_CONSTANT
            inner, by = self.strip_factors(node[scaled])
            single = code == INPUT
            # A scaled product or input is one term; a scaled sum that has other uses is kept, to be computed once.
            opaque = ~np.isin(self.code[inner], (MUL, INPUT)) & (self.uses[inner] > 1)
            none = np.full(len(node) + len(inner), -1)
            done.append((owner[single], node[single], none[: single.sum()], factor[single]))
            done.append((owner[scaled][opaque], inner[opaque], none[: opaque.sum()], (factor[scaled] * by)[opaque]))
            plus = code == ADD_CONSTANT
            added = factor[plus] * self.constants[self.right[node[plus]]]
            done.append((owner[plus], none[: plus.sum()], none[: plus.sum()], added))
            both, minus, negated = (code == ADD) | (code == SUB), code == SUB, code == NEG
            on = both | plus | negated
            count += sum(len(part[0]) for part in done[-4:])
            owner, node, factor = (
                np.concatenate([owner[on], owner[both], owner[scaled][~opaque]]),
                np.concatenate([self.left[node[on]], self.right[node[both]], inner[~opaque]]),
                np.concatenate(
                    [
                        np.where(negated, -factor, factor)[on],
                        np.where(minus, -factor, factor)[both],
                        (factor[scaled] * by)[~opaque],
                    ]
                ),
            )
            if count + len(node) > self.most:
                return None
        columns = [np.concatenate(parts) for parts in zip(*done, strict=True)] if done else []
        joined = CircuitTerms(*columns)
        return joined if np.all(np.abs(joined.coefficient) < EXACT) else None  # they are floats here


def flatten_sums(graph: Graph, outputs: Sequence[int]) -> tuple[Numbers, CircuitTerms] | None:
    """The nodes that are sums (outputs and all that products read, inputs apart), ascending, and their terms."""
    flattener = Flattener(graph)
    known = np.zeros(0, dtype=np.int64)
    parts: list[CircuitTerms] = []
    wanted, total = np.unique(np.array(outputs, dtype=np.int64)), 0
    while len(wanted):
        terms = flattener.terms(wanted)
        if terms is None:
            return None
        total += len(terms.owner)
        if total > flattener.most:
            return None
        parts.append(CircuitTerms(wanted[terms.owner], terms.left, terms.right, terms.coefficient))
        known = np.union1d(known, wanted)
        read = np.unique(np.concatenate([terms.left, terms.right]))
        read = read[read >= 0]
        wanted = np.setdiff1d(read[flattener.code[read] != INPUT], known)
    columns = [np.concatenate([getattr(part, f) for part in parts]) for f in ("owner", "left", "right", "coefficient")]
    owner, left, right, coefficient = columns
    order = np.argsort(owner, kind="stable")
    terms = CircuitTerms(np.searchsorted(known, owner[order]), left[order], right[order], coefficient[order])
    return known, terms
