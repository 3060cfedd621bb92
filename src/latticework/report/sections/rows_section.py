"""Section on the rows of a batch: the ways to compute them in one run that were compared, and why one was taken."""

from __future__ import annotations

from collections.abc import Callable

from latticework.errors.escaping import plain_text
from latticework.errors.shown import count_noun
from latticework.plan.schema.batch import RowsChoice, RowsWay
from latticework.report.blocks import Section, Words, absent
from latticework.report.figure_labels import Column, Within, describe, table
from latticework.report.quantities import count, duration, rate, size


def _name_way(way: RowsWay) -> str:
    """Tell how rows lie."""
    return f"{count_noun(way.slots, 'slot')} a row"


def _tell_fate(way: RowsWay) -> str:
    """Tell whether a way was taken."""
    return "taken" if way.chosen else "not taken" if way.is_planned else "no plan"


def _explain(way: RowsWay) -> str:
    """Tell why there is no plan, in a sentence."""
    why = plain_text(way.refused) or f"far behind, {way.behind:.3g} times as long by its layouts"
    return f"{_name_way(way)}: {why}."


def _figure(label: str, show: Callable[[RowsWay], str]) -> Column:
    """A column of a figure that plans alone have."""
    return Column(label, row=lambda way: show(way) if way.is_planned else "", number=True)


_COLUMNS = describe(
    RowsWay,
    slots=Column("way", row=_name_way),
    refused=Column("", row=_tell_fate),
    rows=_figure("rows", lambda way: count(way.rows)),
    ring_degree=_figure("ring", lambda way: count(way.ring_degree)),
    seconds=_figure("a run", lambda way: duration(way.seconds)),
    num_keys=_figure("keys", lambda way: count(way.num_keys)),
    key_bytes=_figure("stored", lambda way: size(way.key_bytes)),
    sent_bytes=_figure("sent", lambda way: size(way.sent_bytes)),
    returned_bytes=_figure("returned", lambda way: size(way.returned_bytes)),
    behind=Within("refused"),
    chosen=Within("refused"),
)
_A_ROW = _figure("a row", lambda way: duration(way.seconds / way.rows))


def rows_sections(choice: RowsChoice | None) -> tuple[Section, ...]:
    """Make the section; none where there was no choice."""
    if choice is None:
        return absent("rows_choice")
    smallest = {
        "latency": f"The least time of a run, with sending at {rate(choice.bits_a_second)}, is taken.",
        "throughput": "The least time of a server for a row is taken.",
        "bytes": "The fewest bytes for a row, keys of a run included, are taken.",
    }[choice.objective]
    if any(way.slots == 1 for way in choice.ways):
        smallest += " With one slot a row, a ciphertext holds one number of every row."
    missing = tuple(_explain(way) for way in choice.ways if not way.is_planned)
    words = Words((smallest, *missing), "soft", data={"rows_choice": choice})
    rows = table("", RowsWay, choice.ways, columns=_COLUMNS, after={"seconds": _A_ROW})
    return (Section("Rows of a batch", (rows, words), f"by objective={choice.objective!r}"),)
