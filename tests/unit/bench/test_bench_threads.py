"""`latticework bench threads`: what two threads are held to, and that each kind of run is timed as often."""

import pytest

from bench.threads import Case, Paces, bootstrap_case, paces, rows_of


@pytest.mark.parametrize(("at_once", "target"), [(0.5, 1.8), (0.8, 0.95 / 0.8)])
def test_two_threads_are_held_to_what_two_runs_reach(at_once, target):
    row = rows_of("x", Paces(1.0, 0.75, at_once))[0]
    assert row.target == pytest.approx(target)
    assert row.ours == pytest.approx(1 / 0.75)
    assert row.reference == pytest.approx(1 / at_once)


def test_each_way_runs_in_every_round():
    alone, together = [], []
    case = Case("x", lambda: alone.append(1), lambda: together.append(1))
    assert min(paces(case, rounds=3)) > 0
    assert (len(alone), len(together)) == (3 * 4, 4)  # one round is not counted; two alone at once, one by itself


@pytest.mark.slow
def test_bootstraps_on_one_and_two_threads_are_the_same():
    assert bootstrap_case("T12", real=True, backend="auto").name == "bootstrap of T12, real"
