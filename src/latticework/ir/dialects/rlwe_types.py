"""Types of the rlwe dialect, and the checks of level and scale its ops share with those of the schemes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from latticework.errors import IrError, LevelError, ScaleError, ShapeError
from latticework.ir import Array, Type, Value, register_attribute, register_type
from latticework.lazy_dataclass import dataclass
from latticework.values.extension import _core

_BASES = ("Q", "QP")


@register_attribute("level")
@dataclass(frozen=True, slots=True)
class Level:
    """A place on a track of the modulus chain; index = rescales left, 0 is the last."""

    track: int
    index: int

    def __str__(self) -> str:
        return f"level {self.index}" if self.track == 0 else f"level {self.index} of track {self.track}"


def _check_place(level: Level, scale: float, basis: str) -> None:
    if not isinstance(level, Level) or level.track < 0 or level.index < 0:
        raise LevelError(f"there is no {level}; levels go down to 0")
    if not (math.isfinite(scale) and scale > 0):
        raise ScaleError(f"a scale must be a positive number, got {scale}")
    if basis not in _BASES:
        raise IrError(f"the basis must be Q or QP, got {basis!r}")


def _short_parts(kind: str, count: int, slots: int, level: Level, scale: float, basis: str) -> list[str]:
    """The parts of a type's name for readers; the scale by its bits."""
    track = [f"track{level.track}"] * (level.track != 0)
    bits = [f"scale{round(math.log2(scale))}"] * (scale != 1.0)
    return [kind, f"{count}x{slots}", *track, f"level{level.index}", *bits, *[basis] * (basis != "Q")]


def _slots_array(value: Any, count: int, slots: int) -> Array:
    shape = (slots,) if count == 1 else (count, slots)
    array = np.asarray(value, dtype=np.complex128)
    if array.shape != shape:
        raise ShapeError(f"shape {array.shape} where {shape} is needed")
    return array


@register_type("rlwe.cipher")
class CipherType(Type):
    """An array of ciphertexts in NTT domain.

    scheme      "ckks" or "bfv"
    count       number of ciphertexts
    level       place on the modulus chain
    scale       float64 read as an exact number
    degree      polynomials - 1
    basis       "Q", or "QP" before the special limbs are divided away
    secret_key  "main", or "sparse" inside bootstrapping
    """

    secret: ClassVar[bool] = True
    scheme: str
    count: int
    slots: int
    level: Level
    scale: float
    degree: int = 1
    basis: str = "Q"
    secret_key: str = "main"

    def short_name(self) -> str:
        """Such as ``cipher_1x64_level3_scale40``: what differs from the usual follows."""
        parts = _short_parts("cipher", self.count, self.slots, self.level, self.scale, self.basis)
        parts += [f"degree{self.degree}"] * (self.degree != 1) + [self.secret_key] * (self.secret_key != "main")
        return "_".join(parts)

    def check(self) -> None:
        """Raise unless every field can be that of a ciphertext."""
        _check_place(self.level, self.scale, self.basis)
        if self.count < 1 or self.slots < 1 or self.slots & (self.slots - 1):
            raise ShapeError(f"{self.count} ciphertexts of {self.slots} slots; slots must be a power of two")
        if not 1 <= self.degree <= _core.MAX_CIPHERTEXT_DEGREE:
            raise IrError(f"a ciphertext of degree {self.degree}; relinearize before multiplying again")

    def accept(self, value: Any) -> Array:
        """The slots, complex128, (slots,) or (count, slots)."""
        return _slots_array(value, self.count, self.slots)


@register_type("rlwe.digits")
class DigitsType(Type):
    """The hoisted form of a ciphertext: its extended digits, and its other polynomials."""

    secret: ClassVar[bool] = True
    of: CipherType


@register_type("rlwe.plain")
class PlainType(Type):
    """An array of encoded public vectors; fields as in `CipherType`."""

    secret: ClassVar[bool] = False
    count: int
    slots: int
    level: Level
    scale: float
    basis: str = "Q"

    def short_name(self) -> str:
        """Such as ``plain_1x64_level3_scale40``."""
        return "_".join(_short_parts("plain", self.count, self.slots, self.level, self.scale, self.basis))

    def check(self) -> None:
        """Raise unless every field can be that of a plaintext."""
        _check_place(self.level, self.scale, self.basis)
        if self.count < 1 or self.slots < 1 or self.slots & (self.slots - 1):
            raise ShapeError(f"{self.count} plaintexts of {self.slots} slots; slots must be a power of two")

    def accept(self, value: Any) -> Array:
        """The slots, complex128, (slots,) or (count, slots)."""
        return _slots_array(value, self.count, self.slots)


@register_type("bfv.addend")
class AddendType(Type):
    """An array of public vectors encoded to be added to ciphertexts, over Q; fields as in `PlainType`."""

    secret: ClassVar[bool] = False
    count: int
    slots: int
    level: Level
    scale: float = 1.0
    basis: str = "Q"

    def check(self) -> None:
        """Raise unless every field can be that of a plaintext."""
        PlainType(self.count, self.slots, self.level, self.scale, self.basis)

    def accept(self, value: Any) -> Array:
        """The slots, complex128, (slots,) or (count, slots)."""
        return PlainType(self.count, self.slots, self.level, self.scale, self.basis).accept(value)


def take(name: str, operands: Sequence[Value], *kinds: type[Type], secret_key: str = "main") -> list[Any]:
    """The types of the operands, checked to be exactly of these classes, ciphertexts under this secret."""
    types = [value.type for value in operands]
    if [type(t) for t in types] != list(kinds):
        need = ", ".join(f"!{kind.name}" for kind in kinds) or "no operands"
        raise IrError(f"{name}: takes {need}; got ({', '.join(map(str, types))})")
    for type_ in types:
        if isinstance(type_, CipherType) and type_.secret_key != secret_key:
            raise IrError(f"{name}: takes a ciphertext under the {secret_key} secret, got {type_}")
    return types


def check_level(name: str, start: Level, end: Level, *, strict: bool) -> None:
    """LevelError unless `end` is on the track of `start`, and not above it (below it, if `strict`)."""
    if end.track != start.track or end.index < 0 or end.index > start.index - strict:
        raise LevelError(f"{name}: cannot go from {start} to {end}")
