"""Numbers in messages that compare them: rounded so that the comparison stays true."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, log2


def over(value: float, limit: float, digits: int = 1) -> str:
    """A number beyond a limit, with as many decimals (at least `shown`) as it takes to be beyond it in print too."""
    text = f"{value:.{digits}f}"
    while isfinite(value) and (float(text) > limit) != (value > limit) and digits < 17:
        digits += 1
        text = f"{value:.{digits}f}"
    return text


def outside(low: float, high: float, least: float, most: float, shown: int = 6) -> tuple[str, str, str, str]:
    """A range that is not inside another one, and that other one, in as few digits as show it (at least `digits`)."""
    for digits in range(shown, 18):
        texts = tuple(f"{x:.{digits}g}" for x in (low, high, least, most))
        a, b, c, d = map(float, texts)
        if (a < c) == (low < least) and (b > d) == (high > most):
            break
    return texts[0], texts[1], texts[2], texts[3]


def between(least: float, most: float) -> tuple[str, str]:
    """An accepted range, in as few digits (at least 6) as tell its ends apart; whole numbers in all of theirs."""
    ends = (least, most)
    if all(isfinite(end) and end == int(end) and abs(end) < 2**53 for end in ends):
        return str(int(least)), str(int(most))
    for digits in range(6, 18):
        low, high = (f"{end:.{digits}g}" for end in ends)
        if least == most or low != high:
            break
    return low, high


def large(number: float) -> str:
    """A whole number, or the power of two that it is about, where it has many digits; infinite: beyond 2^1000."""
    if abs(number) == inf:
        return "less than -2^1000" if number < 0 else "more than 2^1000"
    if abs(number) < 10**20:
        return str(int(number))
    return f"about {'-' if number < 0 else ''}2^{round(log2(abs(int(number))))}"


def write_value(value: object) -> str:
    """Write a value of the user as Python does; whole numbers of more digits than Python writes as `large` ones."""
    return large(value) if isinstance(value, int) and value.bit_length() > 1000 else repr(value)


RAREST = 1e-6  # rarer is said to be so rare


def one_in(share: float) -> str:
    """1 in 120, of two digits."""
    return "< 1 in 1,000,000" if share < RAREST else f"1 in {round(float(f'{1 / share:.2g}')):,}"


def apart(values: Sequence[float], ends: Sequence[float], shown: int = 6) -> list[str]:
    """Numbers in as few digits (at least `shown`) as leave each on the side of every end that it is on."""
    for digits in range(shown, 18):
        texts = [f"{x:.{digits}g}" for x in values]
        if all(
            (float(t) > e, float(t) < e) == (x > e, x < e) for t, x in zip(texts, values, strict=True) for e in ends
        ):
            break
    return texts
