"""Section on a run: operations by kind, and memory at peak."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from latticework.lazy_dataclass import dataclass
from latticework.plan.analysis.estimate import CostEstimate, OperationCounts
from latticework.report.blocks import Section
from latticework.report.figure_labels import describe, number, pairs
from latticework.report.quantities import count, size

_OPERATIONS = describe(
    OperationCounts,
    rotations=number("rotations", count),
    relinearizations=number("relinearisations", count),
    key_switches=number("key switches, all", count),
    hoists=number("hoisted decompositions", count),
    ciphertext_products=number("ciphertext \N{MULTIPLICATION SIGN} ciphertext", count),
    plaintext_products=number("ciphertext \N{MULTIPLICATION SIGN} plaintext", count),
    integer_products=number("ciphertext \N{MULTIPLICATION SIGN} integer", count),
    rescales=number("rescales", count),
    mod_downs=number("divisions by P", count),
    additions=number("additions", count),
    encodes=number("constants encoded", count),
    bootstraps=number("bootstraps, of all of these", count),
)


@dataclass(frozen=True, slots=True)
class PeakMemoryRow:
    """Predicted bytes at the worst moment."""

    values: Annotated[int, number("ciphertexts and scratch", size)]
    keys: Annotated[int, number("keys", size)]
    constants: Annotated[int, number("constants", size)]
    total: Annotated[int, number("total", size)]


def work_sections(cost: CostEstimate, instructions: int) -> tuple[Section, Section]:
    """Operations, loops multiplied out, and memory; instructions: of the code."""
    memory = PeakMemoryRow(cost.memory.values, cost.memory.keys, cost.memory.constants, cost.memory.total)
    shown = {name: column for name, column in _OPERATIONS.items() if name != "bootstraps" or cost.counts.bootstraps}
    operations = pairs("operations", cost.counts, ("operation", "count"), shown)
    operations = replace(operations, data={**operations.data, "instructions": instructions})
    return (
        Section("Operations", (operations,), f"{count(instructions)} instructions", beside=True),
        Section("Memory", (pairs("memory", memory, ("part", "at peak")),), "predicted", beside=True),
    )
