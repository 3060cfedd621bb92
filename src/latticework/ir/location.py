"""Locations in the user's program, and the user's name for a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass
from latticework.values.sums import add_up


class Loc:
    """A line of the user's program; interned, so equal locations are one object.

    text   the source line itself, "" if not known
    via    the place that called the function the line is in, or None
    span   columns of the expression in `text`, from and before; (0, 0) if not known
    parts  of what several places together cause: each of them with its share, which add up to 1; messages name `file`
           and `line` alone
    """

    __slots__ = ("file", "line", "parts", "span", "text", "via")
    _interned: ClassVar[dict[tuple[Any, ...], Loc]] = {}

    file: str
    line: int
    text: str
    via: Loc | None
    span: tuple[int, int]
    parts: tuple[tuple[Loc, float], ...]

    def __new__(
        cls,
        file: str,
        line: int,
        text: str = "",
        via: Loc | None = None,
        span: tuple[int, int] = (0, 0),
        parts: tuple[tuple[Loc, float], ...] = (),
    ) -> Loc:
        """The one Loc of these fields."""
        key = (file, line, text, via, span, parts)
        result = cls._interned.get(key)
        if result is not None:
            return result
        new = object.__new__(cls)
        for field, value in zip(("file", "line", "text", "via", "span", "parts"), key, strict=True):
            object.__setattr__(new, field, value)
        return cls._interned.setdefault(key, new)

    @classmethod
    def unknown(cls) -> Loc:
        """The location of what has no line in the user's program."""
        return _UNKNOWN

    @classmethod
    def fuse(cls, weighted: Iterable[tuple[Loc, float]], at: Loc) -> Loc:
        """Fuse the locations of one operation that does the work of several, by what each would take alone.

        weighted  places and weights, of any unit; without any weight all count alike
        at        what messages name
        """
        known = [(loc, weight) for loc, weight in weighted if loc is not _UNKNOWN]
        if not any(weight > 0 for _, weight in known):
            known = [(loc, 1.0) for loc, _ in known]
        shares: dict[Loc, float] = {}
        for loc, weight in known:
            for part, share in loc.shares:
                if weight * share > 0:
                    shares[part] = shares.get(part, 0.0) + weight * share
        if len(shares) < 2:
            return next(iter(shares), at)
        whole = add_up(shares.values())
        ordered = sorted(shares, key=lambda loc: (loc.file, loc.line, loc.span, loc.text))
        parts = tuple((loc, shares[loc] / whole) for loc in ordered)
        return cls(at.file, at.line, at.text, at.via, at.span, parts)

    @property
    def shares(self) -> tuple[tuple[Loc, float], ...]:
        """The places that cause what is here, with shares that add up to 1."""
        return self.parts or ((self, 1.0),)

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError("a Loc is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return Loc, (self.file, self.line, self.text, self.via, self.span, self.parts)

    def __str__(self) -> str:
        return f"{plain_text(self.file)}:{self.line}" if self is not _UNKNOWN else "unknown location"

    def __repr__(self) -> str:
        return f"Loc({self})"


_UNKNOWN = Loc("", 0)


@dataclass(frozen=True, slots=True)
class Origin:
    """The user's name and place for a value; it follows the value through every rewrite.

    name      the variable, or the parameter, it was in the user's program
    max_abs   the largest magnitude seen in calibration, or None
    position  subscript of the element, where a tensor was taken apart, or None
    factor    what the value is to be multiplied by to be the user's
    """

    name: str
    loc: Loc = _UNKNOWN
    max_abs: float | None = None
    position: tuple[int, ...] | None = None
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.max_abs is not None:
            object.__setattr__(self, "max_abs", float(self.max_abs))
        if self.position is not None:
            object.__setattr__(self, "position", tuple(map(int, self.position)))
