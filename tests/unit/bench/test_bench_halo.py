"""The HALO suite: programs run encrypted and simulated beside the clear, limits of rows, what is kept of them."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import typer

from latticework.commands.benchmarks import suites

bench_suites = suites()  # puts the source tree on the path
from bench.halo.cases import Case, compiled_case  # noqa: E402
from bench.halo.data import inputs_of  # noqa: E402
from bench.halo.encrypted import (  # noqa: E402
    BootstrapClock,
    CompileFigures,
    Conditions,
    RunFigures,
    fewest_like,
    most_within,
    run_encrypted,
)
from bench.halo.figures import compile_rows, failed_row, flat_rows, run_rows  # noqa: E402
from bench.halo.programs import PROGRAMS  # noqa: E402
from bench.halo.published import code_target, compile_target, rmse_of  # noqa: E402
from bench.halo.scores import SCORES, outputs_of, quality  # noqa: E402
from bench.halo.simulated import SimulationFigures, run_simulated, simulation_rows  # noqa: E402
from bench.halo.stages import LAY_OUT, MEASURE, PLACE, TRACE, WRITE  # noqa: E402
from bench.halo.suite import Collected, pca_sizes, rows_of  # noqa: E402
from bench.processes import parts_of  # noqa: E402
from bench.rows import Row  # noqa: E402
from latticework.errors import UserError  # noqa: E402
from latticework.plan.cost import CostModel  # noqa: E402
from latticework.runtime.events import Event  # noqa: E402

SMALL = Case("linear", (9,), "T11", 9.0, run_time=True, samples=64)


@pytest.fixture(scope="module")
def encrypted():
    return tuple(run_encrypted(SMALL, Conditions()))


def test_an_encrypted_run_is_beside_the_clear(encrypted):
    compiled, first, run = encrypted
    assert isinstance(compiled, CompileFigures) and isinstance(run, RunFigures)
    assert first.is_first and first.size[0] < 9 and 0 < first.quality.error <= first.quality.bound
    assert set(compiled.seconds) == {TRACE, LAY_OUT, PLACE, WRITE, MEASURE}
    assert all(seconds >= 0 for seconds in compiled.seconds.values())
    assert run.size == (9,) and run.why_fewer is None and not run.is_first
    assert run.bootstraps == sum(run.targets.values()) > 0
    assert 0 < run.quality.error <= run.quality.bound
    assert 0 < run.share < 1 and run.measured > 0


def test_a_row_without_time_says_so(encrypted):
    """None for one more iteration: those of the first run count."""
    with pytest.raises(UserError, match=r"not run: \d+ s are predicted for a run of \d, -\d+ are left"):
        list(run_encrypted(SMALL, Conditions(limit_seconds=0.0)))


def test_rows_of_a_run(encrypted):
    compiled, _, run = encrypted
    rows = {row.metric: row for row in [*compile_rows(SMALL, compiled, "T11"), *run_rows(SMALL, run, "T11")]}
    assert rows["error"].meets and rows["RMSE"].reference == rmse_of("linear")[0]
    assert rows["plan"].ours == compiled.plan_bytes
    assert rows["plan"].target == rows["plan"].reference == pytest.approx(5.946 * 1024)
    compiling = rows["compile, without stages on data"]
    assert compiling.target == compiling.reference == 0.041
    assert (compile_target("linear", 0.01), compile_target("pca", 10.0), code_target("pca", 5.0)) == (0.01, 10.0, 5.0)
    beyond = replace(run, quality=replace(run.quality, error=2 * run.quality.bound), why_fewer="no time")
    rows = {row.metric: row for row in run_rows(SMALL, beyond, "T11")}
    assert rows["error"].meets is False and rows["bootstraps"].note == "no time"
    unbounded = replace(run, quality=replace(run.quality, bound=float("inf")))
    assert {row.metric: row for row in run_rows(SMALL, unbounded, "T11")}["error"].meets is False
    assert failed_row(SMALL, "T11", "memory is out").meets is False


def test_a_simulated_run_is_beside_the_clear():
    case = replace(SMALL, size=(7,), run_time=False)
    _, run = run_simulated(case, Conditions())
    assert isinstance(run, SimulationFigures)
    assert 0 < run.quality.error <= run.quality.bound
    assert all(row.meets is not False for row in simulation_rows(case, run, "T11"))


def test_what_compiling_tells_adds_up():
    """One plan for all numbers: what is predicted for fewer iterations is less."""
    made = compiled_case(SMALL)
    model = CostModel.load()
    seconds = [made.cost(model, (n,)).warm_seconds for n in (1, 5, 9)]
    assert seconds == sorted(seconds) and seconds[0] < seconds[-1]


def test_calls_within_a_bootstrap_are_part_of_it():
    clock = BootstrapClock()
    for op, start, end, done in (
        ("add", 0, 1, 0), ("call", 2, 3, 0), ("call", 3, 4, 0), ("call", 1, 5, 1), ("call", 5, 7, 2), ("for", 0, 8, 2),
    ):  # fmt: skip
        clock(Event("evaluate", op, 0, 0, 0, start, end, bootstraps=done))
    assert (clock.bootstraps, clock.seconds) == (2, 6)


def test_iterations_of_a_row():
    assert fewest_like((40,), lambda size: min(size[0], 5)) == (5,)
    assert fewest_like((40,), lambda size: size[0]) == (12,)
    assert fewest_like((1, 8), lambda size: 3.0) == (1, 8)
    assert fewest_like((4, 8), lambda size: 0.0) == (1, 8)
    assert most_within((40,), lambda size: 2.0 * size[0], 30.0) == (15,)
    assert most_within((4, 8), lambda size: size[0] * size[1], 100.0) == (4, 8)
    assert most_within((4,), lambda size: 9.0, 1.0) is None


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_trained_models(name):
    """Of the model in the clear, and of one that is far from it, which is worse."""
    inputs, trips = inputs_of(name), dict.fromkeys(PROGRAMS[name].trips, 4)
    clear = outputs_of(PROGRAMS[name].text(**inputs, **trips))
    other = [-np.roll(output, 1) for output in clear]
    found = quality(name, inputs, other, clear, [1e-3] * len(clear))
    assert found.scores[0] < found.scores[1] and found.scores[1] > (0.6 if name == "svm" else 0.85)
    assert found.rmse <= max(np.max(np.abs(o - c)) for o, c in zip(other, clear, strict=True))
    same = quality(name, inputs, clear, clear, [0.0] * len(clear))
    assert (same.error, same.rmse) == (0.0, 0.0) and same.scores[0] == same.scores[1]


def test_the_error_is_that_nearest_to_its_bound():
    found = quality("linear", {}, [np.array([1.0, 2.0]), np.array(3.0)], [np.zeros(2), np.array(2.5)], [4.0, 0.5])
    assert (found.error, found.bound) == (0.5, 0.5)
    assert found.rmse == pytest.approx(np.sqrt((1 + 4 + 0.25) / 3))


def test_rows_are_kept_as_they_come(tmp_path):
    file = tmp_path / "rows.json"
    collected = Collected(file, {"iterations": "40"})

    def rows():
        for number in range(2):
            yield Row("c", f"metric {number}", "s", 1.0)
            assert len(json.loads(file.read_text())["rows"]) == number + 1

    collected.add(rows())
    assert [path.name for path in tmp_path.iterdir()] == ["rows.json"]


def test_sizes_of_pca():
    assert pca_sizes("4x2, 8x8") == ((4, 2), (8, 8))
    for wrong in ("4", "4x2x2", "0x2", "ax2"):
        with pytest.raises(typer.BadParameter):
            pca_sizes(wrong)


def test_compiling_for_several_numbers_of_iterations_is_compared():
    """Those that bootstrap; a number that takes none has a plan of its own."""
    rows = [
        Row(f"svm, H17, {n} iterations", metric, "", value)
        for n, bootstraps, seconds in ((2, 0, 1.0), (10, 8, 4.0), (40, 50, 5.0))
        for metric, value in (("bootstraps", bootstraps), ("compile, without stages on data", seconds), ("plan", 9.0))
    ]
    found = {row.metric: row for row in flat_rows(rows)}
    assert found["compile, without stages on data: largest by smallest"].ours == 1.25
    plan = found["plan: largest by smallest"]
    assert plan.ours == 1.0 and plan.meets and plan.details == {"iterations": "10 iterations, 40 iterations"}


def test_the_first_run_stays_where_the_next_does_not_end(encrypted, monkeypatch):
    compiled, first, _ = encrypted

    def parts(_work, *_arguments, limit_seconds):
        assert limit_seconds > 0
        yield compiled
        yield first
        raise TimeoutError("ended after 9 s")

    monkeypatch.setattr("bench.halo.suite.parts_of", parts)
    rows = {row.metric: row for row in rows_of(SMALL, Conditions(), run_encrypted)}
    assert rows["bootstraps"].note == "the next run did not end: ended after 9 s"
    assert rows["error"].ours == first.quality.error


def counting(kind: str):
    """Work for a process of its own."""
    yield 1
    if kind == "refused":
        raise UserError("no room")
    if kind == "failed":
        raise KeyError("x")
    if kind == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "slow":
        time.sleep(60)
    yield 2


@pytest.mark.parametrize(("kind", "error"), [
    ("whole", None), ("refused", UserError), ("failed", RuntimeError), ("killed", ChildProcessError), ("slow", TimeoutError),
])  # fmt: skip
@pytest.mark.slow
def test_what_a_process_told_stays(kind, error):
    found = []

    def take():
        for part in parts_of(counting, kind, limit_seconds=25.0 if kind == "slow" else 60.0):
            found.append(part)

    if error is None:
        take()
    else:
        with pytest.raises(error):
            take()
    assert found == ([1, 2] if error is None else [1])


SLOW = """
import os, sys, time
from bench.processes import parts_of
def slow():
    yield os.getpid()
    time.sleep(60)
if __name__ == "__main__":
    for pid in parts_of(slow, limit_seconds=60.0):
        print(pid, flush=True)
"""


@pytest.mark.slow
def test_the_work_ends_with_who_started_it(tmp_path):
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        worker = int(parent.stdout.readline())
        os.kill(worker, 0)
        parent.kill()
    for _ in range(100):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the worker outlives its parent")
