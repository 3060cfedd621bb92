"""Numbers in messages that compare them: rounded so that the comparison stays true."""

from __future__ import annotations

from math import isfinite


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


def large(number: int) -> str:
    """A whole number, or the power of two that it is about, where it has many digits."""
    if abs(number) < 10**20:
        return str(number)
    return f"{'-' if number < 0 else ''}2^{number.bit_length() - 1} and more"
