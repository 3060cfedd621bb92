"""The layout algebra, and the assignment of layouts: how tensors lie in slots."""

from latticework.tensor.layout.assign import LayoutChoice, LayoutRules, assign_layouts
from latticework.tensor.layout.layout import Layout

__all__ = ["Layout", "LayoutChoice", "LayoutRules", "assign_layouts"]
