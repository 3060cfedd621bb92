"""Where things come from: places in the user's program, and the user's name for a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from latticework.escaping import plain_text


class Loc:
    """A line of the user's program; interned, so equal locations are one object.

    text  the source line itself, "" if not known
    via   the place that called the function the line is in, or None
    """

    __slots__ = ("file", "line", "text", "via")
    _interned: ClassVar[dict[tuple[str, int, str, Loc | None], Loc]] = {}

    file: str
    line: int
    text: str
    via: Loc | None

    def __new__(cls, file: str, line: int, text: str = "", via: Loc | None = None) -> Loc:
        """The one Loc of these fields."""
        key = (file, line, text, via)
        found = cls._interned.get(key)
        if found is not None:
            return found
        new = object.__new__(cls)
        for field, value in zip(cls.__slots__, key, strict=True):
            object.__setattr__(new, field, value)
        return cls._interned.setdefault(key, new)

    @classmethod
    def unknown(cls) -> Loc:
        """The location of what has no line in the user's program."""
        return _UNKNOWN

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError("a Loc is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return Loc, (self.file, self.line, self.text, self.via)

    def __str__(self) -> str:
        return f"{plain_text(self.file)}:{self.line}" if self is not _UNKNOWN else "unknown location"

    def __repr__(self) -> str:
        return f"Loc({self})"


_UNKNOWN = Loc("", 0)


@dataclass(frozen=True, slots=True)
class Origin:
    """What the user knows about a value; it follows the value through every rewrite.

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
