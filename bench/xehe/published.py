"""The figures of the paper, of whichever of its two devices did better, with both beside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = json.loads(Path(__file__).with_name("published.json").read_text())
SOURCE = "XeHE, the better of two devices"


def of_rung(table: str, rung: str) -> tuple[float | None, dict[str, Any]]:
    """A figure of a rung of the ladder, and those of both devices as details."""
    found = TABLES["transform"][table].get(rung)
    if not isinstance(found, list):
        return found, {}
    return max(x for x in found if x is not None), {"XeHE, devices 1 and 2": found}


def density(radix: int, stages: int, passes: int) -> float:
    """Operations for each byte that goes through memory, with the paper's count of operations of a round."""
    operations = TABLES["transform"]["operations_of_a_round"][str(radix)] * stages / (radix.bit_length() - 1) / radix
    return operations / (16 * passes)
