"""Write a plan as a program for another library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError, UserError
from latticework.plan.export.heir_text import write_heir
from latticework.plan.export.lift_plan import lift_plan
from latticework.plan.export.openfhe_program import Files, write_openfhe
from latticework.plan.export.vector_program import VectorProgram
from latticework.plan.schema.schema import Plan

WRITERS: dict[str, Callable[[VectorProgram], Files]] = {"openfhe": write_openfhe, "heir": write_heir}
TARGETS = tuple(WRITERS)


def export_plan(plan: Plan, target: str, folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write a plan's program for another library to a folder, and return its files.

    target  "openfhe": a Python program and its constants;  "heir": text for heir-opt
    force   replace files that are there
    raises  UnsupportedError for what that library cannot compute, FileExistsError for a folder that has these files;
            nothing is written then
    """
    if target not in WRITERS:
        raise UserError(f"there is no export to {target!r}; choose {' or '.join(WRITERS)}")
    if plan.client.owner:
        raise UnsupportedError(
            f"export of {plan.client.name}: its owner computes steps before encryption or after decryption, "
            "which other libraries have no form of; compile the encrypted part alone (docs/owner.md), and compute the "
            "rest beside it"
        )
    if plan.chain.has_wide_integers:
        raise UnsupportedError(
            f"export of {plan.client.name}: it was compiled with integers=, and runs for "
            f"{len(plan.chain.plain_moduli)} plaintext moduli; other libraries have no form of that: compile it "
            "without, or with plain_modulus="
        )
    made = WRITERS[target](lift_plan(plan))
    place = Path(folder)
    there = [name for name in made if (place / name).exists()]
    if there and not force:
        raise FileExistsError(f"{place} holds {', '.join(there)} already; choose another folder, or --force")
    place.mkdir(parents=True, exist_ok=True)
    return [_write(place / name, content) for name, content in made.items()]


def _write(path: Path, content: str | dict[str, Any]) -> Path:
    if isinstance(content, str):
        path.write_text(content, "utf-8")
    else:
        np.savez_compressed(path, **content)
    return path
