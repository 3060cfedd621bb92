"""`latticework bench compile-time`: cases in processes of their own, under limits."""

import pytest

from bench.compile_time import case_rows, table


@pytest.mark.slow
def test_a_case_has_time_memory_and_a_checked_plan():
    seconds, peak, run = case_rows("product-784x10", 60.0, 8.0, check=True)
    assert 0.0 < seconds.ours < 60.0
    assert peak.ours > peak.details["before compiling, MB"] > 0
    assert run.checked
    assert run.details["error, as a share of its bound"] <= 1.0
    assert seconds.details["rotations"] > 0
    assert table([seconds, peak, run]).row_count == 1


@pytest.mark.slow
def test_a_case_that_takes_too_long_is_a_row_that_says_so():
    (row,) = case_rows("resnet-20", 1.0, 8.0, check=False)
    assert row.ours is None
    assert "ended" in row.note
    assert row.meets is False
    assert table([row]).row_count == 1
