"""Evaluation keys: which there are, what they weigh, and how often a run uses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.schema import ClientSpec
from latticework.report.blocks import Fold, Section
from latticework.report.figure_labels import Column, Within, number, table
from latticework.report.quantities import count, size
from latticework.values.packing.key_manifest import KeyUse

MAX_LISTED = 12
_KINDS = ("relinearisation", "rotation", "conjugation", "to the sparse secret", "from the sparse secret")


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One evaluation key. steps: of a rotation; None for relinearisation and conjugation."""

    kind: Annotated[str, Column("key", row=key_text)]
    steps: Annotated[int | None, Within("kind")]
    level: Annotated[int, number("level")]
    uses: Annotated[int, number("uses", count, total=True)]
    stored_bytes: Annotated[int, number("stored", size, total=True)]
    resident_bytes: Annotated[int, number("in memory", size, total=True)]
    log2_qp: Annotated[float, number("log2 QP", "{:.0f}".format)]


@dataclass(frozen=True, slots=True)
class _KeyKind:
    """Keys of a kind and level, summed up from those that are listed."""

    kind: Annotated[str, Column("kind")]
    level: Annotated[int, number("level")]
    keys: Annotated[int, number("keys", total=True)]
    uses: Annotated[int, number("uses", count, total=True)]
    stored_bytes: Annotated[int, number("stored", size, total=True)]
    resident_bytes: Annotated[int, number("in memory", size, total=True)]


def key_text(key: KeyRow) -> str:
    """A key by name: rotation +5."""
    return key.kind if key.steps is None else f"{key.kind} {key.steps:+d}"


def keys_section(keys: Sequence[KeyRow], largest: int | None) -> Section:
    """All keys; many of them by kind first. largest: log2 of a modulus that is secure, where the keys keep to it."""
    listed = table("keys", KeyRow, keys, summed=keys)
    note = "" if largest is None else f"log2 QP of each is at most {largest}"
    if len(keys) <= MAX_LISTED:
        return Section("Evaluation keys", (listed,), note)
    by_kind = _by_kind(keys)
    kinds = table("", _KeyKind, by_kind, summed=by_kind)
    return Section("Evaluation keys", (kinds, Fold(f"All {len(keys)} keys", (listed,))), note)


def _by_kind(keys: Sequence[KeyRow]) -> list[_KeyKind]:
    groups: dict[tuple[str, int], list[KeyRow]] = defaultdict(list)
    for key in keys:
        groups[key.kind, key.level].append(key)
    kinds = list(dict.fromkeys(key.kind for key in keys))
    return [
        _KeyKind(
            kind,
            level,
            len(of),
            *(sum(getattr(k, name) for k in of) for name in ("uses", "stored_bytes", "resident_bytes")),
        )
        for (kind, level), of in sorted(groups.items(), key=lambda item: (kinds.index(item[0][0]), -item[0][1]))
    ]


def key_rows(client: ClientSpec, uses: Mapping[int, int] | None) -> tuple[KeyRow, ...]:
    """The keys of a program: relinearisation, rotations by length, conjugation, to the sparse secret and back.

    uses  by number of the key, of a run; those that its manifest tells if not given
    """
    manifest = client.manifest
    return tuple(
        KeyRow(
            _kind(use), use.steps, use.spec.level, use.count if uses is None else uses.get(i, 0),
            manifest.bytes_stored[i], manifest.bytes_resident[i], manifest.log2_qp[i],
        )
        for i, use in sorted(enumerate(manifest.uses), key=lambda item: _order(item[1]))
    )  # fmt: skip


def _kind(use: KeyUse) -> str:
    named = {"relin": _KINDS[0], "to_sparse": _KINDS[3], "to_dense": _KINDS[4]}
    return named.get(use.spec.kind, _KINDS[2] if use.steps is None else _KINDS[1])


def _order(use: KeyUse) -> tuple[int, int, int, int]:
    """High levels first of those that are alike."""
    steps = use.steps or 0
    return _KINDS.index(_kind(use)), abs(steps), steps, -use.spec.level
