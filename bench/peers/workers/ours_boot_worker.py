"""Bootstrapping by latticework. Arguments: boot LOG2_DEGREE, the number of threads, complex or real (slots)."""

from __future__ import annotations

from math import log2
from typing import Any

import numpy as np
import work
from ours_worker import CONSTANT_BYTES, LIBRARY, security_bits
from protocol import Operation, Session, serve

from latticework import ckks
from latticework.compiler.keys import stored_bytes

SETS = {16: "A14", 15: "C15", 12: "T12", 11: "T11"}  # T11 and T12 are insecure


class Boot:
    """All slots, from the floor to the highest level."""

    def __init__(self, log2_degree: int, threads: int, slots: str) -> None:
        self.log2_degree, self.name, self.kind = log2_degree, SETS[log2_degree], slots
        parameters = ckks.Bootstrapper(self.name).parameters.on(threads=threads)
        self.parameters, self.bootstrapper = parameters, ckks.Bootstrapper(parameters, real=slots == "real")
        maker = ckks.KeyGenerator(parameters)
        self.required = self.bootstrapper.required_keys()
        self.keys = maker.evaluation_keys(required=self.required)
        evaluator = ckks.Evaluator(parameters, self.keys, constant_bytes=CONSTANT_BYTES)
        self.decryptor = ckks.Decryptor(parameters, maker.secret_key())
        x = work.slots_vector(2 * parameters.slots)
        self.x = x[: parameters.slots] + (0.0 if slots == "real" else 1j * x[parameters.slots :])
        encryptor = ckks.Encryptor(parameters, maker.secret_key(), evaluator=evaluator)
        self.cipher = encryptor.encrypt(self.x, level=self.bootstrapper.floor)
        self.result = self.cipher

    def facts(self) -> dict[str, Any]:
        chain = self.parameters.chain
        return {
            "library": LIBRARY,
            "backend": self.parameters.context.backend,
            "log2_degree": self.log2_degree,
            "limbs": len(chain.primes),
            "digits": self.parameters.num_digits,
            "special_limbs": len(chain.special),
            "log2_q": round(self.parameters.log2_q, 1),
            "log2_qp": round(self.parameters.log2_qp, 1),
            "security_bits": security_bits(self.log2_degree, self.parameters.log2_qp),
            "order": "SlotsToCoeff first",
            "settings": f"{self.name}, {self.kind} slots, sparse secret encapsulated",
        }

    def run(self) -> ckks.Ciphertext:
        self.result = self.bootstrapper.bootstrap(self.cipher)
        return self.result

    def precision(self) -> tuple[float, float]:
        return work.precision_bits(np.asarray(self.decryptor.decrypt(self.result)), self.x)

    def operations(self) -> dict[str, Any]:
        scales = self.parameters.scales
        return work.boot_operations(
            Operation,
            self.run,
            self.precision,
            levels_left=lambda: self.result.level - self.bootstrapper.floor,  # the floor is for the next bootstrap
            level_bits=lambda: log2(scales[self.result.level]),
            key_bytes=lambda: sum(stored_bytes(spec, self.parameters.chain) for spec in self.required),
            key_memory_bytes=lambda: self.keys.num_bytes,
        )


def make(arguments: list[str]) -> Session:
    """The session of one ring degree."""
    made = Boot(int(arguments[1]), int(arguments[2]), arguments[3])
    return Session(made.facts(), made.operations())


if __name__ == "__main__":
    serve(make)
