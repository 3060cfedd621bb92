"""Measures what operations cost on the machine at hand, as a cost table."""

from latticework.calibrate.machine import commit, default_backend, machine
from latticework.calibrate.measure import FULL, QUICK, Extent, calibrate, default_place, table_text, write_table

__all__ = [
    "FULL",
    "QUICK",
    "Extent",
    "calibrate",
    "commit",
    "default_backend",
    "default_place",
    "machine",
    "table_text",
    "write_table",
]
