"""Places in the user's source, as reports and messages write them."""

from __future__ import annotations

from latticework.plan.schema.schema import SourceLocation


def where_text(place: SourceLocation) -> str:
    """file:line, the folder left out."""
    if not place.file:
        return "unknown"
    return f"{place.file.replace(chr(92), '/').rsplit('/', 1)[-1]}:{place.line}"
