"""The name that a user may have meant by one that there is not."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def hint_near(name: str, known: Collection[str], after: str = "") -> str:
    """`; did you mean zone?` for the nearest of the known names, "" if none is near; after  what follows it, as `=`."""
    close = () if name in known else get_close_matches(name, known, 1)
    return f"; did you mean {close[0]}{after}?" if close else ""
