"""What compilation may leave out: the program computes the same, by other operations; at insecure parameters."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import latticework as lw
from latticework.plan.analysis.estimate import OperationCounts, estimate
from latticework.plan.cost import CostModel

RNG = np.random.default_rng(0)
MODEL = CostModel.load()
SQUARE, FLAT = RNG.normal(size=(64, 64)), RNG.normal(size=(4, 64))
FILTERS = RNG.normal(size=(4, 4, 3, 3))


def matrix(x: lw.Secret[16, 64]):
    return x @ SQUARE


def small(x: lw.Secret[16, 16]):
    return x @ SQUARE[:16, :16]


def few_rows(x: lw.Secret[64]):
    return FLAT @ x


def distances(x: lw.Secret[4]):
    return ((x - SQUARE[:, :4]) ** 2).sum(axis=1)


def convolution(x: lw.Secret[4, 8, 8]):
    return lw.conv2d(x, FILTERS, padding="same")


def two_of_one(x: lw.Secret[16, 64]):
    return x @ SQUARE, x @ SQUARE.T


def sum_of_two(x: lw.Secret[16, 64], y: lw.Secret[16, 64]):
    return x @ SQUARE + y @ SQUARE.T


def products(x: lw.Secret[8], y: lw.Secret[8]):
    return x * y + x * x


def squares(x: lw.Secret[16, 16], y: lw.Secret[16, 16]):
    return x @ y


def normalised(x: lw.Secret[64]):
    return FLAT @ ((x - SQUARE[0]) * SQUARE[1])


def two_products(x: lw.Secret[64], w):
    return w.T @ (w @ x)


def inverse(x: lw.Secret[8]):
    found = 0.5
    for _ in range(4):
        found = found * (2.0 - (x + 1.5) * found)
    return found


def smoothed(x: lw.Secret[8]):
    return lw.scan(lambda s, part: (0.5 * s + part, s), 0.0, x)


def rows_of_features(x: lw.Secret[4, 1024]):
    return SQUARE[:2, :4] @ x


def both_secret(a: lw.Secret[32, 32], b: lw.Secret[32, 32]):
    return a @ b


@dataclass(frozen=True)
class Case:
    """A program that shows a technique, and the counts that it lowers."""

    program: Any
    lowered: tuple[str, ...]
    raised: tuple[str, ...] = ()


CASES = {
    "layout_search": Case(small, ("rotations",)),
    "rolls": Case(squares, ("plaintext_products", "hoists")),
    "measured_costs": Case(squares, ("inputs",), ("key_switches",)),  # by counts, sending is almost free
    "client_copies": Case(distances, ("rotations",)),
    "spread_sums": Case(few_rows, ("plaintext_products",)),
    "baby_steps": Case(matrix, ("rotations",)),
    "tuned_widths": Case(matrix, ("hoists",)),
    "hoisting": Case(matrix, ("additions",), ("hoists",)),
    "complex_packing": Case(convolution, ("plaintext_products",)),
    "matrix_products": Case(rows_of_features, ("plaintext_products",), ("integer_products",)),
    "merged_maps": Case(normalised, ("plaintext_products", "rescales")),
    "folded_recurrences": Case(smoothed, ("levels", "rescales")),
    "giant_products": Case(both_secret, ("rotations",)),
    "inverse_products": Case(inverse, ("levels",)),
    "shared_babies": Case(two_of_one, ("rotations", "hoists")),
    "shared_giants": Case(sum_of_two, ("rotations",)),
    "lazy_relinearization": Case(products, ("relinearizations",)),
    "lazy_rescaling": Case(products, ("rescales",)),
}


@dataclass(frozen=True)
class Compiled:
    """A model, its operations and its seconds."""

    model: lw.Model
    counts: OperationCounts
    seconds: float

    def count(self, name: str) -> int:
        """One kind of operation, or "inputs": ciphertexts that the client sends."""
        if name == "levels":
            return len(self.model.plan.chain.primes)
        if name == "inputs":
            return sum(i.pack.count for i in self.model.plan.client.secret_inputs)
        return getattr(self.counts, name)


def compiled(function, **without) -> Compiled:
    model = lw.compile(lw.program(function), ring_degree=2048, insecure=True, techniques=lw.Techniques(**without))
    found = estimate(model.plan, MODEL)
    return Compiled(model, found.counts, found.warm_seconds)


def test_every_technique_has_a_case():
    with_bootstraps = {"shared_bootstraps", "hoisted_invariants", "reassociated"}  # in tests of these names
    of_keys = {"horner_giants", "shared_keys"}  # which take no less time: test_steps, test_shared_keys
    assert set(CASES) | with_bootstraps | of_keys == set(lw.Techniques.names())
    assert lw.Techniques().left_out == ()
    assert lw.Techniques(rolls=False, hoisting=False).left_out == ("rolls", "hoisting")


@pytest.mark.parametrize("name", CASES)
def test_without_one_technique(name):
    case = CASES[name]
    full, without = compiled(case.program), compiled(case.program, **{name: False})
    inputs = [np.random.default_rng(1).uniform(-1, 1, i.shape) for i in full.model.plan.client.inputs]
    expected = lw.program(case.program)(*inputs)
    for found in (full.model, without.model):
        results = found.simulate(*inputs)
        wanted = expected if isinstance(expected, tuple) else [expected]
        for got, want, output in zip(results, wanted, found.plan.client.outputs, strict=True):
            np.testing.assert_allclose(got, want, atol=2.0**-12 * output.magnitude)
    assert all(full.count(kind) < without.count(kind) for kind in case.lowered)
    assert all(full.count(kind) > without.count(kind) for kind in case.raised)
    assert full.seconds < without.seconds or full.count("inputs") < without.count("inputs")


def test_all_left_out():
    found = compiled(small, **dict.fromkeys(lw.Techniques.names(), False))
    assert found.count("hoists") == 0 and found.count("rotations") > 2 * compiled(small).count("rotations")


def test_what_is_not_techniques_is_refused():
    with pytest.raises(lw.UserError, match="techniques="):
        lw.compile(lw.program(matrix), techniques={"hoisting": False})


@pytest.mark.parametrize("left_out", [["hoisting"], ["hoisting", "complex_packing"], ["baby_steps"], ["tuned_widths"]])
def test_encrypted_without(left_out):
    allowed = lw.Techniques(**dict.fromkeys(left_out, False))
    program = lw.program(two_of_one)
    model = lw.compile(program, ring_degree=2048, insecure=True, techniques=allowed)
    x = np.random.default_rng(2).uniform(-1, 1, (16, 64))
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(x)))
    for got, want in zip(found, program(x), strict=True):
        np.testing.assert_allclose(got.reveal(), want, atol=2.0**-12 * np.abs(want).max())


def test_copies_of_vectors_share_the_sums_of_products():
    """Two products with a 256 x 64 matrix of 16 vectors of slots: 16 products each, and 4 to turn copies in between."""
    matrix = RNG.normal(size=(256, 64))
    program = lw.program(two_products)
    apart = lw.Techniques(merged_maps=False)
    model = lw.compile(program, weights=(matrix,), ring_degree=2048, insecure=True, techniques=apart)
    counts = estimate(model.plan, MODEL).counts
    assert counts.plaintext_products <= 2 * 16 + 4
    x = np.random.default_rng(3).uniform(-1, 1, 64)
    (found,) = model.simulate(x)
    np.testing.assert_allclose(found, program(x, matrix), atol=2.0**-12 * model.plan.client.outputs[0].magnitude)
