"""Frozen values whose hash is found once: those by which a search looks up what it knows are nested deeply."""

from __future__ import annotations

from dataclasses import fields


class HashedOnce:
    """Base of a frozen dataclass with slots, which says ``__hash__ = HashedOnce.__hash__``."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            result = hash(tuple(getattr(self, field.name) for field in fields(self)))  # type: ignore[arg-type]
            object.__setattr__(self, "_hash", result)
            return result
