"""Choosing layouts for a program: the search of `layout`, over what `ops` can lower, by what `cost` says it takes."""

from latticework.compiler.layout_choice.find import (
    USUAL_DEPTH,
    find_layouts,
    least_ring_degree,
    may_share_sums,
    ring_degree_for,
    slots_needed,
    vector_costs,
)
from latticework.compiler.layout_choice.prices import (
    CodeCost,
    Counted,
    Seconds,
    VectorCosts,
    code_seconds,
    sending_seconds,
)
from latticework.compiler.layout_choice.search_record import explain

__all__ = [
    "USUAL_DEPTH", "CodeCost", "Counted", "Seconds", "VectorCosts", "code_seconds",
    "explain", "find_layouts", "least_ring_degree", "may_share_sums", "ring_degree_for",
    "sending_seconds", "slots_needed", "vector_costs",
]  # fmt: skip
