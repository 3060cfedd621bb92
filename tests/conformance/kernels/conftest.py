"""Rings for the conformance suite: every backend, every degree, primes of every size."""

from collections.abc import Callable

import numpy as np
import pytest
from backends_here import BACKENDS, DRIVERS, with_sizes
from ring_oracles import DEGREES, PRIME_SETS

from latticework import _core

BACKENDS_FOR_WIDE_PRIMES = {
    "ref",
    *(f"{kind}-u64" for kind in DRIVERS),
    *(f"sim-u64-{order}" for order in ("forward", "reversed", "shuffled")),
}
CASES = [
    pytest.param((backend.id, primes), id=f"{primes}-{backend.id}", marks=backend.marks)
    for primes in ("narrow", "wide")
    for backend in BACKENDS
    if primes == "narrow" or backend.id in BACKENDS_FOR_WIDE_PRIMES
]


RINGS = [
    pytest.param(case.values, id=case.id, marks=case.marks)
    for case in with_sizes(CASES, DEGREES, most_in_other_orders=64)
]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=CASES)
def make_ring(request: pytest.FixtureRequest) -> Callable[..., _core.Ring]:
    """A ring of the given degree over one of PRIME_SETS, on the backend under test."""
    backend, primes = request.param

    def make(degree: int, threads: int = 1) -> _core.Ring:
        return _core.Ring(degree, PRIME_SETS[primes], backend=backend, threads=threads)

    return make


@pytest.fixture(params=RINGS)
def ring(request: pytest.FixtureRequest) -> _core.Ring:
    (backend, primes), degree = request.param
    return _core.Ring(degree, PRIME_SETS[primes], backend=backend, threads=1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240811)
