"""Which evaluation keys exist."""

from latticework.keys.manifest import manifest, planned_keys, resident_bytes, steps_by_element, stored_bytes

__all__ = ["manifest", "planned_keys", "resident_bytes", "steps_by_element", "stored_bytes"]
