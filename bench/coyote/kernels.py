"""The scalar kernels, as plain functions on indexable arguments: integers, traced scalars or ciphertexts.

Definitions are those of the Coyote paper (ASPLOS 2023) and its artifact, where the paper is silent; the kernels of
Porcupine (PLDI 2021) are as MarbleHE/HECO transcribes them. Sums are balanced binary trees: the paper's ideal speed-ups
are work by span of these. Nothing is shared that is written twice. Results are lists of scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Values = Sequence[Any]


def total(terms: Values) -> Any:
    """The sum, as a balanced binary tree."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return total(terms[:half]) + total(terms[half:])


# -- Table 1 ---------------------------------------------------------------------------------


def convolution(signal: Values, kernel: Values) -> list[Any]:
    """The valid part of a correlation: n - k + 1 results."""
    return [
        total([signal[start + i] * kernel[i] for i in range(len(kernel))])
        for start in range(len(signal) - len(kernel) + 1)
    ]


def distances(xs: Values, ys: Values) -> list[Any]:
    """All squared differences of two sets of points on a line."""
    return [(xs[i] - ys[j]) * (xs[i] - ys[j]) for i in range(len(xs)) for j in range(len(ys))]


def dot(a: Values, b: Values) -> list[Any]:
    """A scalar product."""
    return [total([a[i] * b[i] for i in range(len(a))])]


def matmul(a: Values, b: Values) -> list[Any]:
    """A product of matrices, row by row."""
    return [total([a[i][k] * b[k][j] for k in range(len(a[0]))]) for i in range(len(a)) for j in range(len(b[0]))]


def mux(bit: Any, yes: Any, no: Any) -> Any:
    """`yes` where the bit is 1, `no` where it is 0."""
    return bit * yes + (1 - bit) * no


def sort3(c: Values, o: Values) -> list[Any]:
    """The label of the order of three numbers.

    c  comparisons 1 < 2, 2 < 3, 1 < 3;  o  labels of the orders 123, 132, 213, 231, 312, 321
    """
    return [mux(c[0], mux(c[1], o[0], mux(c[2], o[1], o[4])), mux(c[2], o[2], mux(c[1], o[3], o[5])))]


def max5(c: Values, o: Values) -> list[Any]:
    """The largest of five numbers by comparisons: a tree in which every occurrence is written out.

    c  comparisons 12, 13, 23, 14, 34, 24, 15, 45, 35, 25, each 1 if the first is larger;  o  the numbers
    """
    c12, c13, c23, c14, c34, c24, c15, c45, c35, c25 = (c[i] for i in range(10))

    def d() -> Any:
        return mux(c45, o[3], o[4])

    def third() -> Any:
        return mux(c34, mux(c35, o[2], o[4]), d())

    first = mux(c13, mux(c14, mux(c15, o[0], o[4]), d()), third())
    second = mux(c23, mux(c24, mux(c25, o[1], o[4]), d()), third())
    return [mux(c12, first, second)]


def sort3_scalars(
    c12: Any, c23: Any, c13: Any, o123: Any, o132: Any, o213: Any, o231: Any, o312: Any, o321: Any
) -> Any:
    """`sort3` with every input by itself."""
    return sort3((c12, c23, c13), (o123, o132, o213, o231, o312, o321))


def max5_scalars(
    c12: Any, c13: Any, c23: Any, c14: Any, c34: Any, c24: Any, c15: Any, c45: Any, c35: Any, c25: Any,
    o1: Any, o2: Any, o3: Any, o4: Any, o5: Any,
) -> list[Any]:  # fmt: skip
    """`max5` with every input by itself."""
    return max5((c12, c13, c23, c14, c34, c24, c15, c45, c35, c25), (o1, o2, o3, o4, o5))


# -- Table 2, and what only the public repository has -----------------------------------------------


def matvec(a: Values, x: Values) -> list[Any]:
    """A matrix times a vector."""
    return [total([a[i][k] * x[k] for k in range(len(x))]) for i in range(len(a))]


def determinant(a: Values, b: Values) -> list[Any]:
    """The determinant of a product of two 2 x 2 matrices."""
    c = matmul(a, b)
    return [c[0] * c[3] - c[1] * c[2]]


# -- Figure 8: one product of 3 x 3 matrices, its elements grouped in five ways ------------------------


def matmul_together(c: Values) -> list[Any]:
    """Both matrices in one vector of 18."""
    return matmul([c[0:3], c[3:6], c[6:9]], [c[9:12], c[12:15], c[15:18]])


def matmul_rows_columns(a0: Values, a1: Values, a2: Values, b0: Values, b1: Values, b2: Values) -> list[Any]:
    """The rows of one, the columns of the other."""
    return [total([row[k] * column[k] for k in range(3)]) for row in (a0, a1, a2) for column in (b0, b1, b2)]


def matmul_columns_rows(a0: Values, a1: Values, a2: Values, b0: Values, b1: Values, b2: Values) -> list[Any]:
    """The columns of one, the rows of the other."""
    return [
        total([column[i] * row[j] for column, row in zip((a0, a1, a2), (b0, b1, b2), strict=True)])
        for i in range(3)
        for j in range(3)
    ]


def matmul_individual(
    a0: Values, a1: Values, a2: Values, a3: Values, a4: Values, a5: Values, a6: Values, a7: Values, a8: Values,
    b0: Values, b1: Values, b2: Values, b3: Values, b4: Values, b5: Values, b6: Values, b7: Values, b8: Values,
) -> list[Any]:  # fmt: skip
    """Every element a vector of its own."""
    return matmul_together([x[0] for x in (a0, a1, a2, a3, a4, a5, a6, a7, a8, b0, b1, b2, b3, b4, b5, b6, b7, b8)])


# -- mm.16 by blocks --------------------------------------------------------------------------------


def matmul_blocked(a: Values, b: Values, side: int = 4) -> list[Any]:
    """A product of matrices by products of square blocks, which are then added up."""
    blocks, n = len(a) // side, len(a)
    result: list[Any] = [None] * (n * n)
    for i in range(blocks):
        for j in range(blocks):
            products = [matmul(_block(a, i, k, side), _block(b, k, j, side)) for k in range(blocks)]
            for place in range(side * side):
                row, column = i * side + place // side, j * side + place % side
                result[row * n + column] = total([product[place] for product in products])
    return result


def _block(a: Values, i: int, j: int, side: int) -> list[list[Any]]:
    return [[a[i * side + r][j * side + c] for c in range(side)] for r in range(side)]


# -- Porcupine: images in one vector, results where all pixels that are read exist ---------------------


def hamming(x: Values, y: Values) -> list[Any]:
    """How many of the bits differ."""
    return [total([(x[i] + y[i]) * (2 - (x[i] + y[i])) for i in range(len(x))])]


def squared_distance(x: Values, y: Values) -> list[Any]:
    """The squared Euclidean distance of two points."""
    return [total([(x[i] - y[i]) * (x[i] - y[i]) for i in range(len(x))])]


def linear(a: Values, b: Values, x: Values, y: Values) -> list[Any]:
    """y - a x - b, element by element."""
    return [y[i] - a[i] * x[i] - b[i] for i in range(len(x))]


def quadratic(a: Values, b: Values, c: Values, x: Values, y: Values) -> list[Any]:
    """y - (a x + b) x - c, element by element."""
    return [y[i] - ((a[i] * x[i] + b[i]) * x[i] + c[i]) for i in range(len(x))]


def box_blur(image: Values) -> list[Any]:
    """Sums of 2 x 2 pixels."""
    return [
        total([image[r][c], image[r][c + 1], image[r + 1][c], image[r + 1][c + 1]])
        for r in range(len(image) - 1)
        for c in range(len(image[0]) - 1)
    ]


def roberts_cross(image: Values) -> list[Any]:
    """Squared gradient: differences along both diagonals of 2 x 2 pixels."""
    found = []
    for r in range(len(image) - 1):
        for c in range(len(image[0]) - 1):
            down, up = image[r + 1][c + 1] - image[r][c], image[r + 1][c] - image[r][c + 1]
            found.append(down * down + up * up)
    return found


def gx(image: Values) -> list[Any]:
    """Sobel's derivative along rows: (1, 2, 1) down the columns, then right minus left."""
    found = []
    for r in range(1, len(image) - 1):
        smooth = [(p + q) + (q + s) for p, q, s in zip(*(image[r + k] for k in (-1, 0, 1)), strict=True)]
        found += [smooth[c + 1] - smooth[c - 1] for c in range(1, len(smooth) - 1)]
    return found


# -- spelled otherwise: what a compiler has to bring into shape itself ------------------------------------


def hamming_spelled(x: Values, y: Values) -> list[Any]:
    """How many of the bits differ, as x + y - 2 x y."""
    return [total([x[i] + y[i] - 2 * x[i] * y[i] for i in range(len(x))])]


def distance_spelled(x: Values, y: Values) -> list[Any]:
    """The squared Euclidean distance of two points, as three sums."""
    n = range(len(x))
    return [total([x[i] * x[i] for i in n]) + total([y[i] * y[i] for i in n]) - 2 * total([x[i] * y[i] for i in n])]


def horner(x: Values, degree: int) -> list[Any]:
    """A polynomial with public coefficients at several numbers, one product after the other."""
    found = []
    for number in x:
        value = degree + 1
        for coefficient in range(degree, 0, -1):
            value = value * number + coefficient
        found.append(value)
    return found


def horner8(x: Values) -> list[Any]:
    """Of degree 8."""
    return horner(x, 8)


def horner16(x: Values) -> list[Any]:
    """Of degree 16."""
    return horner(x, 16)
