"""How tensors lie in slots: the layout algebra and the assignment of layouts."""

from latticework.layout.assign import Room, Rule, assign_layouts, room_needed
from latticework.layout.layout import Layout

__all__ = ["Layout", "Room", "Rule", "assign_layouts", "room_needed"]
