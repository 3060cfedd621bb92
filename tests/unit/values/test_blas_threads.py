"""Threads of matrix products: one while something is compiled, then as many as before."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

import latticework as lw
from latticework.values import blas_threads as module
from latticework.values.blas_threads import OpenBlas, has_one_blas_thread, one_blas_thread


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of threads that was set last, of a library that begins with three."""
    number = [3]
    blas = OpenBlas(lambda: number[-1], number.append)
    monkeypatch.setattr(module, "_openblas", lambda: blas)
    return number


def test_the_number_comes_back_after_the_last(threads: list[int]) -> None:
    both = Barrier(2, timeout=60)

    def work(_: int) -> bool:
        with one_blas_thread():
            both.wait()
            return has_one_blas_thread()

    assert not has_one_blas_thread()
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [True, True]
    assert threads[-1] == 3


def test_the_number_comes_back_after_an_error(threads: list[int]) -> None:
    seen: list[bool] = []

    @lw.program
    def failing(x: lw.Secret[2]):
        seen.append(has_one_blas_thread())
        return x[5]

    with suppress(lw.UserError):
        lw.compile(failing)
    assert seen == [True]
    assert threads[-1] == 3


def test_numpy_s_own_library_is_found() -> None:
    blas = module._openblas()
    if blas is None:
        pytest.skip("NumPy has another library for products")
    before = blas.read()
    with one_blas_thread():
        assert blas.read() == 1
    assert blas.read() == before
