"""Which evaluation keys exist."""

from latticework.keys.manifest import (
    covering_keys,
    manifest,
    plan_keys,
    resident_bytes,
    steps_by_element,
    stored_bytes,
)

__all__ = ["covering_keys", "manifest", "plan_keys", "resident_bytes", "steps_by_element", "stored_bytes"]
