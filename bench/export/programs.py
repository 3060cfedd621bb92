"""Programs that are exported and compared: small ones of every kind of operation, mostly at small and INSECURE sizes.

Called with plain numbers each is NumPy, or plain Python, which its results are held to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import latticework as lw
from bench.coyote import kernels

SMALL = {"ring_degree": 2048, "insecure": True}
TINY_BOOTSTRAPS = {"bootstrap_set": "T11", "insecure": True, "precision_bits": 8}
EXACT = {"scheme": "bfv", "plain_modulus": 65537}
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A program, how it is compiled, and what it is run on.

    expected  its results in the clear, where the program called with the inputs does not say them
    """

    program: Any
    inputs: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    expected: Callable[..., Any] | None = None

    def wanted(self) -> Any:
        """The results of the program in the clear."""
        function = self.program if self.expected is None else self.expected
        return function(**self.inputs)


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    """Put a case on the list, under the name of its function."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


def uniform(seed: int, *shape: int, low: float = -1.0, high: float = 1.0) -> Array:
    """Numbers drawn by chance."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def on_one(program: Any, *shape: int, **options: Any) -> Case:
    """A program of one array."""
    given = {"calibrate": uniform(1, 8, *shape), **SMALL, **options}
    return Case(program, {"x": uniform(2, *shape)}, {name: each for name, each in given.items() if each is not None})


# -- elementwise, rotations, sums ----------------------------------------------------------------


@case
def affine() -> Case:
    """No product of ciphertexts."""

    @lw.program
    def affine(x: lw.Secret[16]) -> Any:
        return 3.0 * x - 0.25

    return on_one(affine, 16)


@case
def several_inputs_and_outputs() -> Case:
    """Two inputs, three outputs in a dictionary, one of which the server multiplies by 0.25 for nothing."""

    @lw.program
    def mixed(x: lw.Secret[8], y: lw.Secret[8]) -> Any:
        return {"sum": x + 2 * y, "product": x * y, "quarter": 0.25 * (x - y)}

    data = {"x": uniform(1, 8, 8), "y": uniform(2, 8, 8)}
    return Case(mixed, {"x": uniform(3, 8), "y": uniform(4, 8)}, {"calibrate": data, **SMALL})


@case
def short_vectors() -> Case:
    """Three numbers, which repeat in many slots: a rotation of them goes round."""

    @lw.program
    def turned(x: lw.Secret[4]) -> Any:
        return np.roll(x, 1) - 2 * np.roll(x, -1)

    return on_one(turned, 4)


@case
def rotations_both_ways() -> Case:
    """Left and right, whole and of an axis."""

    @lw.program
    def turned(x: lw.Secret[8, 8]) -> Any:
        return np.roll(x, 3, axis=1) * np.roll(x, -2, axis=0) + x[::-1]

    return on_one(turned, 8, 8)


@case
def sums_along_axes() -> Case:
    """Sums, means and running sums."""

    @lw.program
    def summed(x: lw.Secret[6, 10]) -> Any:
        return np.sum(x, axis=0), np.mean(x, axis=1), np.cumsum(x, axis=1)

    return on_one(summed, 6, 10)


@case
def large_results() -> Case:
    """Results far beyond what OpenFHE's last prime holds."""

    @lw.program
    def large(x: lw.Secret[8]) -> Any:
        return 1e6 * x * x + 12345.0

    return on_one(large, 8)


@case
def small_constants() -> Case:
    """Public numbers far below 1, and one of each sign beside them."""

    @lw.program
    def small(x: lw.Secret[8]) -> Any:
        return x * np.array([1e-3, -1e-3, 5, -5, 1, -1, 0, 0.125]) + 1e-3 * x

    return on_one(small, 8)


@case
def slices_and_joins() -> Case:
    """Parts of arrays, joined anew."""

    @lw.program
    def joined(x: lw.Secret[12]) -> Any:
        return np.concatenate([x[6:] * 2, x[:3], x[3:6] * x[:3]])

    return on_one(joined, 12)


@case
def transposed() -> Case:
    """A change of layout."""

    @lw.program
    def transposed(x: lw.Secret[4, 8]) -> Any:
        return x.T @ x

    return on_one(transposed, 4, 8)


@case
def outer_product() -> Case:
    """Two vectors, all products."""

    @lw.program
    def outer(x: lw.Secret[6], y: lw.Secret[5]) -> Any:
        return np.outer(x, y)

    data = {"x": uniform(1, 8, 6), "y": uniform(2, 8, 5)}
    return Case(outer, {"x": uniform(3, 6), "y": uniform(4, 5)}, {"calibrate": data, **SMALL})


# -- linear algebra ------------------------------------------------------------------------------


@case
def matrix_product() -> Case:
    """An encrypted matrix times a public one."""
    weights = uniform(5, 8, 8)

    @lw.program
    def product(x: lw.Secret[4, 8]) -> Any:
        return x @ weights + 0.5

    return on_one(product, 4, 8)


@case
def encrypted_matrices() -> Case:
    """Both factors are encrypted."""

    @lw.program
    def product(x: lw.Secret[8, 8], y: lw.Secret[8, 8]) -> Any:
        return x @ y

    data = {"x": uniform(1, 8, 8, 8), "y": uniform(2, 8, 8, 8)}
    return Case(product, {"x": uniform(3, 8, 8), "y": uniform(4, 8, 8)}, {"calibrate": data, **SMALL})


@case
def wide_matrix() -> Case:
    """More columns than fit one vector: several ciphertexts."""
    weights = uniform(6, 64, 40)

    @lw.program
    def product(x: lw.Secret[48, 64]) -> Any:
        return x @ weights

    return on_one(product, 48, 64)


@case
def many_vectors() -> Case:
    """An input of several ciphertexts, multiplied with itself and added up."""

    @lw.program
    def squares(x: lw.Secret[3000]) -> Any:
        return np.sum(x * x), 0.5 * x

    return on_one(squares, 3000)


@case
def einstein_sum() -> Case:
    """A product of three axes."""
    weights = uniform(7, 4, 6)

    @lw.program
    def summed(x: lw.Secret[3, 4, 5]) -> Any:
        return np.einsum("ijk,jl->ilk", x, weights)

    return on_one(summed, 3, 4, 5)


@case
def distances() -> Case:
    """Squared distances to public points."""
    points = uniform(8, 16, 4)

    @lw.program
    def distances(x: lw.Secret[4]) -> Any:
        return np.sum((x - points) ** 2, axis=1)

    return on_one(distances, 4)


@case
def strassen() -> Case:
    """Products of blocks, with sums of them."""

    @lw.program
    def product(x: lw.Secret[2, 2], y: lw.Secret[2, 2]) -> Any:
        first = (x[0, 0] + x[1, 1]) * (y[0, 0] + y[1, 1])
        second, third = (x[1, 0] + x[1, 1]) * y[0, 0], x[0, 0] * (y[0, 1] - y[1, 1])
        return first - second, second + third

    data = {"x": uniform(1, 8, 2, 2), "y": uniform(2, 8, 2, 2)}
    return Case(product, {"x": uniform(3, 2, 2), "y": uniform(4, 2, 2)}, {"calibrate": data, **SMALL})


# -- images --------------------------------------------------------------------------------------


@case
def convolution() -> Case:
    """Two channels to three, with padding."""
    kernels_ = uniform(9, 3, 2, 3, 3)

    @lw.program
    def convolve(x: lw.Secret[2, 8, 8]) -> Any:
        return lw.conv2d(x, kernels_, padding=1)

    return on_one(convolve, 2, 8, 8)


@case
def strided_convolution_and_pool() -> Case:
    """A stride, a square, a pool."""
    kernels_ = uniform(10, 4, 1, 3, 3)

    @lw.program
    def convolve(x: lw.Secret[1, 10, 10]) -> Any:
        return lw.avg_pool2d(lw.conv2d(x, kernels_) ** 2, 2)

    return on_one(convolve, 1, 10, 10)


@case
def one_dimensional_convolution() -> Case:
    """A filter of five taps."""
    taps = uniform(11, 2, 1, 5)

    @lw.program
    def convolve(x: lw.Secret[1, 32]) -> Any:
        return lw.conv1d(x, taps, padding=2)

    return on_one(convolve, 1, 32)


# -- functions -----------------------------------------------------------------------------------


@case
def polynomial() -> Case:
    """A polynomial with public coefficients."""

    @lw.program
    def polynomial(x: lw.Secret[16]) -> Any:
        return lw.polynomial(x, (0.5, -1.0, 0.25, 0.0, 1.5, -0.75))

    return on_one(polynomial, 16)


@case
def high_power() -> Case:
    """Seven products in a row."""

    @lw.program
    def power(x: lw.Secret[16]) -> Any:
        return x**100

    return on_one(power, 16)


@case
def sigmoid() -> Case:
    """A function as a polynomial."""

    @lw.program
    def sigmoid(x: lw.Secret[16]) -> Any:
        return lw.sigmoid(4 * x)

    return on_one(sigmoid, 16, precision_bits=10)


@case
def exponential() -> Case:
    """Another one."""

    @lw.program
    def exponential(x: lw.Secret[16]) -> Any:
        return lw.exp(x) + np.cos(x)

    return on_one(exponential, 16, precision_bits=10)


@case
def comparison() -> Case:
    """A sign, as a composition of polynomials."""

    @lw.program
    def compared(x: lw.Secret[16], y: lw.Secret[16]) -> Any:
        return lw.polynomial(lw.polynomial(x - y, STEEP), STEEP)

    data = {"x": uniform(1, 8, 16, low=-0.5, high=0.5), "y": uniform(2, 8, 16, low=-0.5, high=0.5)}
    given = {"x": uniform(3, 16, low=-0.5, high=0.5), "y": uniform(4, 16, low=-0.5, high=0.5)}
    return Case(compared, given, {"calibrate": data, **SMALL})


STEEP = (0.0, 35 / 16, 0.0, -35 / 16, 0.0, 21 / 16, 0.0, -5 / 16)


@case
def larger_of_two() -> Case:
    """A maximum."""

    @lw.program
    def larger(x: lw.Secret[16]) -> Any:
        return lw.maximum(x, 0.1)

    return on_one(larger, 16, precision_bits=4)


@case
def softmax() -> Case:
    """An exponential over a sum of them."""

    @lw.program
    def softmax(x: lw.Secret[8]) -> Any:
        return lw.softmax(x)

    return on_one(softmax, 8, precision_bits=6)


# -- circuits ------------------------------------------------------------------------------------


Sizes = tuple[int | tuple[int, int], ...]  # of vectors, or of matrices


def irregular(function: Any, names: str, sizes: Sizes, options: Mapping[str, Any], seed: int = 0) -> Case:
    """A kernel of Coyote's on vectors and matrices of whole numbers, or of reals."""
    rng = np.random.default_rng(seed)
    listed = names.split(",")
    values = [rng.integers(-6, 7, size) for size in sizes]
    kinds = {
        name: lw.vector(size, low=-6, high=6) if isinstance(size, int) else lw.matrix(*size, low=-6, high=6)
        for name, size in zip(listed, sizes, strict=True)
    }

    def traced(*arrays: Any) -> Any:
        return function(*arrays)

    space: dict[str, Any] = {"traced": traced}
    exec(f"def kernel({names}): return traced({names})", space)
    space["kernel"].__annotations__ = kinds
    given = {name: value.tolist() for name, value in zip(listed, values, strict=True)}
    return Case(lw.circuit(space["kernel"]), given, options)


REAL = {"insecure": True, "ring_degree": 4096}


@case
def circuit_distances() -> Case:
    """BFV."""
    return irregular(kernels.distances, "xs,ys", (3, 3), EXACT)


@case
def circuit_matrix_vector() -> Case:
    """BFV, a matrix times a vector."""
    return irregular(kernels.matvec, "a,x", ((3, 3), 3), EXACT)


@case
def circuit_quadratic() -> Case:
    """BFV, four products of four vectors."""
    return irregular(kernels.quadratic, "a,b,c,x,y", (4, 4, 4, 4, 4), EXACT)


@case
def circuit_box_blur() -> Case:
    """BFV, an image."""
    return irregular(kernels.box_blur, "image", ((8, 8),), EXACT)


@case
def circuit_hamming() -> Case:
    """BFV, differing numbers."""
    return irregular(kernels.hamming, "x,y", (4, 4), EXACT)


@case
def circuit_of_secure_rows() -> Case:
    """BFV with a t of 20 bits that the plan's ring has slots for, and a larger ring may not."""

    @lw.circuit
    def horner(x: lw.scalar(low=-9, high=9), y: lw.vector(4, low=0, high=20)) -> Any:
        total: Any = 0
        for c in (3, 1, 4, 2):
            total = total * x + c
        return total, y[0] * y[1] - x * y[3]

    return Case(horner, {"x": -7, "y": [1, 2, 3, 4]}, {"scheme": "bfv", "plain_bits": 20})


@case
def circuit_of_digits() -> Case:
    """BFV, binary digits that the client makes of whole numbers."""

    @lw.circuit
    def larger(a: lw.bits(4), b: lw.bits(4)) -> Any:
        return a > b, a == b

    return Case(larger, {"a": 11, "b": 6}, {"scheme": "bfv", "plain_modulus": 65537})


@case
def real_circuit() -> Case:
    """CKKS, irregular."""
    return irregular(kernels.quadratic, "a,b,c,x,y", (4, 4, 4, 4, 4), REAL)


@case
def real_circuit_of_sums() -> Case:
    """CKKS, a product of matrices."""
    return irregular(kernels.matvec, "a,x", ((3, 3), 3), REAL)


@case
def nested_results() -> Case:
    """CKKS, results in a dictionary with a tuple."""

    @lw.circuit
    def nested(a: lw.scalar(low=-2, high=2), b: lw.vector(3, low=-2, high=2)) -> Any:
        return {"first": a * b[0] - b[1], "both": (b[2] * b[2], a + 1)}

    return Case(nested, {"a": 1.5, "b": [0.5, -1.0, 2.0]}, REAL)


# -- loops, bootstraps, complex packing ----------------------------------------------------------


@case
def loop_of_sums() -> Case:
    """A loop that stays one."""

    @lw.program
    def accumulated(x: lw.Secret[16], n: lw.Index) -> Any:
        return lw.for_loop(n, lambda _, total: total + x, x)

    return Case(accumulated, {"x": uniform(2, 16), "n": 5}, {"calibrate": {"x": uniform(1, 8, 16), "n": 7}, **SMALL})


@case
def loop_of_products() -> Case:
    """A loop of guarded copies."""

    @lw.program
    def powers(x: lw.Secret[16], n: lw.Index) -> Any:
        return lw.for_loop(n, lambda _, y: y * x, x, at_most=4)

    return Case(powers, {"x": uniform(2, 16), "n": 3}, {"calibrate": {"x": uniform(1, 8, 16), "n": 4}, **SMALL})


@case
def loop_from_public_numbers() -> Case:
    """What a loop carries begins as public numbers."""

    @lw.program
    def newton(a: lw.Secret[8], n: lw.Index) -> Any:
        return lw.for_loop(n, lambda _, y: y * (2.0 - a * y), np.ones(8), at_most=3)

    data = 0.3 * uniform(1, 8, 8) + 1
    return Case(newton, {"a": data[0], "n": 2}, {"calibrate": {"a": data, "n": 3}, **SMALL})


@case
def nested_loops() -> Case:
    """Loops in loops, by arithmetic of public integers."""

    @lw.program
    def nested(x: lw.Secret[8], n: lw.Index, m: lw.Index) -> Any:
        def outer(i: Any, total: Any) -> Any:
            return lw.for_loop(m * 2 + 5 - i, lambda _, t: t + x, total) + np.roll(x, 3)

        return lw.for_loop(n + m, outer, x)

    data = {"x": uniform(1, 6, 8), "n": 3, "m": 2}
    return Case(nested, {"x": uniform(2, 8), "n": 2, "m": 2}, {"calibrate": data, **SMALL})


@case
def loop_with_bootstraps() -> Case:
    """A level in every iteration, and a bootstrap in every third."""

    @lw.program
    def settled(x: lw.Secret[8], n: lw.Index) -> Any:
        return lw.for_loop(n, lambda _, y: y * (0.5 + 0.4 * x), x)

    data = {"x": uniform(1, 10, 8), "n": 7}
    return Case(settled, {"x": uniform(2, 8), "n": 5}, {"calibrate": data, **TINY_BOOTSTRAPS})


@case
def loop_with_bootstraps_of_pairs() -> Case:
    """Two real values in one bootstrap: complex packing, conjugates."""

    @lw.program
    def swapped(x: lw.Secret[8], y: lw.Secret[8], n: lw.Index) -> Any:
        def step(_: Any, pair: Any) -> Any:
            return {"a": pair["b"] * x, "b": 0.5 * pair["a"] * y + 0.1}

        pair = lw.for_loop(n, step, {"a": x, "b": np.full(8, 0.5)})
        return pair["a"] * pair["b"]

    data = {"x": uniform(3, 10, 8), "y": uniform(4, 10, 8), "n": 5}
    return Case(swapped, {"x": data["x"][0], "y": data["y"][0], "n": 4}, {"calibrate": data, **TINY_BOOTSTRAPS})


@case
def line_with_bootstraps() -> Case:
    """Two bootstraps, no loop."""

    @lw.program
    def powers(x: lw.Secret[8]) -> Any:
        for _ in range(9):
            x = x * x * 0.5 + 0.4 * x - 0.3
        return x

    return Case(powers, {"x": uniform(6, 8)}, {"calibrate": uniform(5, 10, 8), **TINY_BOOTSTRAPS})


# -- at 128 bits ---------------------------------------------------------------------------------


@case
def secure_product() -> Case:
    """Parameters of 128 bits in both libraries."""
    weights = uniform(12, 16, 16)

    @lw.program
    def product(x: lw.Secret[8, 16]) -> Any:
        hidden = x @ weights
        return hidden * hidden - 0.25 * x

    return on_one(product, 8, 16, ring_degree=None, insecure=None)


@case
def logistic_regression() -> Case:
    """A trained classifier's form, at 128 bits."""
    weights = uniform(13, 30)

    @lw.program
    def score(x: lw.Secret[16, 30]) -> Any:
        return lw.sigmoid(x @ weights - 0.2)

    return on_one(score, 16, 30, ring_degree=None, insecure=None, precision_bits=8)


@case
def digits_network() -> Case:
    """64-32-10 with a polynomial activation, one image."""
    first, second = 0.2 * uniform(14, 64, 32), 0.3 * uniform(15, 32, 10)

    @lw.program
    def network(x: lw.Secret[64]) -> Any:
        hidden = lw.approximate(np.tanh)(x @ first)
        return hidden @ second

    return on_one(network, 64, precision_bits=10)


@case
def rows_side_by_side() -> Case:
    """Several rows in one run."""
    weights = uniform(16, 8, 3)

    @lw.program
    def network(x: lw.Secret[8]) -> Any:
        return (x @ weights) ** 2

    rows = uniform(17, 4, 8)
    made = on_one(network, 8, batch=4)
    return Case(network, {"x": rows}, made.options, lambda x: np.stack([(row @ weights) ** 2 for row in x]))
