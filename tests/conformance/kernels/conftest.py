"""Rings for the conformance suite: every backend, every degree, primes of every size."""

from collections.abc import Callable

import numpy as np
import pytest
from ring_oracles import DEGREES, PRIMES

from latticework import _core


@pytest.fixture(params=_core.backend_names())
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def make_ring(backend: str) -> Callable[..., _core.Ring]:
    """A ring of the given degree over PRIMES, on the backend under test."""

    def make(degree: int, threads: int = 1) -> _core.Ring:
        return _core.Ring(degree, PRIMES, backend=backend, threads=threads)

    return make


@pytest.fixture(params=DEGREES)
def ring(request: pytest.FixtureRequest, make_ring: Callable[..., _core.Ring]) -> _core.Ring:
    return make_ring(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240811)
