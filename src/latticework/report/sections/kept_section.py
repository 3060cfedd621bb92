"""Section on what a plan keeps of the model that it was compiled like."""

from __future__ import annotations

from latticework.errors.escaping import plain_text
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.kept_parts import KeptParts
from latticework.report.blocks import Section, Words, absent


@dataclass(frozen=True, slots=True)
class KeptData:
    """The same for programs.

    keeps  of "secret key", "evaluation keys", "client file";  why  the client file is another
    """

    program: str
    interface: str
    keeps: tuple[str, ...]
    why: tuple[str, ...]
    new_keys: int
    num_keys: int
    notes: tuple[str, ...]


def kept_data(kept: KeptParts | None) -> KeptData | None:
    """The data of reports and commands; None where there was no old model."""
    if kept is None:
        return None
    return KeptData(
        kept.program, kept.interface.hex(), kept.list_kept(), kept.why, kept.new_keys, kept.num_keys, kept.notes
    )


def kept_lines(kept: KeptParts) -> tuple[str, ...]:
    """Say what is kept, and what is different."""
    return (
        f"compiled like {plain_text(kept.program)}, {kept}",
        *(f"  {plain_text(said)}" for said in (*kept.why, *kept.notes)),
    )


def kept_sections(kept: KeptParts | None) -> tuple[Section, ...]:
    """Make the section; none where there was no old model."""
    if kept is None:
        return absent("kept")
    return (Section("Kept of the old model", (Words(kept_lines(kept), "list", data={"kept": kept_data(kept)}),)),)
