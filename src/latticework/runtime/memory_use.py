"""Memory of a server, and what it is used for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TypeVar

from latticework.lazy_dataclass import dataclass

COUNTED = ("loads", "hits", "prefetched", "stalls", "stall_s", "touched_bytes")  # of key traffic, from run to run


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes for keys, encoded constants and ciphertexts; Python, the plan and the weights come on top.

    held       got from the system and not given back
    live       of these, in use: keys, ciphertexts, encoded constants
    constants  encoded constants, of which some are whole and others rounded coefficients
    idle       held, not in use: whole pages that are kept for the next run
    fresh      got from the system in all; a run that adds nothing to it meets no page faults
    returned   given back to it in all
    """

    held: int
    live: int
    constants: int
    idle: int
    fresh: int
    returned: int


@dataclass(frozen=True, slots=True)
class KeyTraffic:
    """Keys that stay in their file, of which rows are in memory: a row is a digit of a key at one limb, both halves.

    budget_bytes    that rows may take, those that are being read included
    resident_bytes  of rows in memory now, and of the buffers that they are read through
    peak_bytes      the most there were
    held_rows       in use by runs that are under way, or being read for them
    row_bytes       of one row
    loads           rows read
    hits            rows of windows that were there already, or being read, when these got their slots
    prefetched      of these, ahead of their use
    stalls          how often rows were not there when they were needed
    stall_s         seconds until they were
    touched_bytes   of the file that were read
    """

    budget_bytes: int
    resident_bytes: int
    peak_bytes: int
    held_rows: int
    row_bytes: int
    loads: int
    hits: int
    prefetched: int
    stalls: int
    stall_s: float
    touched_bytes: int

    @property
    def loaded_bytes(self) -> int:
        """Bytes in memory of the rows that were read, each time."""
        return self.loads * self.row_bytes

    def since(self, before: KeyTraffic) -> KeyTraffic:
        """The traffic since `before`; what there is in memory, and was at most, stays what it is."""
        return replace(self, **{name: getattr(self, name) - getattr(before, name) for name in COUNTED})


Amounts = TypeVar("Amounts", MemoryUse, KeyTraffic)


def in_all(found: Sequence[Amounts]) -> Amounts:
    """Add up memory of several devices, or traffic of keys; but a row is a row."""
    first = found[0]
    same: dict[str, int] = {"row_bytes": first.row_bytes} if isinstance(first, KeyTraffic) else {}
    return replace(first, **{f.name: sum(getattr(one, f.name) for one in found) for f in fields(first)} | same)
