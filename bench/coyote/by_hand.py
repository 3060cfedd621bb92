"""Vector code as an expert writes it for the kernels of Table 2, on the same BFV core.

The paper prints no expert's code: known are its times (Table 2), and that it was for SEAL 3.7, where products and
relinearisations are calls of their own and rotations share no decomposition. Code here shares none either and stays at
the top level; its products and relinearisations share a division. Here inputs lie where that helps, each element once
(`un`) or copied by the client (`fully`), n is padded with zeros to a power of two w, and results stay where they arise:

dot    a product, then halves are added up: log2 w rotations
mv     rows one after another, w lanes each, times the vector once for each row; then the same sums within rows
dist   x_i at lane w i, y_j at lane j; both are copied by doubling to all lanes w i + j, then one difference, one square
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from latticework import bfv


class ByHand:
    """A kernel of Table 2 on one set of parameters, with keys of its own.

    name  such as dist.5.un;  threads  0: one per core
    """

    def __init__(self, name: str, parameters: bfv.Parameters, threads: int = 0) -> None:
        self.kind, size, replicated = name.split(".")
        self.n, self.is_copied = int(size), replicated == "fully"
        self.log2_width = (self.n - 1).bit_length()
        self.width = 1 << self.log2_width
        here = parameters.on(threads=threads)
        keygen = bfv.KeyGenerator(here)
        distances = [1 << k for k in range(2 * self.log2_width)]
        evaluator = bfv.Evaluator(here, keygen.evaluation_keys(steps=[*distances, *(-d for d in distances)]))
        self._encryptor = bfv.Encryptor(here, keygen.secret_key(), evaluator=evaluator)
        self._decryptor = bfv.Decryptor(here, keygen.secret_key())
        self.rotations = 0

    def encrypt(self, inputs: Mapping[str, Any]) -> list[bfv.Ciphertext]:
        """The two inputs, a ciphertext each."""
        first, second = (np.asarray(x) for x in inputs.values())
        w, all_rows = self.width, self.width if self.is_copied else 1
        one, other = np.zeros((w, w), np.int64), np.zeros((w, w), np.int64)
        if self.kind == "dist":
            one[: self.n, : (w if self.is_copied else 1)] = first[:, None]
            other[:all_rows, : self.n] = second
        elif self.kind == "mv":
            one[: self.n, : self.n] = first
            other[:all_rows, : self.n] = second
        else:
            one[0, : self.n], other[0, : self.n] = first, second
        return [self._encryptor.encrypt(np.stack([x.ravel()] * 2)) for x in (one, other)]

    def run(self, inputs: list[bfv.Ciphertext]) -> bfv.Ciphertext:
        """The kernel."""
        self.rotations = 0
        one, other = inputs
        steps = [1 << k for k in range(self.log2_width)]
        rows = [self.width * k for k in steps]
        copies = not self.is_copied
        if self.kind == "dist":
            difference = self._doubled(one, steps if copies else []) - self._doubled(other, rows if copies else [])
            return difference * difference
        if self.kind == "mv" and copies:
            other = self._doubled(other, rows)
        return self._doubled(one * other, [-k for k in reversed(steps)])

    def decrypt(self, result: bfv.Ciphertext) -> list[int]:
        """The numbers in the order of the kernel's results."""
        slots = self._decryptor.decrypt(result)[0, : self.width**2].reshape(self.width, self.width)
        if self.kind == "dist":
            found = slots[: self.n, : self.n]
        else:
            found = slots[: self.n if self.kind == "mv" else 1, 0]
        return [int(x) for x in found.ravel()]

    def _doubled(self, x: bfv.Ciphertext, distances: list[int]) -> bfv.Ciphertext:
        """Each time x and x moved to the right by a distance, added."""
        for distance in distances:
            x = x + x.rotate(-distance)
            self.rotations += 1
        return x
