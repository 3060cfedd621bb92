"""Measures what operations cost on the machine at hand, as a cost table."""

from latticework.commands.machine.machine_description import commit, default_backend, describe_machine
from latticework.commands.machine.machine_measurement import (
    FULL,
    QUICK,
    MeasuredExtent,
    default_place,
    measure_machine,
    table_text,
    write_table,
)

__all__ = [
    "FULL",
    "QUICK",
    "MeasuredExtent",
    "commit",
    "default_backend",
    "default_place",
    "describe_machine",
    "measure_machine",
    "table_text",
    "write_table",
]
