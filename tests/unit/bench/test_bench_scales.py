"""`latticework bench scales`: rules side by side, with results checked."""

import pytest

from bench.scales import example, moments, program_rows
from latticework.plan.cost import CostModel


@pytest.mark.slow
def test_rows_of_a_program():
    rows = program_rows(moments, example(moments), 1, CostModel.load())
    assert [row.metric for row in rows] == [
        f"{what}, beside {rule}" for rule in ("waterline", "proactive") for what in ("predicted", "measured")
    ]
    assert all(row.checked for row in rows)
    assert rows[0].ratio > 1.02
