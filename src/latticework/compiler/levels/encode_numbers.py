"""Encoding of public vectors and numbers that meet ciphertexts, at the exact scales of a chain; for each scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from latticework.compiler.levels.level_plan import NumberOp
from latticework.errors import DtypeError, RangeError, ScaleError
from latticework.ir import Builder, Loc, Value
from latticework.ir.dialects.bfv_dialect import SCALE
from latticework.ir.dialects.rlwe_dialect import CipherType, Level
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.packed_constants import ConstRef, LinearMap

INTEGER_BITS = 62  # of the integers that the core multiplies by and adds
MAX_ADDENDS = 16
EXACT = 2.0**53  # the constants of BFV, which are stored as float64, are below, since others are rounded to it


class NumberEncoder(Protocol):
    """The treatment of public numbers by a scheme.

    books_ends  whether what stands before the end of a block is on its line, or on that of the operation before
    """

    books_ends: bool

    def encode(self, builder: Builder, array: ConstRef, level: int, scale: float, *, addend: bool) -> Value:
        """A plaintext, as a factor or as what is added."""

    def encrypt(self, builder: Builder, array: ConstRef, level: int) -> Value:
        """A trivial ciphertext."""

    def meet(self, builder: Builder, number_op: NumberOp, value: Value, number: float) -> Value:
        """A ciphertext plus, minus or times a number."""

    def check_map(self, linear_map: LinearMap, at: Loc | None) -> None:
        """A UserError if the scheme cannot take a linear map's constants."""


class NumbersCkks:
    """Numbers rounded at scales."""

    books_ends = False

    def __init__(self, chain: ModulusChain) -> None:
        self.scales = chain.main.scales

    def encode(self, builder: Builder, array: ConstRef, level: int, scale: float, *, addend: bool) -> Value:
        """A plaintext; all have one form."""
        return builder.build(
            "rlwe.encode", [], value=array, slots=array.slots, level=Level(0, level), scale=scale, basis="Q"
        )

    def encrypt(self, builder: Builder, array: ConstRef, level: int) -> Value:
        """A trivial ciphertext on the ladder."""
        return builder.build("rlwe.trivial", [self.encode(builder, array, level, self.scales[level], addend=True)])

    def meet(self, builder: Builder, number_op: NumberOp, value: Value, number: float) -> Value:
        """A ciphertext and a number at its scale."""
        assert isinstance(value.type, CipherType)
        scale = value.type.scale
        match number_op:
            case NumberOp.PLUS | NumberOp.MINUS:
                sign = 1 if number_op is NumberOp.PLUS else -1
                for addend in split_integer(sign * round(number * scale), builder.loc):
                    value = builder.build("rlwe.add_int", [value], addend=addend)
                return value
            case NumberOp.TIMES_INTEGER:
                return builder.build("rlwe.mul_int", [value], factor=int(number), scale=scale, exact=True)
            case NumberOp.LABEL:
                sign = 1 if number > 0 else -1
                return builder.build("rlwe.mul_int", [value], factor=sign, scale=scale / abs(number), exact=True)
            case NumberOp.TIMES:
                first = 1 << max(round(abs(number) * scale).bit_length() - INTEGER_BITS, 0)
                if first > 1:  # the exact factor 2^k first, so that the rest fits in the core's integers
                    value = builder.build("rlwe.mul_int", [value], factor=first, scale=scale, exact=True)
                factor = round(number / first * scale)
                return builder.build("rlwe.mul_int", [value], factor=factor, scale=float(scale * scale))

    def check_map(self, linear_map: LinearMap, at: Loc | None) -> None:
        """It takes any."""


def split_integer(number: int, loc: Loc | None) -> list[int]:
    """Integers of the core's size that add up to a number.

    raises  ScaleError where it takes more than 16 of them
    """
    largest = (1 << INTEGER_BITS) - 1
    count = max(-(-abs(number) // largest), 1)
    if count > MAX_ADDENDS:
        raise ScaleError(
            f"a number to be added becomes the integer {number:.3g}, more than {MAX_ADDENDS} * 2^{INTEGER_BITS} at its "
            "scale; scale the values down, or lower precision_bits",
            at=loc,
        )
    share, rest = divmod(number, count)
    return [share + (i < rest) for i in range(count)]


class NumbersBfv:
    """Integers modulo t; the scale is 1."""

    books_ends = True

    def __init__(self, chain: ModulusChain, sources: Mapping[str, npt.NDArray[np.float64]]) -> None:
        self.modulus = chain.plain_modulus
        self.is_wide = chain.has_wide_integers
        self.sources = sources
        self.checked: set[str] = set()

    def encode(self, builder: Builder, array: ConstRef, level: int, scale: float, *, addend: bool) -> Value:
        """A plaintext; addends have a form of their own."""
        self.check(array, builder.loc)
        at = Level(0, level)
        if addend:
            return builder.build("bfv.encode", [], value=array, level=at)
        return builder.build("rlwe.encode", [], value=array, slots=array.slots, level=at, scale=scale, basis="Q")

    def encrypt(self, builder: Builder, array: ConstRef, level: int) -> Value:
        """A trivial ciphertext."""
        return builder.build("bfv.trivial", [self.encode(builder, array, level, SCALE, addend=True)])

    def meet(self, builder: Builder, number_op: NumberOp, value: Value, number: float) -> Value:
        """A ciphertext and the representative modulo t nearest to zero; the number itself where there are several t."""
        self.check_numbers(np.array([number]), builder.loc)
        integer = int(number)
        if not self.is_wide:
            integer %= self.modulus
            integer -= self.modulus if integer > self.modulus // 2 else 0
        if number_op is NumberOp.TIMES_INTEGER:
            return builder.build("rlwe.mul_int", [value], factor=integer, scale=SCALE)
        assert number_op in (NumberOp.PLUS, NumberOp.MINUS), number_op
        return builder.build("rlwe.add_int", [value], addend=integer if number_op is NumberOp.PLUS else -integer)

    def check_map(self, linear_map: LinearMap, at: Loc | None) -> None:
        """Errors unless a linear map is one of integers."""
        if not linear_map.is_real:
            raise DtypeError("BFV: a linear map is complex; slots hold integers", at=at)
        for part in linear_map.all_parts:
            self.check_numbers(np.array([part.factor]), at)
            if part.gather.source is not None:
                self.check_source(part.gather.source, at)
        for diagonal in linear_map.explicit:
            self.check(diagonal.values, at)

    def check(self, value: ConstRef, at: Loc | None) -> None:
        """Errors unless a constant is of integers."""
        if value.is_complex:
            raise DtypeError("BFV: a constant is complex; slots hold integers", at=at)
        self.check_numbers(np.array([value.factor]), at)
        for name in value.sources:
            self.check_source(name, at)
        if value.plus is not None:
            self.check(value.plus, at)

    def check_source(self, name: str, at: Loc | None) -> None:
        """Errors unless an array of weights holds integers."""
        if name not in self.checked:
            self.check_numbers(np.asarray(self.sources[name]), at)
            self.checked.add(name)

    def check_numbers(self, numbers: npt.NDArray[np.float64], at: Loc | None) -> None:
        """DtypeError or RangeError unless numbers are integers that float64 holds exactly."""
        broken = numbers[numbers != np.rint(numbers)]
        if broken.size:
            raise DtypeError(
                f"BFV: a constant is {broken.reshape(-1)[0]:g}; slots hold integers modulo {self.modulus}: scale it to "
                "an integer, or compile for CKKS",
                at=at,
            )
        large = numbers[np.abs(numbers) >= EXACT]
        if large.size:
            remedy = "give it as an input, lw.scalar()" if self.is_wide else "give it reduced modulo t"
            raise RangeError(f"BFV: a constant is {large.reshape(-1)[0]:.17g}; {remedy}", at=at)
