"""Small INSECURE parameter sets, keys, and the embedding computed the slow way: what the tests of the core share."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from latticework import _core

SIGMA = math.sqrt(10.5)  # centred binomial with 21 pairs
SCALE = 2.0**40


@functools.cache
def primes(bits: int, ring_degree: int, count: int) -> tuple[int, ...]:
    return tuple(_core.primes_near(2**bits, 2 * ring_degree, count))


@functools.cache
def plain_parameters(ring_degree: int = 1024, insecure: bool = True) -> _core.Parameters:
    """q0 of 48 bits and four levels of 40, one prime each; digits of two limbs."""
    q = [primes(48, ring_degree, 3)[0], *primes(40, ring_degree, 4)]
    track = {"groups": [[i] for i in range(5)], "scales": [SCALE] * 5}
    return _core.Parameters(
        ring_degree, q, list(primes(48, ring_degree, 3)[1:]), [[0, 1], [2, 3], [4]], [track], insecure=insecure
    )


@functools.cache
def grouped_parameters(ring_degree: int = 1024) -> _core.Parameters:
    """A two-prime q0 (64 bits), a two-prime level (44 bits), a digit that splits it, and a second track with gaps."""
    q = [
        *primes(32, ring_degree, 2),
        primes(40, ring_degree, 2)[0],
        *primes(22, ring_degree, 2),
        primes(40, ring_degree, 2)[1],
    ]
    main = {"groups": [[0, 1], [2], [3, 4], [5]], "scales": [SCALE] * 4}
    other = {"groups": [[0, 1], [2], [5]], "scales": [SCALE] * 3}
    return _core.Parameters(
        ring_degree, q, list(primes(48, ring_degree, 2)), [[0, 1], [2, 3], [4, 5]], [main, other], insecure=True
    )


PARAMETER_SETS = {"plain": plain_parameters, "grouped": grouped_parameters}


def galois(steps: int, ring_degree: int) -> int:
    return pow(5, steps, 2 * ring_degree)


def spec(kind: str, galois_element: int, level: int, track: int = 0) -> dict[str, int | str]:
    return {"kind": kind, "galois_element": galois_element, "track": track, "level": level}


@dataclass(frozen=True)
class Case:
    """One parameter set with a client's and a server's objects."""

    parameters: _core.Parameters
    context: _core.Context
    secret_key: _core.SecretKey
    keys: _core.EvaluationKeys
    encoder: _core.Encoder
    encryptor: _core.Encryptor
    decryptor: _core.Decryptor
    evaluator: _core.Evaluator

    @property
    def n(self) -> int:
        return self.parameters.ring_degree

    @property
    def top(self) -> int:
        return len(self.parameters.tracks[0]["groups"]) - 1

    def encrypt(self, values: np.ndarray, level: int | None = None, scale: float = SCALE, track: int = 0):
        place = (track, self.top if level is None else level)
        return self.encryptor.encrypt(self.encoder.encode(values, place, scale))

    def group_product(self, level: int, track: int = 0) -> int:
        return math.prod(self.parameters.q[limb] for limb in self.parameters.tracks[track]["groups"][level])


def make_case(parameters: _core.Parameters, threads: int = 1, backend: str = "auto") -> Case:
    """Keys at the top level: relinearisation, rotation by 1 and -3, conjugation."""
    n, top = parameters.ring_degree, len(parameters.tracks[0]["groups"]) - 1
    context = _core.Context(parameters, backend, threads)
    generator = _core.KeyGenerator(context)
    secret_key = generator.secret_key()
    elements = [galois(1, n), galois(-3, n), 2 * n - 1]
    keys = generator.evaluation_keys(
        secret_key, [spec("relin", 0, top), *(spec("galois", element, top) for element in elements)]
    )
    return Case(
        parameters,
        context,
        secret_key,
        keys,
        _core.Encoder(context),
        _core.Encryptor(context, secret_key),
        _core.Decryptor(context, secret_key),
        _core.Evaluator(context),
    )


@functools.cache
def shared_case(name: str) -> Case:
    return make_case(PARAMETER_SETS[name]())


def random_slots(rng: np.random.Generator, slots: int, complex_values: bool = True) -> np.ndarray:
    real = rng.uniform(-1, 1, slots)
    return real + 1j * rng.uniform(-1, 1, slots) if complex_values else real.astype(complex)


@functools.cache
def _embedding_matrix(ring_degree: int) -> np.ndarray:
    exponents = np.array([pow(5, j, 2 * ring_degree) for j in range(ring_degree // 2)])
    turns = np.outer(exponents, np.arange(ring_degree)) % (2 * ring_degree)
    return np.exp(1j * np.pi * turns / ring_degree)


def coefficients_of(values: np.ndarray, ring_degree: int) -> np.ndarray:
    """Real coefficients of the polynomial with these slots (repeated to fill all), by the definition."""
    full = np.tile(values, ring_degree // 2 // len(values))
    return 2 / ring_degree * np.real(np.conj(_embedding_matrix(ring_degree)).T @ full)


def to_bytes(*ciphertexts: _core.Ciphertext) -> bytes:
    return _core.save_ciphertexts(None, list(ciphertexts), [str(i) for i in range(len(ciphertexts))])
