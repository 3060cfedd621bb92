"""The cost table of the machine at hand."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from math import exp, log
from pathlib import Path
from typing import Any

from latticework.commands.machine.bootstrap_timing import MeasuredBootstrap, bootstrap_row, kinds_of
from latticework.commands.machine.machine_description import commit, default_backend, describe_machine
from latticework.commands.machine.operations_bfv import bfv_times
from latticework.errors import UserError
from latticework.lazy_dataclass import dataclass
from latticework.plan.cost import CostModel, parse_table
from latticework.plan.instructions.work_units import Shape
from latticework.plan.machine.kept_probe import cache_folder
from latticework.plan.machine.measured_operations import MeasuredChain, operation_times
from latticework.plan.machine.processor import name_backend
from latticework.plan.machine.shown_prices import KEPT_TABLE
from latticework.plan.machine.timing import REPEATS, keep_memory, round_seconds
from latticework.plan.machine.units import UnitTimes
from latticework.values.extension import _core

OnStep = Callable[[int, int, str], None]


@dataclass(frozen=True)
class MeasuredExtent:
    """The operations that are measured, and how often."""

    log2_degrees: Sequence[int]
    limbs: dict[int, Sequence[tuple[int, int]]]  # log2 of N -> (Q limbs, P limbs) of the chains
    repeats: int
    rounds: int
    sets: Sequence[str] = ()  # whose bootstraps are measured

    @property
    def steps(self) -> list[tuple[int, tuple[int, int] | None] | MeasuredBootstrap]:
        """List the measurements in order: units of a degree, then its chains; then bootstraps."""
        operations = [(n, limbs) for n in self.log2_degrees for limbs in (None, *self.limbs.get(n, ()))]
        return [*operations, *(kind for name in self.sets for kind in kinds_of(name))]


FULL = MeasuredExtent(
    (12, 13, 14, 15, 16),
    {
        12: ((2, 1), (3, 1), (16, 5)),  # the last as long as those of small sets that bootstrap
        13: ((2, 1), (4, 1), (4, 2)),
        14: ((4, 1), (8, 2), (8, 4)),
        15: ((6, 2), (12, 3), (16, 4)),
        16: ((8, 3), (16, 4), (24, 6)),
    },
    REPEATS,
    rounds=7,
    sets=("T12", "T12L16"),
)
QUICK = MeasuredExtent((12, 13, 14), {12: ((2, 1),), 13: ((4, 1),), 14: ((6, 2),)}, repeats=5, rounds=3, sets=("T11",))


def default_place() -> Path:
    """The default path of this machine's cost table, by the XDG rules, from which reports take their prices.

    raises  UserError for a user without a home
    """
    folder = cache_folder()
    if folder is None:
        raise UserError("measure: there is no home folder with a cache; give --output, or set XDG_CACHE_HOME")
    return folder / KEPT_TABLE


def measure_machine(
    extent: MeasuredExtent = FULL,
    *,
    backend: str | None = None,
    threads: Sequence[int] = (),
    command: str = "latticework measure",
    on_step: OnStep | None = None,
) -> dict[str, Any]:
    """Measure; returns the content of a table, whose "parallel" part holds the prices on all threads.

    backend  the best of this machine if not given
    threads  on how many to measure, the first one as the table itself; not given: 1, and all cores if there are more
    on_step  called with (steps done, steps in all, what comes next)
    """
    cores = describe_machine()["cores"]
    timed = [name for name in _core.backend_names() if name != "sim"]  # a simulation's time says nothing
    if backend is not None and backend not in timed:
        raise UserError(f"measure: there is no backend {backend!r} to be timed; choose one of {', '.join(timed)}")
    backend = backend or default_backend()
    wanted = list(threads) or [1, *([cores] if cores > 1 else [])]
    head = {
        "format": 1,
        "machine": describe_machine(),
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "command": command,
        "source": "measured",
        "backend": name_backend(backend),
    }
    steps, done = len(extent.steps) * len(wanted), 0
    keep_memory()
    parts = []
    kernels: list[UnitTimes] = []  # their memory stays taken, so that each finds other memory
    for count in wanted:
        units: list[dict[str, Any]] = []
        times: list[tuple[str, Shape, float]] = []
        bootstraps: list[dict[str, Any]] = []
        for step in extent.steps:
            if on_step is not None:
                on_step(done, steps, f"{_step_label(step)}, {count} thr")
            done += 1
            if isinstance(step, MeasuredBootstrap):
                model = CostModel(parse_table(json.dumps(head | _part(count, units, times))))
                bootstraps.append(bootstrap_row(step, model, backend, count, extent.rounds))
                continue
            log2_degree, limbs = step
            if limbs is None:
                kernels.append(UnitTimes(1 << log2_degree, backend, count, extent.repeats))
                found = kernels[-1].units()
                units += [
                    {"unit": u, "ring_degree": 1 << log2_degree, "seconds": round_seconds(s)} for u, s in found.items()
                ]
            else:
                chain = MeasuredChain(1 << log2_degree, *limbs)
                times += operation_times(chain, backend, count, extent.rounds)
                times += bfv_times(chain, backend, count, extent.rounds)
        part = _part(count, units, times)
        overhead = overheads(head | part)
        parts.append(part | {"overhead": overhead} | ({"bootstraps": bootstraps} if bootstraps else {}))
    if on_step is not None:
        on_step(done, steps, "done")
    table = head | parts[0]
    return table | {"parallel": parts[1]} if len(parts) > 1 else table


def _step_label(step: tuple[int, tuple[int, int] | None] | MeasuredBootstrap) -> str:
    if isinstance(step, MeasuredBootstrap):
        return str(step)
    log2_degree, limbs = step
    return f"N=2^{log2_degree}, {'kernels' if limbs is None else f'{limbs[0]}+{limbs[1]} limbs'}"


def _part(threads: int, units: list[dict[str, Any]], times: list[tuple[str, Shape, float]]) -> dict[str, Any]:
    """The part of a cost table that holds operations on `threads` threads."""
    return {"threads": threads, "units": units, "ops": [op_row(*t) for t in times], "overhead": {}}


def op_row(op: str, shape: Shape, seconds: float) -> dict[str, Any]:
    """An operation as the table holds it; digits and target are None where an operation has none."""
    return {
        "op": op,
        "ring_degree": shape.ring_degree,
        "q_limbs": shape.q_limbs,
        "p_limbs": shape.p_limbs,
        "digits": len(shape.digit_limbs),
        "target": shape.target,
        **({"b_limbs": shape.b_limbs} if shape.b_limbs else {}),
        "seconds": round_seconds(seconds),
    }


def overheads(table: dict[str, Any]) -> dict[str, float]:
    """Time of every operation over that of its kernels: geometric means over the chains."""
    parsed = parse_table(json.dumps(table | {"overhead": {}}))
    model = CostModel(parsed)
    ratios: dict[str, list[float]] = {}
    for row in parsed.ops:
        kernels = model.kernel_seconds(row.op, row.shape)
        if kernels > 0:
            ratios.setdefault(row.op, []).append(row.seconds / kernels)
    return {op: round(exp(sum(map(log, found)) / len(found)), 3) for op, found in ratios.items()}


def table_text(table: dict[str, Any]) -> str:
    """JSON with one row a line."""

    def rows(part: dict[str, Any], indent: str) -> str:
        lines = []
        for name, value in part.items():
            if name in ("units", "ops", "bootstraps"):
                inner = ",\n".join(f"{indent}  {json.dumps(row)}" for row in value)
                lines.append(f'{indent}"{name}": [\n{inner}\n{indent}]' if value else f'{indent}"{name}": []')
            elif name == "parallel":
                lines.append(f'{indent}"parallel": {{\n{rows(value, indent + " ")}\n{indent}}}')
            else:
                lines.append(f'{indent}"{name}": {json.dumps(value)}')
        return ",\n".join(lines)

    return "{\n" + rows(table, " ") + "\n}\n"


def write_table(table: dict[str, Any], path: Path) -> None:
    """Write a table, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _core.write_file_atomic(str(path), table_text(table).encode(), 0o644)
