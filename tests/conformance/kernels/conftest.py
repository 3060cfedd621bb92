"""Rings for the conformance suite: every backend, every degree, primes of every size."""

from collections.abc import Callable

import numpy as np
import pytest
from ring_oracles import DEGREES, PRIME_SETS

from latticework import _core

BACKENDS_FOR_WIDE_PRIMES = {"ref"}
CASES = [(name, "narrow") for name in _core.backend_names()]
CASES += [(name, "wide") for name in _core.backend_names() if name in BACKENDS_FOR_WIDE_PRIMES]


@pytest.fixture(params=_core.backend_names())
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=CASES, ids="-".join)
def make_ring(request: pytest.FixtureRequest) -> Callable[..., _core.Ring]:
    """A ring of the given degree over one of PRIME_SETS, on the backend under test."""
    backend, primes = request.param

    def make(degree: int, threads: int = 1) -> _core.Ring:
        return _core.Ring(degree, PRIME_SETS[primes], backend=backend, threads=threads)

    return make


@pytest.fixture(params=DEGREES)
def ring(request: pytest.FixtureRequest, make_ring: Callable[..., _core.Ring]) -> _core.Ring:
    return make_ring(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240811)
