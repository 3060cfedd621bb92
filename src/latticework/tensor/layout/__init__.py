"""How tensors lie in slots: the layout algebra and the assignment of layouts."""

from latticework.tensor.layout.assign import Placement, Room, assign_layouts
from latticework.tensor.layout.layout import Layout

__all__ = ["Layout", "Placement", "Room", "assign_layouts"]
