"""The layout algebra, and the assignment of layouts: how tensors lie in slots."""

from latticework.tensor.layout.assign import LayoutRules, OperationLayouts, assign_layouts
from latticework.tensor.layout.layout import Layout

__all__ = ["Layout", "LayoutRules", "OperationLayouts", "assign_layouts"]
