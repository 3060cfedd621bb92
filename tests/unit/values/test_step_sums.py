"""Which steps are sums of two sets of steps, against sums one by one; both ways of counting them agree."""

import numpy as np
import pytest

from latticework.values.packing.loop_nests import diagonals


@pytest.mark.parametrize("most_added", [1 << 20, 0])
@pytest.mark.parametrize("seed", range(12))
def test_sums_of_steps(monkeypatch, most_added, seed):
    monkeypatch.setattr(diagonals, "MOST_ADDED", most_added)
    rng = np.random.default_rng(seed)
    slots = 1 << int(rng.integers(1, 9))
    held = [rng.uniform(size=slots) < rng.choice([0.02, 0.3, 1.0]) for _ in range(2)]
    for each in held:
        each[rng.integers(slots)] = True
    a, b = (np.flatnonzero(each) for each in held)
    found = diagonals._sums_of_steps(a, b, slots)
    assert found.tolist() == sorted({(i + j) % slots for i in a for j in b})
