"""The cases: a kernel, how its inputs are grouped and replicated, and what is published for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any

import numpy as np

import latticework as lw
from bench.coyote import kernels
from bench.coyote.counting import Counts, count
from bench.coyote.published import Published, porcupine, repository, table1

LARGEST = 9  # magnitude of random inputs
CLASSES = {"un": (False, False), "partially": (True, False), "fully": (True, True)}  # of a kernel's two inputs

TABLE_1, TABLE_2, FIGURE_8, OTHER, SPELLED = "table 1", "table 2", "figure 8", "other", "spelled"


@dataclass(frozen=True)
class Given:
    """An encrypted input: one ciphertext, but for scalars, which lie wherever they are wanted.

    replicate  whether each use may have a copy of its own, in the same ciphertext
    is_bit     its elements are 0 or 1
    """

    shape: tuple[int, ...]
    replicate: bool = False
    is_bit: bool = False

    @property
    def annotation(self) -> Any:
        """As a circuit declares it."""
        if not self.shape:
            return lw.scalar()
        kind = lw.vector if len(self.shape) == 1 else lw.matrix
        return kind(*self.shape, replicate=self.replicate)


@dataclass(frozen=True)
class Case:
    """A row.

    given  inputs by name
    """

    name: str
    table: str
    kernel: Callable[..., Any]
    given: Mapping[str, Given]
    published: Published | None = None

    @cached_property
    def counts(self) -> Counts:
        """The operations of the kernel as scalar code."""
        return count(self.kernel, {name: given.shape for name, given in self.given.items()})

    @property
    def ciphertexts(self) -> int:
        """Ciphertexts of the client that the grouping allows: one each; of free scalars no more than there are."""
        return len(self.given)

    @property
    def slots(self) -> int:
        """Slots that the class allows: one for each element, or for each use of what may be replicated."""
        return sum(
            self.counts.uses[name] if given.replicate or not given.shape else int(np.prod(given.shape))
            for name, given in self.given.items()
        )

    @property
    def circuit(self) -> Any:
        """What `lw.compile` takes."""
        plain = self.kernel
        assert isinstance(plain, FunctionType)
        function = FunctionType(
            plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__
        )
        function.__dict__["__signature__"] = Signature(
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=given.annotation) for name, given in self.given.items()
        )
        return lw.circuit(function)

    def inputs(self, seed: int) -> dict[str, Any]:
        """Random integers: bits, or numbers of small magnitude."""
        rng = np.random.default_rng(seed)
        found = {}
        for name, given in self.given.items():
            low, high = (0, 1) if given.is_bit else (-LARGEST, LARGEST)
            found[name] = rng.integers(low, high, given.shape, endpoint=True)
        return found

    def expected(self, inputs: Mapping[str, Any], modulus: int) -> list[int]:
        """The results in Python's integers, nearest to zero modulo the plaintext modulus."""
        exact = {name: np.asarray(x).astype(object).tolist() for name, x in inputs.items()}
        results = [int(x) % modulus for x in self.kernel(**exact)]
        return [x - modulus if x > modulus // 2 else x for x in results]


def cases() -> list[Case]:
    """All but the random polynomials."""
    return [*_table1(), *_table2(), *_figure8(), *_others(), *_spelled()]


def _table1() -> Iterator[Case]:
    published = table1()
    regular: list[tuple[str, Any, dict[str, tuple[int, ...]], str]] = []  # the last: what is replicated if only one is
    for n, k in ((4, 2), (5, 3)):
        regular.append((f"conv.{n}.{k}", kernels.convolution, {"signal": (n,), "kernel": (k,)}, "kernel"))
    regular += [(f"dist.{n}", kernels.distances, {"xs": (n,), "ys": (n,)}, "xs") for n in (3, 4, 5)]
    regular += [(f"dot.{n}", kernels.dot, {"a": (n,), "b": (n,)}, "a") for n in (3, 6, 10)]
    regular += [(f"mm.{n}", kernels.matmul, {"a": (n, n), "b": (n, n)}, "a") for n in (2, 3)]
    for name, kernel, shapes, first in regular:
        for replicated, (one, other) in CLASSES.items():
            given = {x: Given(shape, one if x == first else other) for x, shape in shapes.items()}
            yield Case(f"{name}.{replicated}", TABLE_1, kernel, given, published[f"{name}.{replicated}"])
    for name, grouped, scalars, comparisons, labels in (
        ("sort[3]", kernels.sort3, kernels.sort3_scalars, 3, 6),
        ("max[5]", kernels.max5, kernels.max5_scalars, 10, 5),
    ):
        for replicated, (one, other) in CLASSES.items():
            given = {"c": Given((comparisons,), one, is_bit=True), "o": Given((labels,), other)}
            case = f"{name}.grouped.{replicated}"
            yield Case(case, TABLE_1, grouped, given, published[case])
        names = scalars.__code__.co_varnames[: scalars.__code__.co_argcount]
        free = {x: Given((), is_bit=x.startswith("c")) for x in names}
        yield Case(name, TABLE_1, scalars, free, published[name])
    square = {"a": Given((16, 16)), "b": Given((16, 16))}
    yield Case("mm.16.blocked", TABLE_1, kernels.matmul, square, published["mm.16.blocked"])


def _table2() -> Iterator[Case]:
    for n in (2, 3, 4):
        for replicated in ("un", "fully"):
            one, other = CLASSES[replicated]
            given = {"a": Given((n, n), one), "x": Given((n,), other)}
            yield Case(f"mv.{n}.{replicated}", TABLE_2, kernels.matvec, given)


def _figure8() -> Iterator[Case]:
    published = repository()
    rows = {f"{matrix}{i}": Given((3,)) for matrix in "ab" for i in range(3)}
    for layout, kernel, given in (
        ("together", kernels.matmul_together, {"c": Given((18,))}),
        ("separate", kernels.matmul, {"a": Given((3, 3)), "b": Given((3, 3))}),
        ("rows and columns", kernels.matmul_rows_columns, rows),
        ("columns and rows", kernels.matmul_columns_rows, rows),
        ("individual", kernels.matmul_individual, {f"{m}{i}": Given((1,)) for m in "ab" for i in range(9)}),
    ):
        yield Case(f"mm.3 {layout}", FIGURE_8, kernel, given, published[f"mm.3 {layout}"])


def _others() -> Iterator[Case]:
    square = {"a": Given((2, 2)), "b": Given((2, 2))}
    yield Case("determinant", OTHER, kernels.determinant, square, repository()["determinant"])
    image, pair = {"image": Given((4, 4))}, {"x": Given((4,)), "y": Given((4,))}
    bits = {name: Given((4,), is_bit=True) for name in "xy"}
    for name, kernel, given in (
        ("dot.8", kernels.dot, {"a": Given((8,)), "b": Given((8,))}),
        ("hamming.4", kernels.hamming, bits),
        ("l2.4", kernels.squared_distance, pair),
        ("linear.64", kernels.linear, {x: Given((64,)) for x in "abxy"}),
        ("quadratic.64", kernels.quadratic, {x: Given((64,)) for x in "abcxy"}),
        ("box blur", kernels.box_blur, image),
        ("roberts cross", kernels.roberts_cross, image),
        ("gx", kernels.gx, {"image": Given((5, 5))}),
    ):
        yield Case(name, OTHER, kernel, given, porcupine()[name])


def _spelled() -> Iterator[Case]:
    """The same, and polynomials, as a user may write them; published for the forms that an expert wrote."""
    for n in (4, 16):
        bits = {name: Given((n,), is_bit=True) for name in "xy"}
        yield Case(f"hamming.{n} spelled", SPELLED, kernels.hamming_spelled, bits, porcupine().get(f"hamming.{n}"))
    pair = {"x": Given((4,)), "y": Given((4,))}
    yield Case("l2.4 spelled", SPELLED, kernels.distance_spelled, pair, porcupine()["l2.4"])
    for degree, kernel in ((8, kernels.horner8), (16, kernels.horner16)):
        yield Case(f"horner.{degree}", SPELLED, kernel, {"x": Given((4,))})
