"""Rotation keys as values in the text of HEIR: which are in memory when, for a server that cannot hold all.

`trace.py` finds every use of a key, in order; `key_live_ranges.py` decides what stays between uses and what is asked
for ahead; `key_rules.py` says that by operation and loop counter; `write.py` adds operations of HEIR's `key_mgmt`
dialect to the text; `check_keys.py` carries the new text out and proves that every rotation finds its key.
"""

from latticework.frontend.heir.keys.check_keys import KeyCounts, check_keys
from latticework.frontend.heir.keys.place_keys import KeyedText, place_keys

__all__ = ["KeyCounts", "KeyedText", "check_keys", "place_keys"]
