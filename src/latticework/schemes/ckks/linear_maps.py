"""Linear maps of slots by their diagonals, and sums over slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.compiler.expand.primitive_builder import Primitives, cipher
from latticework.errors import DtypeError, RangeError, ShapeError
from latticework.ir import Module, Value
from latticework.ir.dialects.rlwe_dialect import Level
from latticework.schemes.ckks.ckks_checks import ComplexArray, check_encodable, scale_text, slot_values
from latticework.schemes.ckks.ckks_ciphertext import Ciphertext
from latticework.schemes.ckks.planned import PlannedOperation
from latticework.schemes.rlwe.checks import fail, whole
from latticework.values.inputs.foreign_arrays import as_array, find_loss
from latticework.values.packing.pack import PackDim, PackMap
from latticework.values.packing.packed_constants import Access, ConstRef, Diagonal, LinearMap, LoopNest

Diagonals = Mapping[int, npt.ArrayLike]


class LinearTransform(PlannedOperation):
    """y = sum_k d_k * rotate(x, k), by baby steps and giant steps with hoisted rotations; one level.

    matrix               (rows, cols) array, padded with zeros to (slots, slots): y = matrix @ x; or a mapping of steps
                         k to diagonals d_k: vectors of `slots` numbers, d_k[i] = matrix[i, (i + k) % slots], or one
    conjugate_diagonals  e_k of a further sum_k e_k * rotate(conj(x), k): with it any real-linear map
    slots                length of the vectors; from the matrix or the diagonals if not given
    """

    name = "linear_transform"

    def __init__(
        self,
        matrix: npt.ArrayLike | Diagonals,
        *,
        conjugate_diagonals: npt.ArrayLike | Diagonals | None = None,
        slots: int | None = None,
    ) -> None:
        super().__init__()
        given = [matrix] if conjugate_diagonals is None else [matrix, conjugate_diagonals]
        self._slots = _common_slots(given, slots)
        self.diagonals = _diagonals(matrix, self._slots)
        self.conjugate_diagonals = {} if conjugate_diagonals is None else _diagonals(conjugate_diagonals, self._slots)
        if not self.diagonals and not self.conjugate_diagonals:
            fail(RangeError, "LinearTransform: every diagonal is zero; multiply by 0 instead")

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return self._slots

    @property
    def depth(self) -> int:
        """One level."""
        return 1

    def __call__(self, x: npt.ArrayLike) -> ComplexArray:
        """The map on a vector in the clear."""
        v = slot_values("LinearTransform", x, self._slots)
        direct = sum(d * np.roll(v, -k) for k, d in self.diagonals.items())
        return np.asarray(direct + sum(d * np.roll(v.conj(), -k) for k, d in self.conjugate_diagonals.items()))

    def _check(self, x: Ciphertext) -> None:
        """RangeError where entries are too large for the encoder, or too small for any to be left by rounding."""
        super()._check(x)
        p = x.parameters
        scale = p.scales[x.level - 1] * p.dropped(x.level) / x.scale
        every = np.concatenate([*self.diagonals.values(), *self.conjugate_diagonals.values()])
        check_encodable("linear_transform: the entries", every, scale)
        largest = float(np.max(np.abs(every)))
        if largest * scale < 0.5:
            fail(
                RangeError,
                f"linear_transform: entries of at most {largest:.3g} at scale {scale_text(scale)} round to 0; "
                f"{0.5 / scale:.3g} or more is possible: multiply the matrix by a power of two",
            )

    def _build(self, p: Primitives, x: Value, module: Module) -> Value:
        """One symbolic map."""
        level = Level(0, cipher(x).level.index - 1)
        mapping = LinearMap(
            self._slots,
            explicit=(
                *explicit_diagonals(self.diagonals, self._slots, module, conj=False),
                *explicit_diagonals(self.conjugate_diagonals, self._slots, module, conj=True),
            ),
        )
        scale = p.chain.main.scales[level.index]
        return p.builder.build("ckks.linear_transform", [x], map=mapping, level=level, scale=scale)

    def __repr__(self) -> str:
        conjugate = f" and {len(self.conjugate_diagonals)} of the conjugate" if self.conjugate_diagonals else ""
        return f"LinearTransform({self._slots} slots, {len(self.diagonals)} diagonals{conjugate})"


def explicit_diagonals(
    diagonals: dict[int, ComplexArray], slots: int, module: Module, *, conj: bool
) -> tuple[Diagonal, ...]:
    """Diagonals in compact form: their numbers become one source of the module."""
    if not diagonals:
        return ()
    every = np.array(list(diagonals.values()))
    source = module.add_source(every if np.any(every.imag) else every.real)
    pack = PackMap((slots,), slots, (PackDim(0, slots),))
    identity = Access((slots,), ((1,),), (0,))

    def values(row: int) -> ConstRef:
        return ConstRef(LoopNest((slots,), pack, identity, source, Access(every.shape, ((0,), (1,)), (row, 0))))

    return tuple(Diagonal(k, values(row), conj) for row, k in enumerate(diagonals))


def _common_slots(given: list[npt.ArrayLike | Diagonals], slots: int | None) -> int:
    sizes = [1 if slots is None else whole("LinearTransform: slots", slots)]
    for matrix in given:
        if isinstance(matrix, Mapping):
            sizes += [np.asarray(d).size for d in matrix.values()]
        else:
            sizes += _array(matrix).shape
    need = max(sizes)
    count = need if slots is None else slots
    padded = 1 << (need - 1).bit_length()
    if slots is not None and (need > slots or slots & (slots - 1)):
        fail(ShapeError, f"LinearTransform: slots={slots}; a power of two, at least {padded}, is needed")
    return padded if slots is None else count


def _diagonals(matrix: npt.ArrayLike | Diagonals, slots: int) -> dict[int, ComplexArray]:
    """Steps in [0, slots) -> diagonal of `slots` numbers; those that are zero are left out."""
    found: dict[int, ComplexArray] = {}
    if isinstance(matrix, Mapping):
        for key, values in matrix.items():
            steps = whole("LinearTransform: the key of a diagonal", key) % slots
            d = slot_values(f"LinearTransform: diagonal {key}", values, slots)
            if d.size not in (1, slots):
                fail(ShapeError, f"LinearTransform: diagonal {key} has {d.size} numbers; give {slots}, or one")
            found[steps] = found.get(steps, np.zeros(slots, dtype=np.complex128)) + d
    else:
        square = _square(matrix, slots)
        rows = np.arange(slots)
        found = {k: square[rows, (rows + k) % slots] for k in range(slots)}
    return {k: d for k, d in sorted(found.items()) if np.any(d)}


def _array(matrix: Any) -> npt.NDArray[Any]:
    lost = find_loss(matrix)
    if lost:
        fail(DtypeError, f"LinearTransform: got {lost}")
    try:
        return as_array(matrix)
    except ValueError:
        fail(ShapeError, "LinearTransform: rows of different lengths; give a matrix of shape (rows, cols)")


def _square(matrix: Any, slots: int) -> ComplexArray:
    array = _array(matrix)
    if array.ndim != 2 or array.dtype.kind not in "fciub" or not np.isfinite(array).all():
        fail(ShapeError, f"LinearTransform: shape {array.shape}, dtype {array.dtype}; give a matrix of finite numbers")
    square = np.zeros((slots, slots), dtype=np.complex128)
    square[: array.shape[0], : array.shape[1]] = array
    return square


class InnerSum(PlannedOperation):
    """y = sum of rotate(x, j * stride) over j < count, by doubling: about log2(count) rotations, no level."""

    name = "inner_sum"

    def __init__(self, count: int, stride: int = 1) -> None:
        super().__init__()
        self.count, self.stride = count, stride
        if self.count < 1:
            fail(RangeError, f"inner_sum: count={count}; give how many slots are added up, 1 or more")

    @property
    def depth(self) -> int:
        """No level."""
        return 0

    def _build(self, p: Primitives, x: Value, module: Module) -> Value:
        """Sums of 1, 2, 4, ... terms; those that make up `count` are put side by side."""
        total: Value | None = None
        done, size, block = 0, 1, x
        while True:
            if self.count & size:
                total = p.add(total, self._rotate(p, block, done))
                done += size
            size *= 2
            if size > self.count:
                break
            block = p.add(block, self._rotate(p, block, size // 2))
        assert total is not None
        return total

    def _rotate(self, p: Primitives, x: Value, terms: int) -> Value:
        steps = terms * self.stride
        return x if steps % cipher(x).slots == 0 else p.builder.build("rlwe.rotate", [x], steps=steps)
