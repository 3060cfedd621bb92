"""Public integers of which it is known between which numbers they lie, and what is computed of them."""

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Span:
    """A public integer that lies between two."""

    low: int
    high: int


def of_indices(name: str, a: Span, b: Span) -> Span:
    """Arithmetic on public integers."""
    match name:
        case "loop.index_add":
            return Span(a.low + b.low, a.high + b.high)
        case "loop.index_sub":
            return Span(a.low - b.high, a.high - b.low)
        case "loop.index_mul":
            corners = [i * j for i in (a.low, a.high) for j in (b.low, b.high)]
            return Span(min(corners), max(corners))
        case "loop.index_min":
            return Span(min(a.low, b.low), min(a.high, b.high))
    assert name == "loop.index_less", name
    return Span(int(a.high < b.low), int(a.low < b.high))
