"""Rings for the conformance suite: every backend, every degree, primes of every size."""

from collections.abc import Callable

import numpy as np
import pytest
from backends_here import BACKENDS
from ring_oracles import DEGREES, PRIME_SETS

from latticework import _core

BACKENDS_FOR_WIDE_PRIMES = {"ref", "cuda-u64", "sim-u64-forward", "sim-u64-reversed", "sim-u64-shuffled"}
CASES = [
    pytest.param((backend.id, primes), id=f"{backend.id}-{primes}", marks=backend.marks)
    for primes in ("narrow", "wide")
    for backend in BACKENDS
    if primes == "narrow" or backend.id in BACKENDS_FOR_WIDE_PRIMES
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


@pytest.fixture(params=DEGREES)
def ring(request: pytest.FixtureRequest, make_ring: Callable[..., _core.Ring]) -> _core.Ring:
    return make_ring(request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240811)
