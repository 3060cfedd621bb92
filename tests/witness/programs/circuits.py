"""Circuits on numbers, in CKKS and BFV."""

from functools import reduce
from operator import and_

import numpy as np
from cases import SMALL, Case, case, one, uniform

import latticework as lw


@lw.circuit
def filtered(state: lw.vector(2, low=-2, high=2), measured: lw.scalar(low=-2, high=2), gain: lw.vector(2)):
    position, speed = state
    ahead = position + 0.1 * speed
    surprise = measured - ahead
    return [ahead + gain[0] * surprise, speed + gain[1] * surprise]


@case
def kalman_step_of_real_numbers():
    return one(lw.compile(filtered, precision_bits=12, **SMALL), state=[0.5, -1.0], measured=0.3, gain=[0.6, 0.2])


@lw.circuit
def products(a: lw.vector(4, replicate=True), b: lw.vector(4)):
    return sum(x * x for x in a) + sum(y * y for y in b) - 2 * sum(x * y for x, y in zip(a, b, strict=True)), a[0] ** 5


def distances(effort, algorithm="search", seed=0):
    model = lw.compile(products, effort=effort, algorithm=algorithm, seed=seed, precision_bits=10, **SMALL)
    return one(model, a=uniform(4, 1), b=uniform(4, 2))


@case
def circuit_at_low_effort():
    return distances("fast")


@case
def circuit_by_annealing():
    return distances("normal", "annealing")


@case
def circuit_one_number_at_a_time():
    return distances("fast", "scalar")


@lw.circuit
def volume(corners: lw.matrix(4, 3, low=-20, high=20, replicate=True)):
    """Six times the signed volume of a tetrahedron."""
    a, b, c = ([corners[i][k] - corners[0][k] for k in range(3)] for i in (1, 2, 3))
    normal = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return normal[0] * c[0] + normal[1] * c[1] + normal[2] * c[2]


@case
def exact_volume():
    corners = np.array([[1, -2, 3], [7, 0, -5], [-4, 9, 2], [3, 3, 8]])
    return one(lw.compile(volume, scheme="bfv", ring_degree=4096, insecure=True), corners=corners)


@lw.circuit
def forest(bits: lw.vector(12, low=0, high=1), trees):
    def decide(node):
        if isinstance(node, int):
            return node
        bit, above, below = node
        return lw.select(bits[bit], decide(above), decide(below))

    return sum(decide(tree) for tree in trees)


@case
def decision_trees_on_bits():
    trees = ((3, (7, 1, 0), 0), (7, 1, (1, 1, 0)), (10, (3, 1, 0), (1, 0, 1)))
    model = lw.compile(forest, weights=(trees,), scheme="bfv", effort="fast", ring_degree=4096, insecure=True)
    return one(model, bits=[0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0])


@lw.circuit
def ticket(age: lw.bits(5), zone: lw.scalar(low=1, high=6)):
    price = lw.table(zone, [20, 30, 38, 45, 50, 54], low=1)
    is_reduced = (age < 15) | (age >= 25)
    return lw.select(is_reduced & (zone < 6), price, price + 7)


@case
def table_and_comparisons():
    return one(lw.compile(ticket, scheme="bfv", effort="fast", ring_degree=8192, insecure=True), age=30, zone=3)


@lw.circuit
def auction(bids: lw.bits(3, 3, replicate=True)):
    wins = []
    for i, bid in enumerate(bids):
        wins.append(reduce(and_, [bid > x if j < i else bid >= x for j, x in enumerate(bids) if j != i]))
    price = sum(win * bid for win, bid in zip(wins, bids, strict=True))
    return {"price": price, "winner": sum(win * i for i, win in enumerate(wins))}


@case
def auction_of_bids():
    return one(lw.compile(auction, scheme="bfv", effort="fast", ring_degree=8192, insecure=True), bids=[5, 2, 6])


@lw.circuit
def checks(person: lw.bits(4), other: lw.bits(4), members):
    return lw.isin(person, members), (person ^ other).bit_count(), (person >> 1) & 3, ~other


@case
def membership_and_bits():
    model = lw.compile(checks, scheme="bfv", weights=([3, 9, 14],), effort="fast", ring_degree=8192, insecure=True)
    return one(model, person=9, other=12)


@lw.circuit
def product_of_matrices(a: lw.matrix(6, 6, low=-9, high=9), b: lw.matrix(6, 6, low=-9, high=9), w):
    return a @ b + 3 * a, (w @ a).sum(axis=0)


@case
def exact_arrays():
    weights = (np.random.default_rng(1).integers(-5, 6, (6, 6)),)
    model = lw.compile(
        product_of_matrices, scheme="bfv", weights=weights, algorithm="tensors", ring_degree=4096, insecure=True
    )
    a, b = np.random.default_rng(2).integers(-9, 10, (2, 6, 6))
    return one(model, a=a, b=b)


@lw.circuit
def block(a: lw.matrix(2, 2, replicate=True), b: lw.matrix(2, 2, replicate=True)):
    return {"product": a @ b}


def composed(**options):
    """Two circuits: what the first returns is an input of the second."""
    first = lw.compile(block, spare_levels=1, **options)
    lanes = first.lanes("product")

    @lw.circuit
    def combined(p: lw.matrix(2, 2, lanes=lanes), q: lw.matrix(2, 2, lanes=lanes), scale: lw.scalar()):
        return scale * (p + q)

    second = lw.compile(combined, like=first, **options)

    def run(deploy):
        one, keys = deploy(first)
        two = deploy(second, keys)[0]
        a, b = np.array([[1, 2], [3, 4]]) / 4, np.array([[0, 1], [1, 0]])
        if "scheme" in options:
            a = 4 * a
        left, right = one(a=a, b=b), one(a=b, b=a)
        return [left, right, two.joined(two.encrypted(scale=1), p=left, q=right)]

    return Case({"first": first, "second": second}, run)


@case
def composed_exact_circuits():
    return composed(scheme="bfv", effort="fast", ring_degree=4096, insecure=True)


@case
def composed_real_circuits():
    return composed(effort="fast", **SMALL)


@lw.circuit
def discount(
    member: lw.scalar(low=0, high=1), price: lw.vector(2, low=0, high=500), percent: lw.scalar(high=100, low=0)
):
    total = price[0] + price[1]
    return lw.select(member, total * (100 - percent), total * 100)


@case
def stacks_of_inputs():
    model = lw.compile(discount, scheme="bfv", effort="fast", plain_bits=20, ring_degree=4096, insecure=True)
    return one(model, member=[1, 0], price=[[200, 100], [7, 8]], percent=15)
