"""The layout algebra, and the assignment of layouts: how tensors lie in slots."""

from latticework.tensor.layout.assign import Placement, Room, assign_layouts
from latticework.tensor.layout.layout import Layout

__all__ = ["Layout", "Placement", "Room", "assign_layouts"]
