"""SECURITY.md states the limits that the core checks keys by."""

import runpy
from pathlib import Path

import pytest

from latticework import ckks
from latticework.errors import SecurityError

ROOT = Path(__file__).resolve().parents[3]


def test_limits_of_the_page_are_current() -> None:
    page = (ROOT / "SECURITY.md").read_text()
    assert runpy.run_path(str(ROOT / "tools" / "write_security_tables.py"))["written"](page) == page, (
        "run tools/write_security_tables.py"
    )


def test_parameters_are_refused_by_the_limits_of_the_page() -> None:
    """The row of 2^13: 214 bits of a ternary secret pass, and one more does not."""
    row = next(line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| 2^13 |"))
    limit = int(row.split("|")[2])
    fits = ckks.Parameters(2**13, q_bits=[limit - 171, 40, 40, 41], p_bits=[49], scale_bits=40)
    assert limit - 2 < fits.log2_qp <= limit
    with pytest.raises(SecurityError, match=f"{limit}"):
        ckks.Parameters(2**13, q_bits=[limit - 171, 40, 40, 43], p_bits=[49], scale_bits=40)
