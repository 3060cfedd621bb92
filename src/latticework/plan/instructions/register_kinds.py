"""The types of a plan's registers."""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass

OVER = ("Q", "QP")  # bases by number
SECRETS = ("main", "sparse")  # by number
MAIN, SPARSE = range(2)


@dataclass(frozen=True, slots=True)
class CipherKind:
    """An array of `count` ciphertexts. basis: 0 = Q, 1 = QP (carries the factor P). secret: 0 main, 1 sparse."""

    slots: int
    track: int
    level: int
    scale: float
    degree: int
    basis: int
    secret: int = MAIN
    count: int = 1


@dataclass(frozen=True, slots=True)
class DigitsKind:
    """The hoisted form of an array of ciphertexts of this level, scale and degree."""

    slots: int
    track: int
    level: int
    scale: float
    degree: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class PlainKind:
    """An encoded constant: an array of `count` plaintexts."""

    slots: int
    track: int
    level: int
    scale: float
    basis: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class AddendKind(PlainKind):
    """An encoded constant in the form in which BFV adds it: times Q / t, rounded."""


@dataclass(frozen=True, slots=True)
class KeyKind:
    """An evaluation key, by its number in the plan."""

    key: int


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A public integer."""


Kind = CipherKind | DigitsKind | PlainKind | KeyKind | IndexKind


def level_text(track: int, level: int) -> str:
    """Return a place on the modulus chain, in words for messages."""
    return f"level {level}" if track == 0 else f"level {level} of track {track}"


def place_text(kind: CipherKind | DigitsKind | PlainKind) -> str:
    """Say where a value lies, for messages."""
    return f"{level_text(kind.track, kind.level)} over {OVER[getattr(kind, 'basis', 0)]}"
