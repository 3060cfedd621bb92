"""One of each of the owner's steps on cells of raw tables."""

from __future__ import annotations

from latticework.plan.client_steps import (
    Beside,
    Bins,
    Columns,
    Fill,
    HashedTerms,
    IsMissing,
    Labels,
    LogCounts,
    LookUp,
    Missing,
    Numbers,
    OwnerArray,
    OwnerStep,
    Terms,
    TextAnalysis,
)

KEYS = Labels.of(["red", "green"])
TABLE_STEPS: list[OwnerStep] = [
    LookUp(KEYS, OwnerArray.of([0.0, 1.0])),
    LookUp(Labels.of([1, 2, 5]), OwnerArray.of([0.25, 1.0, 1.0]), -1.0, 7.0, None, ("none",)),
    Fill(OwnerArray.of([1.0, 2.0])),
    Fill(None, ("S", "none"), Missing(("nan",), Labels.of(["?"]))),
    IsMissing(never=(1,)),
    Bins(OwnerArray.of([0.0, 1.5, 1.5]), True),
    Numbers(),
    Terms(Labels.of(["good", "bad"]), TextAnalysis(stop_words=("the",))),
    HashedTerms(16, TextAnalysis("char", least=2, most=3)),
    LogCounts(),
    Beside(3, ((Columns(-1, 3, (0,)), LookUp(KEYS, OwnerArray.of([0.0, 1.0]))), (Columns(-1, 3, (2, 1)), Numbers()))),
]
