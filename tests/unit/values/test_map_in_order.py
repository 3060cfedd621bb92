"""Work on several items at the same time: results, errors and bits are those of one after the other."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numpy as np
import pytest

import latticework as lw
from latticework.errors import RangeError
from latticework.values import map_in_order as module
from latticework.values.map_in_order import THREADS, map_in_order


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores, and threads for runs of small programs too."""
    monkeypatch.setattr(module, "count_cores", lambda: 2)
    monkeypatch.setattr("latticework.frontend.calibration.calibration_data.LARGE_ARRAY", 0)


def test_results_come_in_the_order_of_items() -> None:
    later = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            assert later.wait(60)  # the next item is done first
        later.set()
        return number**2

    assert list(map_in_order(work, iter(range(20)))) == [n**2 for n in range(20)]
    assert list(map_in_order(work, [])) == []


@pytest.mark.parametrize("items", [1, 2, 9])
def test_threads_stand_where_the_caller_does(items: int) -> None:
    standing = ContextVar("standing", default="nowhere")
    standing.set("here")
    with np.errstate(divide="raise"):
        told = list(map_in_order(lambda _: (standing.get(), np.geterr()["divide"]), range(items)))
    assert told == [("here", "raise")] * items


def test_no_more_items_are_begun_than_wait() -> None:
    begun: list[int] = []
    results = map_in_order(begun.append, range(100))
    next(results)
    results.close()
    assert len(begun) <= THREADS + 1


def test_the_first_item_that_fails_is_the_one_that_is_told() -> None:
    failed = threading.Event()

    def work(number: int) -> int:
        if number == 3:
            assert failed.wait(60)
        if number >= 3:
            failed.set()
            raise RangeError(f"item {number}")
        return number

    results = map_in_order(work, range(9))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RangeError, match="item 3"):
        next(results)


def test_an_interruption_ends_what_was_begun() -> None:
    begun: list[int] = []

    def items() -> Iterator[int]:
        yield from range(4)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(begun.append, items()))
    assert sorted(begun) == begun


@pytest.mark.parametrize("started", [0, 1])
def test_without_threads_one_after_the_other(monkeypatch: pytest.MonkeyPatch, started: int) -> None:
    left, start = [started], threading.Thread.start

    def refuse(self: threading.Thread) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert list(map_in_order(lambda n: n + 1, range(10))) == list(range(1, 11))


def test_work_within_work_starts_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, number: int) -> None:
            made.append(number)
            super().__init__(number)

    monkeypatch.setattr(module, "ThreadPoolExecutor", Counted)
    inner = map_in_order(lambda n: sum(map_in_order(lambda m: m * n, range(5))), range(5))
    assert list(inner) == [10 * n for n in range(5)]
    assert made == [THREADS]


@lw.program
def network(x: lw.Secret[4, 6]):
    return lw.softmax(np.tanh(x @ np.linspace(-1, 1, 30).reshape(6, 5)) * 2.0, axis=-1)


@pytest.mark.filterwarnings("ignore::latticework.errors.ApproximationWarning")
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("options", [{}, {"tolerance": 0.1}])
def test_plans_are_those_of_one_core(
    monkeypatch: pytest.MonkeyPatch, tmp_path, rows: int, options: dict[str, float]
) -> None:
    data, saved = np.random.default_rng(0).normal(size=(rows + 8 * len(options), 4, 6)), []
    for cores in (1, 2):
        monkeypatch.setattr("latticework.compiler.levels.bootstrap_ranges.count_cores", lambda cores=cores: cores)
        monkeypatch.setattr(module, "count_cores", lambda cores=cores: cores)
        lw.compile(network, calibrate=data, precision_bits=6, **options).save(tmp_path / "plan")
        saved.append((tmp_path / "plan").read_bytes())
    assert saved[0] == saved[1]


def test_errors_of_samples_name_the_user_s_line(monkeypatch: pytest.MonkeyPatch) -> None:
    data = np.ones((5, 4, 6))
    data[3, 0, 0] = np.inf
    data[4, 0, 0] = np.nan
    told = []
    for cores in (1, 2):
        monkeypatch.setattr(module, "count_cores", lambda cores=cores: cores)
        with pytest.raises(lw.UserError) as caught:
            lw.compile(network, calibrate=data)
        told.append(str(caught.value))
    assert told[0] == told[1]
