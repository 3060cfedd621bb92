"""Kernels of the Coyote suite: what they compute, what they cost as scalar code, and what their classes allow."""

from itertools import permutations

import numpy as np
import pytest

from latticework.commands.benchmarks import suites

bench_suites = suites()  # puts the source tree on the path
from bench.coyote import kernels  # noqa: E402
from bench.coyote.cases import CLASSES, TABLE_1, cases  # noqa: E402
from bench.coyote.counting import count  # noqa: E402
from bench.coyote.polynomials import REGIMES, Polynomial, depth_of, polynomials  # noqa: E402
from bench.coyote.published import table1, table2  # noqa: E402

ALL = {case.name: case for case in cases()}
MODULUS = 1032193
COMPARED = ((1, 2), (1, 3), (2, 3), (1, 4), (3, 4), (2, 4), (1, 5), (4, 5), (3, 5), (2, 5))


def stacked(x, matrix, axis):
    return np.stack([x[f"{matrix}{i}"] for i in range(3)], axis)


def windows(image):
    return np.lib.stride_tricks.sliding_window_view(image, (3, 3))


NUMPY = {
    "conv": lambda x: np.correlate(x["signal"], x["kernel"], "valid"),
    "dist": lambda x: (x["xs"][:, None] - x["ys"][None, :]) ** 2,
    "dot": lambda x: x["a"] @ x["b"],
    "mm": lambda x: x["a"] @ x["b"],
    "mv": lambda x: x["a"] @ x["x"],
    "mm.3 together": lambda x: x["c"][:9].reshape(3, 3) @ x["c"][9:].reshape(3, 3),
    "mm.3 rows and columns": lambda x: stacked(x, "a", 0) @ stacked(x, "b", 1),
    "mm.3 columns and rows": lambda x: stacked(x, "a", 1) @ stacked(x, "b", 0),
    "mm.3 individual": lambda x: np.matmul(
        *(np.array([x[f"{matrix}{i}"] for i in range(9)]).reshape(3, 3) for matrix in "ab")
    ),
    "determinant": lambda x: np.round(np.linalg.det(x["a"]) * np.linalg.det(x["b"])),
    "hamming": lambda x: np.sum(x["x"] != x["y"]),
    "l2": lambda x: np.sum((x["x"] - x["y"]) ** 2),
    "horner.8": lambda x: np.polyval(np.arange(9, 0, -1), x["x"]),
    "horner.16": lambda x: np.polyval(np.arange(17, 0, -1), x["x"]),
    "linear": lambda x: x["y"] - x["a"] * x["x"] - x["b"],
    "quadratic": lambda x: x["y"] - (x["a"] * x["x"] ** 2 + x["b"] * x["x"] + x["c"]),
    "box blur": lambda x: x["image"][:-1, :-1] + x["image"][:-1, 1:] + x["image"][1:, :-1] + x["image"][1:, 1:],
    "roberts cross": lambda x: np.add(
        (x["image"][1:, 1:] - x["image"][:-1, :-1]) ** 2, (x["image"][1:, :-1] - x["image"][:-1, 1:]) ** 2
    ),
    "gx": lambda x: np.einsum("abij,ij->ab", windows(x["image"]), np.outer([1, 2, 1], [-1, 0, 1])),
}


def test_the_tables_are_whole():
    assert [name for name, case in ALL.items() if case.table == TABLE_1] == list(table1())
    assert len(table1()) == 39
    stated = {name: row.speedup for name, row in table1().items() if row.speedup is not None}
    assert len(stated) == 19 and stated["mm.16.blocked"] == pytest.approx(1.323, abs=5e-4)
    assert {name.removesuffix(f".{c}") for name in ALL for c in CLASSES} >= set(table2())


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith(("sort", "max"))])
def test_kernels_are_numpys(name):
    case = ALL[name]
    inputs = case.inputs(seed=1)
    expected = NUMPY.get(name) or NUMPY[name.split(".")[0]]
    wanted = (np.ravel(expected(inputs)) + MODULUS // 2) % MODULUS - MODULUS // 2
    assert case.expected(inputs, MODULUS) == wanted.tolist()


@pytest.mark.parametrize("numbers", list(permutations((1, 2, 3))))
def test_sorting_gives_the_label_of_the_order(numbers):
    bits = [int(numbers[i - 1] < numbers[j - 1]) for i, j in ((1, 2), (2, 3), (1, 3))]
    orders = ["123", "132", "213", "231", "312", "321"]
    order = "".join(str(i + 1) for i in np.argsort(numbers))
    assert kernels.sort3(bits, range(6)) == [orders.index(order)]
    assert kernels.sort3_scalars(*bits, *range(6)) == [orders.index(order)]


def test_the_largest_of_five_is_found():
    for numbers in permutations(range(5)):
        bits = [int(numbers[i - 1] > numbers[j - 1]) for i, j in COMPARED]
        assert kernels.max5(bits, numbers) == [4]
        assert kernels.max5_scalars(*bits, *numbers) == [4]


@pytest.mark.parametrize("name", list(table1()))
def test_scalar_code_is_that_of_the_paper(name):
    counts, published = ALL[name].counts, table1()[name]
    assert (counts.adds, counts.muls) == (published.scalar_adds, published.scalar_muls)
    assert counts.ideal == pytest.approx(published.ideal, abs=0.005)
    assert counts.shared_adds <= counts.adds and counts.shared_muls <= counts.muls


def test_scalar_code_of_other_cases():
    determinant = ALL["determinant"]
    assert (determinant.counts.adds, determinant.counts.muls) == (5, 10)
    assert (determinant.published.scalar_adds, determinant.published.scalar_muls) == (5, 10)
    assert (ALL["max[5]"].counts.shared_adds, ALL["max[5]"].counts.shared_muls) == (20, 20)
    blocked = count(kernels.matmul_blocked, {"a": (16, 16), "b": (16, 16)})
    assert (blocked.adds, blocked.muls) == (3840, 4096)


def test_blocks_multiply_as_the_whole():
    a, b = np.random.default_rng(0).integers(-9, 9, (2, 8, 8))
    assert kernels.matmul_blocked(a, b, side=4) == kernels.matmul(a, b)


@pytest.mark.parametrize(
    ("name", "ciphertexts", "slots"),
    [
        ("conv.4.2.un", 2, 6),
        ("conv.4.2.partially", 2, 4 + 6),
        ("conv.4.2.fully", 2, 6 + 6),
        ("dist.3.fully", 2, 18 + 18),
        ("mm.3.partially", 2, 27 + 9),
        ("mm.3 together", 1, 18),
        ("mm.3 individual", 18, 18),
        ("sort[3].grouped.partially", 2, 10 + 6),
        ("sort[3]", 9, 10 + 6),
    ],
)
def test_what_a_class_allows(name, ciphertexts, slots):
    assert (ALL[name].ciphertexts, ALL[name].slots) == (ciphertexts, slots)


def test_results_are_nearest_to_zero():
    case = ALL["dot.3.un"]
    inputs = {"a": np.array([400, 400, 400]), "b": np.array([400, 400, 1])}
    assert case.expected(inputs, 1021) == [(320400 + 510) % 1021 - 510]


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("depth", [5, 10])
def test_trees_have_the_depth_that_they_say(regime, depth):
    trees = [Polynomial(regime, depth, number) for number in (1, 2, 3)]
    assert all(depth_of(tree.tree) == depth for tree in trees)
    assert trees[0].tree == Polynomial(regime, depth, 1).tree != trees[1].tree
    counts = trees[0].case().counts
    gates = counts.adds + counts.muls
    if regime == REGIMES[2]:
        assert depth <= gates < 2**depth - 1
    else:
        assert gates == 2**depth - 1
    assert (counts.adds == 0) == (regime == REGIMES[0])


def test_trees_are_independent():
    assert len(list(polynomials())) == 30
    sizes = {Polynomial(REGIMES[2], 10, number).case().counts.muls for number in range(1, 6)}
    assert len(sizes) > 1
    case = Polynomial(REGIMES[0], 5, 1).case()
    inputs = {name: np.int64(2) for name in case.given}
    assert case.expected(inputs, 2**31 - 1) == [2**32 % (2**31 - 1)]
