"""Which evaluation keys exist."""

from latticework.keys.manifest import manifest, planned_keys

__all__ = ["manifest", "planned_keys"]
