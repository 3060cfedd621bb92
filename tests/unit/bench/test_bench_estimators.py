"""`python -m bench.estimators`: every case keeps its score, encrypted, with nothing but `precision_bits` given."""

import json
from pathlib import Path

import pytest

from latticework.commands.benchmarks import suites

suites()  # puts the source tree on the path
from bench import estimators  # noqa: E402

RESULTS = Path(estimators.__file__).parent / "results" / "estimators.json"


@pytest.mark.parametrize("case", ["LogisticRegression, probabilities: breast cancer", "KMeans: breast cancer"])
def test_scores_are_kept(case):
    found = estimators.measured(case, most_rows=64, ring_degree=4096, insecure=True)
    assert found.rows == 64 and found.is_kept and found.plain_score > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("case", estimators.CASES)
def test_scores_of_all_held_out_rows_are_kept(case):
    assert estimators.measured(case).is_kept


def test_the_results_file_has_every_case_and_all_are_kept():
    rows = json.loads(RESULTS.read_text())["rows"]
    assert [row["case"] for row in rows] == estimators.CASES
    assert all(row["is_kept"] for row in rows)
