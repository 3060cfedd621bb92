"""Numbers as people read them: with a unit, and no more digits than they mean."""

from __future__ import annotations

from math import log2

from latticework.errors.rounded_numbers import one_in
from latticework.errors.shown import size, three_digits

__all__ = [
    "LEAVING",
    "bits_text",
    "count",
    "difference",
    "duration",
    "leaving_text",
    "percent_text",
    "power_of_two",
    "rate",
    "real",
    "relative_bits",
    "shape",
    "share",
    "size",
    "small",
]

_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def count(value: int) -> str:
    """12,345."""
    return f"{value:,}"


def duration(seconds: float) -> str:
    """1.23 s, 45.6 ms; minutes and hours from two minutes on."""
    if seconds >= 7200:
        return f"{three_digits(seconds / 3600)} h"
    if seconds >= 120:
        return f"{three_digits(seconds / 60)} min"
    if seconds < 0.5e-9:
        return "0 s"
    for unit, name in _TIME_UNITS:
        if seconds >= 0.9995 * unit:
            return f"{three_digits(seconds / unit)} {name}"
    return f"{three_digits(seconds / 1e-9)} ns"


LEAVING = "left by"  # of the interval of a function: by so many inputs, as an argument of theirs leaves it


def leaving_text(may_leave: bool, share: float | None) -> str:
    """1 in 120 inputs; none, where the range of what clients send says so."""
    return "none" if not may_leave else "not known" if share is None else one_in(share)


def rate(bits_a_second: float) -> str:
    """1 Gbit/s, 250 Mbit/s."""
    for unit, name in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits_a_second >= unit:
            return f"{bits_a_second / unit:.3g} {name}"
    return f"{bits_a_second:.3g} bit/s"


def power_of_two(value: float) -> str:
    """2^40 or 2^25.99."""
    return f"2^{log2(value):.2f}".removesuffix("0").removesuffix(".0") if value > 0 else "0"


def small(value: float) -> str:
    """An error or a bound: 6.8e-5."""
    return "0" if value == 0 else _plain_exponent(f"{value:.2g}")


def real(value: float) -> str:
    """A value of the user's data: four significant digits, integers below a billion in full."""
    if value == round(value) and abs(value) < 1e9:
        return f"{value:,.0f}"
    return _plain_exponent(f"{value:.4g}")


def as_digits(bits: int) -> str:
    """The suffix of a range of numbers that are encrypted digit by digit."""
    return f", as {bits} digits" if bits else ""


def _plain_exponent(text: str) -> str:
    """1e-05 as 1e-5."""
    digits, _, exponent = text.partition("e")
    return f"{digits}e{int(exponent)}" if exponent else digits


def share(part: float, whole: float) -> str:
    """A percentage; what is hardly anything is said to be that."""
    percent = 100 * part / whole if whole > 0 else 0.0
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def difference(part: float) -> str:
    """A relative difference as a percentage, or as a factor where it is large: 4.2 %, 3.1 times."""
    return share(abs(part), 1.0) if abs(part) < 1 else f"{abs(part) + 1:.3g} times"


def shape(dimensions: tuple[int, ...]) -> str:
    """Extents with a multiplication sign between them."""
    return " \N{MULTIPLICATION SIGN} ".join(map(str, dimensions)) or "scalar"


def relative_bits(bound: float, magnitude: float) -> float | None:
    """Bits of a value of this magnitude that an error bound leaves right; None where either is 0."""
    return log2(magnitude / bound) if bound > 0 and magnitude > 0 else None


def bits_text(bits: float) -> str:
    """Bits that an error leaves right."""
    return f"{bits:.1f} bits" if bits > 0 else "no bit"


def percent_text(part: float) -> str:
    """A share; 100 % only of all."""
    text = f"{100 * part:.4g} %"
    return text if part == 1.0 or not text.startswith("100 ") else "99.99 %"
