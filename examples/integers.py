"""Whole numbers under encryption: an auction, membership in a set, a decision tree, differing bits.

Bids, identifiers and words are `lw.bits` inputs: their owners give numbers, the client encrypts the binary digits, and
comparisons are trees of products over them. What takes few values is compared by a table. Everything is exact (BFV),
and called with plain numbers every circuit is the plain Python that it is checked against.
"""

from __future__ import annotations

import sys
import time
from functools import reduce
from operator import and_
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import latticework as lw

BIDDERS, WIDTH, MEMBERS, SEED = 8, 16, 20, 3


@lw.circuit
def auction(bids: lw.bits(WIDTH, BIDDERS, replicate=True)):
    """The highest bid and whose it is; the first of equal ones wins.

    Every pair is compared, so that no comparison waits for another.
    """
    wins = []
    for i, bid in enumerate(bids):
        beats = [bid > other if j < i else bid >= other for j, other in enumerate(bids) if j != i]
        wins.append(reduce(and_, beats))
    return {
        "price": sum(win * bid for win, bid in zip(wins, bids, strict=True)),
        "winner": sum(win * i for i, win in enumerate(wins)),
    }


@lw.circuit
def is_member(person: lw.bits(WIDTH), members):
    """Whether a person is on a public list."""
    return lw.isin(person, members)


@lw.circuit
def is_secret_member(person: lw.bits(WIDTH, replicate=True), members: lw.bits(WIDTH, MEMBERS)):
    """Whether a person is on a list that is encrypted too."""
    return lw.isin(person, members)


@lw.circuit
def credit(age: lw.bits(7), income: lw.bits(8), debts: lw.bits(8), rooms: lw.scalar(low=1, high=9), tree):
    """A decision tree: a node is (feature, threshold, at or above, below), a leaf a public grade.

    Of the few numbers that `rooms` can be, a comparison is a table; the others are compared by their digits.
    """
    features = {"age": age, "income": income, "debts": debts, "rooms": rooms}

    def decide(node):
        if isinstance(node, int):
            return node
        feature, threshold, above, below = node
        return lw.select(features[feature] >= threshold, decide(above), decide(below))

    return decide(tree)


TREE = ("income", 60, ("debts", 90, 2, 3), ("age", 30, ("debts", 20, 0, 2), ("rooms", 4, 2, 1)))


@lw.circuit
def distance(a: lw.bits(48), b: lw.bits(48)):
    """In how many bits two words differ (Hamming distance), and how many are set in the first."""
    return (a ^ b).bit_count(), a.bit_count()


class Outcome(NamedTuple):
    """One circuit on some inputs: its model, results, the same in plain Python, and seconds to compile and to run."""

    model: lw.Model
    found: list[list[int]]
    expected: list[list[int]]
    compiling: float
    running: float


def numbers(result):
    """All whole numbers in a result of a circuit or of its model."""
    if isinstance(result, dict):
        return [n for part in result.values() for n in numbers(part)]
    if isinstance(result, tuple | list):
        return [n for part in result for n in numbers(part)]
    return [int(result.reveal() if isinstance(result, lw.OwnerValue) else result)]


def outcome(circuit, inputs, weights=None, **options):
    """Compile a circuit and run it encrypted on each of some inputs, dictionaries by name."""
    started = time.perf_counter()
    model = lw.compile(circuit, scheme="bfv", weights=weights or {}, **options)
    compiled = time.perf_counter()
    client = model.client()
    server = model.server(client.keygen().public())
    found, running = [], 0.0
    for given in inputs:
        encrypted = client.encrypt(**given)
        begun = time.perf_counter()
        result = server(encrypted)
        running += time.perf_counter() - begun
        found.append(numbers(client.decrypt(result)))
    expected = [numbers(circuit(**given, **(weights or {}))) for given in inputs]
    return Outcome(model, found, expected, compiled - started, running / len(inputs))


def run_auction():
    """Two auctions, one with equal bids. More than 4,000 operations: lanes are searched at most effort only."""
    rng = np.random.default_rng(SEED)
    bids = rng.integers(0, 1 << WIDTH, BIDDERS).tolist()
    return outcome(
        auction, [{"bids": bids}, {"bids": [7, *bids[1:-2], max(bids), max(bids)]}], effort="max", plain_bits=21
    )


def run_membership():
    """A public list."""
    members = np.random.default_rng(SEED).choice(1 << WIDTH, MEMBERS, replace=False).tolist()
    people = [members[4], members[-1], (set(range(100)) - set(members)).pop()]
    return outcome(is_member, [{"person": person} for person in people], {"members": members})


def run_secret_membership():
    """An encrypted list, in which one member stands twice."""
    members = np.random.default_rng(SEED).choice(1 << WIDTH, MEMBERS, replace=False).tolist()
    members[7] = members[4]
    return outcome(is_secret_member, [{"person": p, "members": members} for p in (members[4], members[0] ^ 1)])


def run_credit():
    """Four applicants."""
    rows = [(25, 30, 10, 3), (25, 30, 10, 4), (40, 59, 19, 1), (33, 60, 90, 2)]
    names = ("age", "income", "debts", "rooms")
    return outcome(credit, [dict(zip(names, row, strict=True)) for row in rows], {"tree": TREE})


def run_distance():
    """Two pairs of words."""
    rng = np.random.default_rng(SEED)
    pairs = rng.integers(0, 1 << 48, (2, 2)).tolist()
    return outcome(distance, [{"a": a, "b": b} for a, b in pairs])


RUNS = {
    f"auction of {BIDDERS} x {WIDTH} bits": run_auction,
    f"one of {MEMBERS} public numbers of {WIDTH} bits": run_membership,
    f"one of {MEMBERS} encrypted numbers of {WIDTH} bits": run_secret_membership,
    "decision tree of depth 3": run_credit,
    "Hamming distance of 48 bits": run_distance,
}


def main():
    """Run the demonstration; returns the exit status."""
    console = Console(highlight=False, width=120)
    table = Table(title="Whole numbers under encryption")
    for heading in ("circuit", "results", "N", "t", "keys", "compiling, s", "running, s"):
        table.add_column(heading, justify="right")
    right = True
    for name, run in RUNS.items():
        got = run()
        right &= got.found == got.expected
        chain, keys = got.model.plan.chain, len(got.model.plan.client.manifest.uses)
        table.add_row(
            name, str(got.found), str(chain.ring_degree), str(chain.plain_modulus), str(keys), f"{got.compiling:.1f}",
            f"{got.running:.2f}",
        )  # fmt: skip
    console.print(table)
    console.print("all as in plain Python" if right else "WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
