"""Which evaluation keys exist."""

from latticework.keys.manifest import covering_keys, manifest, planned_keys

__all__ = ["covering_keys", "manifest", "planned_keys"]
