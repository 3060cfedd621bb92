"""Names that files of users hold: in cost tables, tables of profiles, client files, and the opcodes of plans."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

from json_keys import key_paths
from lists import Entries

import latticework as lw
from latticework import _core, owner
from latticework.plan.cost import UNITS

TABLE = Path(__file__).parent / "cost_table.json"  # rows of one that `latticework measure` wrote
_ELSEWHERE = ("measured_elsewhere",)  # notes of a table, of any form


def collect() -> Entries:
    """`cost table units[].seconds  key`; `step softmax  dim`: what it is stored with, in order."""
    table = {key: value for key, value in json.loads(TABLE.read_text()).items() if key not in _ELSEWHERE}
    found = {f"cost table {path}": "key" for path in key_paths(table, unnamed=("overhead",))}
    found |= {f"cost table unit {unit}": "name" for unit in UNITS}
    found |= {f"cost table operation {row['op']}": "name" for row in table["ops"]}
    with lw.profile("cpu") as profile:
        pass
    columns = enumerate(profile.csv().splitlines()[0].split(","), 1)
    found |= {f"profile column {name}": str(number) for number, name in columns}
    for name, kind in owner.OwnerStep.kinds().items():
        found[f"client file step {name}"] = _stored_with(kind)
    for name in ("Doubt", "Finished", "Given", "Labels", "OwnerArray", "OwnerStages", "Piece", "Prepared"):
        found[f"client file {name}"] = _stored_with(getattr(owner, name))
    found |= {f"client file function {name}": "name" for name in _named_in(lambda: owner.Elementary("no such"))}
    found |= {f"client file reduction {name}": "name" for name in _named_in(lambda: owner.Reduce("no such", -1))}
    return found


def collect_opcodes() -> Entries:
    """Names by number."""
    return {str(number): name for name, number in _core.opcodes().items()}


def _stored_with(kind: type) -> str:
    """The fields of a class in the order of files; those behind a star may be missing in older ones."""
    fields = dataclasses.fields(kind)
    return ", ".join(("*" if _may_miss(field) else "") + field.name for field in fields) or "nothing"


def _may_miss(field: dataclasses.Field[object]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _named_in(refused: Callable[[], object]) -> list[str]:
    """Names that a step takes, as it tells them where it is given another."""
    try:
        refused()
    except ValueError as error:
        return str(error).rpartition("; there are ")[2].split(", ")
    raise AssertionError("a step took a name that nothing has")
