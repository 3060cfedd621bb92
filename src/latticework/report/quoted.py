"""A quote: what a program is expected to cost, before it is compiled, as text and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from latticework.errors.escaping import html_text, plain_text
from latticework.errors.shown import describe
from latticework.lazy_dataclass import dataclass
from latticework.report.quantities import count, duration, size
from latticework.report.text_table import columns, wrap_below

UNKNOWN = "-"
COMPILED, SKETCHED, SCALED = "compiled on few rows", "sketched by layers", "scaled from the first"


@dataclass(frozen=True, slots=True)
class QuotedPrice:
    """The cost at one precision, on one thread.

    how       it was found: by COMPILED, within a fifth as a rule; by SKETCHED or SCALED within a factor of two
    levels    that the program spends;  bootstraps  that it takes, at least
    memory_bytes  of a server with all keys and constants;  key_bytes  of evaluation keys to send
    problem   why there is no price, in a sentence; ""
    """

    precision_bits: float
    how: str
    levels: int | None = None
    bootstraps: int = 0
    ring_degree: int | None = None
    seconds: float | None = None
    memory_bytes: int | None = None
    key_bytes: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class DearLayer:
    """A line of the program, or an operator of a model, with its share in the time of a run.

    levels   that it spends one after another, where they are known;  cheaper  what would make it so
    """

    where: str
    text: str
    share: float
    levels: int | None
    cheaper: tuple[str, ...]


@dataclass(frozen=True)
class Quote:
    """The expected cost of a program at some precisions, that which was asked for first.

    layers  the dearest ones;  taken_seconds  by the quote itself;  prices_of  the machine that times are for
    """

    name: str
    prices: tuple[QuotedPrice, ...]
    layers: tuple[DearLayer, ...]
    notes: tuple[str, ...]
    prices_of: str
    taken_seconds: float

    def text(self) -> str:
        """The quote in at most 100 columns."""
        rows = [_price_cells(price) for price in sorted(self.prices, key=lambda each: each.precision_bits)]
        head = ("bits", "levels", "ring", "one run", "memory", "keys", "found")
        lines = [f"Quote for {plain_text(self.name)}: estimates, for one thread and one run", ""]
        lines += columns(head, rows, left=(False, False, False, False, False, False, True))
        if any(UNKNOWN in row for row in rows):
            why = ": why stands below" if any(price.problem for price in self.prices) else ""
            lines += ["", *wrap_below(f"{UNKNOWN} is a number that was not found{why}", 2)]
        for price in self.prices:
            if price.problem:
                lines += ["", *wrap_below(f"At {price.precision_bits:g} bits: {price.problem}", 2)]
        if self.layers:
            lines += ["", f"The dearest layers at {self.prices[0].precision_bits:g} bits"]
        for layer in self.layers:
            spent = "" if not layer.levels else f", {layer.levels} level{'s' * (layer.levels > 1)}"
            lines += wrap_below(f"{100 * layer.share:.0f} %{spent}: {layer.where} {layer.text.strip()}", 2)
            for way in layer.cheaper:
                lines += wrap_below(f"cheaper: {way}", 6)
        lines += ["", *(line for note in self.notes for line in wrap_below(note, 2))]
        lines += wrap_below(f"Prices: {self.prices_of}. The quote took {duration(self.taken_seconds)}.", 2)
        return "\n".join(lines) + "\n"

    def data(self) -> dict[str, Any]:
        """The same as plain data, in seconds and bytes."""
        return asdict(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        bits = ", ".join(f"{price.precision_bits:g}" for price in self.prices)
        return describe("Quote", self.name, f"at {bits} bits", "print it")

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(map(html_text, self.text().splitlines()))}</pre>"


def _price_cells(price: QuotedPrice) -> list[str]:
    """A row of the table of precisions."""
    refreshed = f" + {price.bootstraps} bootstraps" if price.bootstraps else ""
    about = "" if price.how == COMPILED else "about "
    return [
        f"{price.precision_bits:g}",
        UNKNOWN if price.levels is None else f"{price.levels}{refreshed}",
        UNKNOWN if price.ring_degree is None else count(price.ring_degree),
        UNKNOWN if price.seconds is None else about + duration(price.seconds),
        UNKNOWN if price.memory_bytes is None else about + size(price.memory_bytes),
        UNKNOWN if price.key_bytes is None else about + size(price.key_bytes),
        price.how,
    ]
