"""How many vectors of an encrypted database are similar to an encrypted query: their inner product is above 0.8.

Vectors have length 1. Similar ones are near 0.92, others below 0.7 but for a chance of 2^-63 each, and as rarely below
-0.7; the gap leaves room on both sides of 0.8, and the range is of the product less 0.8.
"""

from __future__ import annotations

import latticework as lw

THRESHOLD, GAP, RANGE = 0.8, 0.08, (-1.5, 0.25)


@lw.program
def toy(db: lw.Secret[1000, 128], query: lw.Secret[128]):  # type: ignore[no-untyped-def]
    """The count among 1,000 vectors."""
    return lw.greater(db @ query, THRESHOLD, gap=GAP, range=RANGE).sum()


@lw.program
def small(db: lw.Secret[50000, 128], query: lw.Secret[128]):  # type: ignore[no-untyped-def]
    """The count among 50,000 vectors."""
    return lw.greater(db @ query, THRESHOLD, gap=GAP, range=RANGE).sum()
