"""Scalar code: the kernel itself on ciphertexts that hold one value each, every product relinearised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.coyote.cases import Case
from latticework import bfv


class ScalarCode:
    """A case on one set of parameters, with keys of its own.

    threads  0: one per core
    """

    def __init__(self, case: Case, parameters: bfv.Parameters, threads: int = 0) -> None:
        here = parameters.on(threads=threads)
        keygen = bfv.KeyGenerator(here)
        self.case = case
        self.parameters = parameters
        self.modulus = parameters.plain_modulus
        evaluator = bfv.Evaluator(here, keygen.evaluation_keys())
        self._encryptor = bfv.Encryptor(here, keygen.secret_key(), evaluator=evaluator)
        self._decryptor = bfv.Decryptor(here, keygen.secret_key())

    def encrypt(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Integers to ciphertexts: nested lists of the same shapes."""
        return {name: self._nested(np.asarray(values)) for name, values in inputs.items()}

    def run(self, inputs: Mapping[str, Any]) -> list[bfv.Ciphertext]:
        """The kernel."""
        results: list[bfv.Ciphertext] = self.case.kernel(**inputs)
        return results

    def decrypt(self, results: list[bfv.Ciphertext]) -> list[int]:
        """The numbers, nearest to zero modulo the plaintext modulus."""
        return [int(self._decryptor.decrypt(result)[0, 0]) for result in results]

    def _nested(self, values: Any) -> Any:
        if np.ndim(values) == 0:
            return self._encryptor.encrypt([int(values)])
        return [self._nested(value) for value in values]
