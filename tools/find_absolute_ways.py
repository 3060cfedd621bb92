"""Find compositions whose products with their argument are closest to the magnitude.

They go to functions/approximation/absolute_ways.json. Degrees that are worth their products for the sign from any gap
on are tried; of each the gap is bisected until the error on both sides of it is the same. What has more products and is
no closer is left out, and what is hardly closer. Cost: about four minutes.
"""

from __future__ import annotations

import json
from math import floor, inf, log2
from pathlib import Path

import numpy as np

from latticework.functions.approximation.absolute import AbsoluteComposition, composed_absolute, inside, outside
from latticework.functions.approximation.sign import compose_stages, states_of

TABLE = (
    Path(__file__).resolve().parent.parent
    / "src"
    / "latticework"
    / "functions"
    / "approximation"
    / "absolute_ways.json"
)
LEVELS = range(11, 26)  # of the composition and its product
STEPS = 9
POINTS = 1 << 11
CLOSER = 0.2  # bits that another product has to bring


def odds_to_error(odds: float) -> float:
    """How far a composition is from 1, by the odds that it leaves."""
    ratio = 1.0 / (1.0 + np.exp(-odds))
    return float((1.0 - ratio) / (1.0 + ratio))


def candidates() -> dict[tuple[int, ...], list[float]]:
    """Degrees, with the gaps (log2) from which they come about as close to the sign as the gap is wide."""
    found: dict[tuple[int, ...], list[float]] = {}
    for log2_gap in np.arange(-2.0, -25.0, -0.5):
        for states in states_of(2.0**log2_gap).values():
            for state in states:
                levels = 1 + sum(d.bit_length() for d in state.degrees)
                if levels in LEVELS and 0.01 < odds_to_error(state.odds) / 2.0**log2_gap < 4.0:
                    found.setdefault(state.degrees, []).append(float(log2_gap))
    return found


def best(degrees: tuple[int, ...], low: float, high: float) -> tuple[float, float]:
    """(error, log2 of the gap), the least found between two gaps."""
    found = inf, low
    for _ in range(STEPS):
        middle = (low + high) / 2
        sign = compose_stages(degrees, 2.0**middle, 1.0)
        within, beyond = inside(sign, POINTS), outside(sign, POINTS)
        found = min(found, (max(within, beyond), middle))
        low, high = (low, middle) if within > beyond else (middle, high)
    return found


def main() -> None:
    """Write the table."""
    rows = []
    for degrees, gaps in candidates().items():
        error, log2_gap = best(degrees, min(gaps) - 1.5, max(gaps) + 1.5)
        if error < inf:
            composition = AbsoluteComposition(degrees, round(log2_gap, 3), 0.0)
            bits = floor(-1000 * log2(composed_absolute(composition).error)) / 1000
            rows.append((composition.levels, composition.products, bits, list(degrees), composition.log2_gap))
    kept: list[list[object]] = []
    for number in LEVELS:
        top = -inf
        for _, _, bits, chosen, log2_gap in sorted(row for row in rows if row[0] == number):
            if bits >= top + CLOSER:
                kept.append([chosen, log2_gap, bits])
                top = bits
    lines = ",\n  ".join(json.dumps(row) for row in kept)
    head = '{\n "command": "python tools/find_absolute_ways.py",\n "columns": ["degrees", "log2_gap", "bits"],\n'
    TABLE.write_text(head + f' "ways": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
