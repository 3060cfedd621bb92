"""The suite of models that are trained again: what it reports is compared with an oracle, and counted."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from latticework.commands.benchmarks import suites

bench_suites = suites()  # puts the source tree on the path

from bench.retraining.cases import cases  # noqa: E402
from bench.retraining.suite import app, compile_case, row_of  # noqa: E402


def test_there_are_twenty_models():
    assert len(cases()) == 20 and "like" in bench_suites.SUITES


@pytest.mark.parametrize("name", ["circuit of integers", "ridge regression"])
def test_rows_say_what_is_kept_and_are_checked(name):
    told = json.loads(CliRunner().invoke(app, ["--models", name, "--json"]).stdout)
    first, *counts = told["rows"]
    assert first["checked"] and first["ours"] >= 2 and first["case"] == name
    assert [row["ours"] for row in counts[:2]] == [1, 1]


def test_a_wrong_result_counts_as_nothing_kept():
    train = cases()["ridge regression"]
    first, again = (train(np.random.default_rng(seed)) for seed in (1, 2))
    old = compile_case(first)
    wrong = type(again)(again.program, again.data, again.shown, lambda x: again.oracle(x) + 1, again.options)
    assert row_of("integers", wrong, old, old.client().keygen()).ours == 0
