"""Choosing layouts for a program: the search of `layout`, over what `ops` can lower, by what `cost` says it takes."""

from latticework.placing.find import USUAL_DEPTH, find_layouts, ring_degree_for, slots_needed, vector_costs
from latticework.placing.prices import Counted, Seconds

__all__ = ["USUAL_DEPTH", "Counted", "Seconds", "find_layouts", "ring_degree_for", "slots_needed", "vector_costs"]
