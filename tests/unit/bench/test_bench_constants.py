"""`latticework bench constants`: what its rows say, and that ways with other results are not compared."""

import pytest

from bench import constants
from bench.constants import Times, rows_of


def times(**changed):
    return Times(**{"load": 0.5, "first": 3.0, "later": 2.0, "peak": 1e9, "result": "x", **changed})


def test_rows_compare_with_the_other_checkout_where_there_is_one():
    alone = rows_of("a", {"new": times()})
    assert [row.reference for row in alone] == [None, None, None]
    later, first, peak = rows_of("a", {"new": times(), "old": times(later=5.0, peak=2e9)})
    assert (later.ours, later.reference) == (2.0, 5.0) and (first.ours, first.target) == (1.5, 1.5)
    assert (peak.ours, peak.reference) == (1000, 2000)
    assert rows_of("a", {"new": times(), "prepared": times(first=2.1)})[-1].ours == pytest.approx(1.05)


def test_other_bytes_are_refused(monkeypatch, tmp_path):
    results = iter(["x", "y"])
    monkeypatch.setattr(constants, "_run", lambda *_: times(result=next(results)))
    with pytest.raises(RuntimeError, match="dense within 1GB gives other bytes"):
        constants._measure("dense", tmp_path, "1GB", tmp_path, False, 1, 2)
