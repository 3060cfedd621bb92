"""Cost tables: prices of operations on one machine, with where and when they come from."""

from __future__ import annotations

import hashlib
import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

from latticework.errors import FormatError
from latticework.lazy_dataclass import dataclass
from latticework.plan.instructions.work_units import UNITS, Shape

FORMAT = 1
SOURCES = ("measured", "published")


MAX_WHOLE = 1 << 20  # limbs, digits, slots, threads and ring degrees are fewer: lists of that length may be made

THREE_POLYS = ("relinearize",)


@dataclass(frozen=True, slots=True)
class OpRow:
    """The measured or published price of one operation; None: holds for any (target: there is none)."""

    op: str
    ring_degree: int
    q_limbs: int
    p_limbs: int | None
    digits: int | None
    target: int | None
    seconds: float
    b_limbs: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether the price is for one shape, not for any number of special limbs and digits."""
        return self.p_limbs is not None and self.digits is not None

    @property
    def shape(self) -> Shape:
        """The shape that was measured: limbs shared out evenly among digits, an encoding of all slots."""
        digits = self.digits or 0
        sizes = tuple(len(range(first, self.q_limbs, digits)) for first in range(digits)) if digits else ()
        polys = 3 if self.op in THREE_POLYS else 2
        slots = self.ring_degree // 2
        return Shape(
            self.ring_degree, self.q_limbs, self.p_limbs or 0, sizes, self.target, polys, slots, b_limbs=self.b_limbs
        )


@dataclass(frozen=True, slots=True)
class BootstrapRow:
    """The measured or published time of one bootstrap; None: holds for any.

    q_limbs, p_limbs  of the whole chain, every level and section of it
    target    levels above the floor that it leaves
    slots     width of the vector;  real: without imaginary parts
    expected  seconds that its operations add up to, by the prices of the same table
    """

    ring_degree: int
    q_limbs: int | None
    p_limbs: int | None
    target: int
    slots: int | None
    real: bool | None
    seconds: float
    expected: float | None = None


@dataclass(frozen=True)
class CostTable:
    """Prices with their provenance.

    machine   cpu and cores (and what else is known)
    units     unit -> ring degree -> seconds
    ops       prices of whole operations, preferred to units
    overhead  operation -> factor on the price that follows from units
    bootstraps  times of whole bootstraps, preferred to what their operations add up to
    backend   whose kernels were measured; "": not known
    adapted   words on how the prices were brought to another machine; "": they are as they were measured
    hash      of the whole content, hexadecimal
    parallel  prices on more threads, measured in the same sitting
    """

    machine: dict[str, Any]
    date: str
    commit: str | None
    command: str
    threads: int
    source: str
    units: dict[str, dict[int, float]]
    ops: tuple[OpRow, ...]
    overhead: dict[str, float]
    hash: str
    parallel: CostTable | None = None
    bootstraps: tuple[BootstrapRow, ...] = ()
    backend: str = ""
    adapted: str = ""

    def __hash__(self) -> int:
        return hash((self.hash, self.adapted))


def parse_table(text: str, name: str = "cost table") -> CostTable:
    """A table from its JSON text.

    raises  FormatError naming the entry that does not fit
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{name}: not JSON: {error}; give a table that `latticework measure` wrote") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"{name}: not a cost table of format {FORMAT}")
    parallel = content.pop("parallel", None)
    try:
        return CostTable(
            machine=dict(content["machine"]),
            date=str(content["date"]),
            commit=None if content.get("commit") is None else str(content["commit"]),
            command=str(content["command"]),
            threads=_whole(content["threads"]),
            source=_one_of(SOURCES, content["source"]),
            units=_units(content["units"]),
            ops=tuple(_op_row(row) for row in content.get("ops", [])),
            overhead={str(op): _positive(factor) for op, factor in content.get("overhead", {}).items()},
            hash=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
            parallel=None if parallel is None else parse_table(json.dumps(content | dict(parallel)), name),
            bootstraps=tuple(_bootstrap_row(row) for row in content.get("bootstraps", [])),
            backend=str(content.get("backend", "")),
        )
    except KeyError as error:
        raise FormatError(f"{name}: field {error} is missing") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FormatError(f"{name}: {error}") from None


def read_table(path: Path) -> CostTable:
    """A table from a file, as `latticework measure` writes it.

    raises  FormatError, OSError
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not JSON: {error}; give a table that `latticework measure` wrote") from None
    return parse_table(text, str(path))


def default_table() -> CostTable:
    """The table by which programs are compiled if no other is given."""
    return shipped_table("default")


@lru_cache(maxsize=4)
def shipped_table(name: str) -> CostTable:
    """A table of the package: "default", or "halo", the times of Tables 2 and 3 of HALO (ASPLOS'25)."""
    table = Path(__file__).with_name("tables") / f"{name}.json"
    return parse_table(table.read_text(encoding="utf-8"), table.name)


def _units(rows: list[dict[str, Any]]) -> dict[str, dict[int, float]]:
    units: dict[str, dict[int, float]] = {}
    for row in rows:
        unit = _one_of(UNITS, row["unit"])
        units.setdefault(unit, {})[_ring_degree(row["ring_degree"])] = _positive(row["seconds"])
    return units


def _op_row(row: dict[str, Any]) -> OpRow:
    return OpRow(
        op=str(row["op"]),
        ring_degree=_ring_degree(row["ring_degree"]),
        q_limbs=_whole(row["q_limbs"]),
        p_limbs=_optional(row, "p_limbs"),
        digits=_optional(row, "digits"),
        target=_optional(row, "target"),
        seconds=_positive(row["seconds"]),
        b_limbs=_whole(row.get("b_limbs", 0)),
    )


def _bootstrap_row(row: dict[str, Any]) -> BootstrapRow:
    real = row.get("real")
    if real is not None and not isinstance(real, bool):
        raise ValueError(f"real={real!r} is not true or false")
    return BootstrapRow(
        ring_degree=_ring_degree(row["ring_degree"]),
        q_limbs=_optional(row, "q_limbs"),
        p_limbs=_optional(row, "p_limbs"),
        target=_whole(row["target"]),
        slots=_optional(row, "slots"),
        real=real,
        seconds=_positive(row["seconds"]),
        expected=None if row.get("expected") is None else _positive(row["expected"]),
    )


def _optional(row: dict[str, Any], name: str) -> int | None:
    return None if row.get(name) is None else _whole(row[name])


def _one_of(allowed: tuple[str, ...], value: object) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is not one of {', '.join(allowed)}")
    return str(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_WHOLE:
        raise ValueError(f"{value!r:.60} is not a whole number from 0 to {MAX_WHOLE}")
    return value


def _ring_degree(value: object) -> int:
    degree = _whole(value)
    if degree < 2 or degree & (degree - 1):
        raise ValueError(f"ring_degree {degree} is not a power of two")
    return degree


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ValueError(f"{value!r} is not a positive number of seconds or a factor")
    return float(value)
