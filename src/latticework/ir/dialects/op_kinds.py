"""IR types as the types of a plan's registers, which have no scheme, and back."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from latticework.ir import INDEX, Type
from latticework.ir.dialects.key_dialect import KeyType
from latticework.ir.dialects.rlwe_types import AddendType, CipherType, DigitsType, Level, PlainType
from latticework.plan.instructions.register_kinds import (
    OVER,
    SECRETS,
    AddendKind,
    CipherKind,
    DigitsKind,
    IndexKind,
    PlainKind,
)

_INDEX = IndexKind()


@lru_cache(maxsize=1 << 14)
def kind_of(type_: Type) -> Any:
    """The type of a register that holds such a value; a key by what it is."""
    if isinstance(type_, CipherType):
        place = type_.slots, type_.level.track, type_.level.index, type_.scale
        basis, secret = OVER.index(type_.basis), SECRETS.index(type_.secret_key)
        return CipherKind(*place, type_.degree, basis, secret, type_.count)
    if isinstance(type_, DigitsType):
        of = type_.of
        return DigitsKind(of.slots, of.level.track, of.level.index, of.scale, of.degree, of.count)
    if isinstance(type_, PlainType | AddendType):
        kind = PlainKind if isinstance(type_, PlainType) else AddendKind
        place = type_.slots, type_.level.track, type_.level.index, type_.scale
        return kind(*place, OVER.index(type_.basis), type_.count)
    if isinstance(type_, KeyType):
        return type_.spec
    assert type_ is INDEX, type_
    return _INDEX


def type_of(kind: CipherKind | DigitsKind, scheme: str) -> Type:
    """The IR type of a ciphertext of a scheme, or of its digits."""
    level = Level(kind.track, kind.level)
    if isinstance(kind, DigitsKind):
        return DigitsType(CipherType(scheme, kind.count, kind.slots, level, kind.scale, kind.degree))
    basis, secret = OVER[kind.basis], SECRETS[kind.secret]
    return CipherType(scheme, kind.count, kind.slots, level, kind.scale, kind.degree, basis, secret)
