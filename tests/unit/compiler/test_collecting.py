"""Collection is rare while something is built, and afterwards as it was, however many build side by side."""

import gc

import pytest

from latticework.compiler.collecting import SELDOM, collect_seldom


@pytest.fixture(autouse=True)
def thresholds():
    found = gc.get_threshold()
    yield
    gc.set_threshold(*found)


def test_thresholds_come_back_when_the_last_has_left():
    gc.set_threshold(700, 10, 1000)
    first, second = collect_seldom(), collect_seldom()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold() == (SELDOM[0], SELDOM[1], 1000)
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (SELDOM[0], SELDOM[1], 1000)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == (700, 10, 1000)


def test_who_collects_nothing_goes_on_so():
    gc.set_threshold(0)
    with pytest.raises(KeyError), collect_seldom():
        assert gc.get_threshold()[0] == 0
        raise KeyError
    assert gc.get_threshold()[0] == 0
