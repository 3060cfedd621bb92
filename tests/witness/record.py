"""The witness itself: what came out when it was written, kept in JSON, and how it differs from what comes out now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUICK, SLOW = HERE / "witness.json", HERE / "witness_slow.json"
ANEW = "make witness"
_MISSING = object()


def read(path: Path) -> dict[str, Any]:
    """{"versions": of what it was written with, "cases": {name: plans and outputs}}."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(path: Path, versions: dict[str, str], cases: dict[str, Any]) -> None:
    """One line for each group of figures, so that differences of versions of the file are short."""
    kept = {name: {k: v for k, v in made.items() if k != "seconds"} for name, made in cases.items()}
    path.write_text("\n".join(_lines({"versions": versions, "cases": kept}, "")) + "\n", encoding="utf-8")


def differences(name: str, was: Any, now: Any) -> Iterator[str]:
    """Lines that say what of a case is another, figure by figure."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in [*was, *(k for k in now if k not in was)]:
            yield from differences(f"{name} {key}", was.get(key, _MISSING), now.get(key, _MISSING))
    elif was != now and "seconds" not in name.split():
        before, after = ("none" if x is _MISSING else json.dumps(x) for x in (was, now))
        yield f"{name}: was {before}, is {after}"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if not isinstance(value, dict) or not any(isinstance(v, dict) for v in value.values()):
        yield json.dumps(value)
        return
    yield "{"
    for number, (key, inner) in enumerate(value.items()):
        first, *rest = _lines(inner, indent + " ")
        comma = "," if number + 1 < len(value) else ""
        lines = [f"{indent} {json.dumps(key)}: {first}", *rest]
        yield from lines[:-1]
        yield lines[-1] + comma
    yield indent + "}"
