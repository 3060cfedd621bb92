"""Published figures, by case."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

COYOTE = "Coyote, published"
LARGE = "mm.16.blocked"
ARTIFACT = "Coyote's repository"
PORCUPINE = "Porcupine, as in HECO"


@dataclass(frozen=True)
class Published:
    """What others state for a case; None where they do not.

    adds, muls       vector instructions;  scalar_adds, scalar_muls  of the scalar code
    compile_seconds  with a limit on the time of alignment
    ideal            work by the longest path
    speedup          encrypted, of vector code over scalar code
    """

    source: str
    rotations: int
    blends: int | None = None
    adds: int | None = None
    muls: int | None = None
    scalar_adds: int | None = None
    scalar_muls: int | None = None
    compile_seconds: float | None = None
    ideal: float | None = None
    speedup: float | None = None


@cache
def tables() -> dict[str, Any]:
    """The file of published figures."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / "published.json").read_text())
    return found


def table1() -> dict[str, Published]:
    """The 39 rows of Table 1, with the speed-ups of Table 3, and of the text for the product of 16 x 16 matrices."""
    coyote = tables()["coyote"]
    speedups = {name: speedup for name, _, speedup, _, _ in coyote["table3"]}
    blocked = coyote["blocked_mm16_s"]
    speedups[LARGE] = blocked["scalar"] / blocked["vector"]
    found = {}
    for row in coyote["table1"]:
        name, seconds, scalar_adds, scalar_muls, adds, muls, rotations, blends, ideal = row
        found[name] = Published(
            COYOTE, rotations, blends, adds, muls, scalar_adds, scalar_muls, seconds, ideal,
            speedups.get(name),
        )  # fmt: skip
    return found


def repository() -> dict[str, Published]:
    """Cases that only the artifact's own runs have: the layouts of Figure 8, and the determinant."""
    artifact = tables()["coyote_repository"]
    found = {f"mm.3 {case}": Published(ARTIFACT, rotate, blend) for case, rotate, blend in artifact["figure8"]}
    d = artifact["determinant"]
    found["determinant"] = Published(
        ARTIFACT, d["rotate"], d["blend"], d["vector_add_sub"], d["vector_mul"], d["scalar_add_sub"], d["scalar_mul"]
    )
    return found


def porcupine() -> dict[str, Published]:
    """Kernels written by synthesis: rotations and products, no blends."""
    return {name: Published(PORCUPINE, rotate, 0, muls=muls) for name, rotate, muls in tables()["porcupine"]["kernels"]}


def table2() -> dict[str, tuple[float, float]]:
    """Seconds of 50 runs: the paper's compiler, and experts."""
    return {name: (coyote, expert) for name, coyote, expert in tables()["coyote"]["table2"]}
