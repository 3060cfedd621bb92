"""Small INSECURE BFV instances with all keys, and random slots: what the tests of BFV share."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from latticework import _core, bfv

PLAIN_BITS = (17, 30, 45, 49)
STEPS = (1, -3, 64)


@dataclass(frozen=True)
class Case:
    """A client and a server."""

    parameters: bfv.Parameters
    keygen: bfv.KeyGenerator
    keys: bfv.EvaluationKeys
    encoder: bfv.Encoder
    encryptor: bfv.Encryptor
    decryptor: bfv.Decryptor
    evaluator: bfv.Evaluator

    @property
    def t(self) -> int:
        return self.parameters.plain_modulus

    def random(self, rng: np.random.Generator) -> np.ndarray:
        return rng.integers(0, self.t, (2, self.parameters.row_slots), dtype=np.uint64)

    def read(self, x: bfv.Ciphertext) -> np.ndarray:
        return self.decryptor.decrypt(x, np.uint64)


def make_case(parameters: bfv.Parameters, backend: str | None = None, threads: int = 1) -> Case:
    parameters = parameters.on(backend=backend, threads=threads)
    keygen = bfv.KeyGenerator(parameters)
    keys = keygen.evaluation_keys(steps=STEPS, swap_rows=True)
    evaluator = bfv.Evaluator(parameters, keys)
    return Case(
        parameters,
        keygen,
        keys,
        bfv.Encoder(parameters),
        bfv.Encryptor(parameters, keygen.secret_key(), evaluator=evaluator),
        bfv.Decryptor(parameters, keygen.secret_key(), allow_refusals=1000),
        evaluator,
    )


@functools.cache
def small_parameters(plain_bits: int, limbs: int = 5, special: int = 2, ring_degree: int = 1024) -> bfv.Parameters:
    return bfv.Parameters(ring_degree, [47] * limbs, p_bits=[49] * special, plain_bits=plain_bits, insecure=True)


@functools.cache
def shared_case(plain_bits: int, backend: str) -> Case:
    return make_case(small_parameters(plain_bits), backend)


def backends() -> list[str]:
    """Names of the backends that this machine can run."""
    return [name for name in _core.backend_names() if is_usable(name)]


def is_usable(name: str) -> bool:
    try:
        small_parameters(17).on(backend=name, threads=1).context
    except ValueError:
        return False
    return True


def mul_mod(a: np.ndarray, b: np.ndarray, t: int) -> np.ndarray:
    """Products modulo t by Python integers."""
    return (a.astype(object) * b.astype(object) % t).astype(np.uint64)
