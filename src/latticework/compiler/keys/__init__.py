"""The evaluation keys that a program needs."""

from latticework.compiler.keys.manifest import covering_keys, manifest, plan_keys, steps_by_element
from latticework.plan.instructions.key_bytes import resident_bytes, stored_bytes

__all__ = ["covering_keys", "manifest", "plan_keys", "resident_bytes", "steps_by_element", "stored_bytes"]
