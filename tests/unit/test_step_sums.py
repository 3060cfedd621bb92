"""Which steps are sums of two sets of steps, against sums one by one; all ways of counting them agree."""

import numpy as np
import pytest

from latticework.packing.loop_nests import diagonals


@pytest.mark.parametrize("chunk", [1 << 20, 0])
@pytest.mark.parametrize("seed", range(12))
def test_sums_of_steps(monkeypatch, chunk, seed):
    monkeypatch.setattr(diagonals, "CHUNK", chunk)
    rng = np.random.default_rng(seed)
    slots = 1 << int(rng.integers(1, 9))
    a, b = (rng.uniform(size=slots) < rng.choice([0.02, 0.3, 1.0]) for _ in range(2))
    a[rng.integers(slots)] = b[rng.integers(slots)] = True
    wanted = {(i + j) % slots for i in np.flatnonzero(a) for j in np.flatnonzero(b)}
    assert set(np.flatnonzero(diagonals._sums_of_steps(a, b)).tolist()) == wanted
