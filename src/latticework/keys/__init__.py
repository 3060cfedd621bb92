"""Which evaluation keys exist."""

from latticework.instructions.key_bytes import resident_bytes, stored_bytes
from latticework.keys.manifest import covering_keys, manifest, plan_keys, steps_by_element

__all__ = ["covering_keys", "manifest", "plan_keys", "resident_bytes", "steps_by_element", "stored_bytes"]
