"""The constants of the search for layouts that were tuned.

They were set while the workloads of the Rotom paper and small networks were brought to good plans; no measurement of
that time is kept. What each does was studied again on 2026-11-22: each halved and doubled, the others as they are, on
the Rotom workloads without attention (bench/results/rotom-tuning-2026-11-22.json). To redo it:
`latticework bench rotom --tuning`.

What was found: four layouts for an open input instead of eight make tensor times matrix 1.76 times as slow, a level
share of 0.08 gives double matmul a level less for 1.06 times its time, and six large layouts instead of three take six
times as long to search. No other change alters any program. `scarce_level` and `unknown_trip_count` could not: these
programs have room for their levels, and no loops whose trip counts are known at run time only.
"""

from __future__ import annotations

from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class LayoutTuning:
    """Constants of one search.

    beam           states that survive an operation
    open_layouts   layouts tried for an encrypted input where nothing else fixes it;  open_large  of several vectors
    level_share    what one more level of a program costs, as a share of its time: everything has one more limb
    scarce_level   times as dear is a program with one more level where a ring has no room for it
    most_sent      times as many ciphertexts as an input needs, if its first use wants them so
    unknown_trip_count  iterations that a loop is priced as whose trip count is known at run time only
    """

    beam: int = 24
    open_layouts: int = 8
    open_large: int = 3
    level_share: float = 0.04
    scarce_level: float = 4.0
    most_sent: int = 64
    unknown_trip_count: int = 4


USUAL = LayoutTuning()
