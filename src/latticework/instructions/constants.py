"""Keys and public vectors."""

from __future__ import annotations

from collections.abc import Sequence

from latticework.errors import IrError
from latticework.instructions.kinds import AddendKind, CipherKind, Kind, PlainKind
from latticework.instructions.protocols import Machine, Slots
from latticework.instructions.record import BOTH, CONTROL, ORDINARY, Record, Traits, walked
from latticework.instructions.use import Use
from latticework.instructions.vectors import each
from latticework.packing.constants import ConstRef
from latticework.packing.keys import KeySpec


def require_number(use: Use, count: int, what: str) -> int:
    """The first immediate, checked to be a number of so many."""
    number = use.immediate[0]
    if not 0 <= number < count:
        raise IrError(f"there is no {what} {number}")
    return number


def _encoded(use: Use) -> Sequence[Kind]:
    """Encoded as the use of it wants it, which the result states; what BFV adds is over Q."""
    require_number(use, len(use.constants), "constant")
    stated = use.stated
    if isinstance(stated, AddendKind) and (use.chain.scheme != "bfv" or stated.basis):
        raise IrError("there is no such addend")
    return (stated,)


def _encode(run: Machine, use: Use) -> Slots:
    constant, kind = use.constants[use.immediate[0]], use.stated
    assert isinstance(constant, ConstRef) and isinstance(kind, PlainKind)
    return run.encoded(constant, kind.scale).reshape(kind.count, -1)


def _key(use: Use) -> Sequence[KeySpec]:
    return (use.keys[require_number(use, len(use.keys), "key")],)


def _trivial(use: Use) -> Sequence[Kind]:
    (a,) = use.operands
    return (CipherKind(a.slots, a.track, a.level, a.scale, 1, a.basis, count=a.count),)


ENCODE = Record(
    name="encode",
    line="a public vector as a plaintext; once for each use, and kept",
    family="encode",
    schemes=BOTH,
    traits=ORDINARY,
    rule=_encoded,
    meaning=_encode,
    error=lambda errors, use: errors.encoded(use.constants[use.immediate[0]], use.stated.scale),
)
KEY = Record(
    name="key",
    line="an evaluation key",
    family="other",
    schemes=BOTH,
    traits=CONTROL,
    rule=_key,
    meaning=lambda _walk, site: site.use.keys[site.use.immediate[0]],
    error=walked,
)
TRIVIAL = Record(
    name="trivial",
    line="a plaintext as a ciphertext without noise of its own",
    family="other",
    schemes=BOTH,
    traits=Traits(adds=True),
    rule=_trivial,
    meaning=lambda _run, _use, a: a,
    error=each(lambda errors, use, a: errors.trivial(use, a)),
)

RECORDS = (ENCODE, KEY, TRIVIAL)
