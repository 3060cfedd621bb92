"""HEIR's text of a plan in the dialect of OpenFHE, without control flow, which `latticework keys` places keys in.

Public vectors are arguments, so that texts of large networks stay small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.plan.export.heir_text import HeirLines
from latticework.plan.export.vector_program import VectorProgram, VectorStep

TYPES = "!cc = !openfhe.crypto_context\n!ct = !openfhe.ciphertext\n!pt = !openfhe.plaintext\n"
WORDS = {"add": "add", "sub": "sub", "mul": "mul"}


class DialectLines(HeirLines):
    """Operations on ciphertexts.

    plaintexts  the public vectors, in the order of the arguments after the ciphertexts
    """

    def __init__(self, program: VectorProgram) -> None:
        super().__init__(program)
        self.plaintexts: list[npt.NDArray[np.float64]] = []
        self.places: dict[bytes, str] = {}

    def write(self) -> str:
        """The function `main`."""
        arguments, results = self.run_body()
        ends = [vector for vectors in results for vector in vectors]
        given = ", ".join([f"{name}: !ct" for name in arguments] + [f"{name}: !pt" for name in self.places.values()])
        made = ", ".join(["!ct"] * len(ends))
        lines = [
            *(f"    {name} = arith.constant {text}" for text, name in self.constants.items()),
            *(f"    {line}" for line in self.lines),
            f"    return {', '.join(ends)} : {made}",
        ]
        head = f"  func.func @main(%cc: !cc, {given}) -> ({made}) {{\n"
        return f"{TYPES}module attributes {{backend.openfhe, scheme.ckks}} {{\n{head}" + "\n".join(lines) + "\n  }\n}\n"

    def dense(self, vector: Any) -> str:
        """A public vector: an argument."""
        array = np.broadcast_to(np.real(np.asarray(vector, dtype=np.complex128)), (self.program.slots,))
        key = np.ascontiguousarray(array).tobytes()
        if key not in self.places:
            self.places[key] = f"%p{len(self.places)}"
            self.plaintexts.append(np.frombuffer(key))
        return self.places[key]

    def two(self, op: str, a: str, b: str) -> str:
        """An operation on ciphertexts, or on one and a public vector; in that order."""
        if a.startswith("%p"):
            if op == "sub":
                return self.two("add", self.put(f"openfhe.negate %cc, {b}", "(!cc, !ct) -> !ct"), a)
            a, b = b, a
        plain = b.startswith("%p")
        form = f"openfhe.{op}{'_plain' if plain else ''} %cc, {a}, {b}"
        return self.put(form, f"(!cc, !ct, {'!pt' if plain else '!ct'}) -> !ct")

    def rotate(self, vector: str, steps: int) -> str:
        """A rotation to the left, once for each number of steps."""
        if steps == 0:
            return vector
        known = self.rotated.get((vector, steps))
        if known is None:
            index = self.constant(f"{steps} : index")
            known = self.put(f"openfhe.rot %cc, {vector}, {index}", "(!cc, !ct, index) -> !ct")
            self.rotated[vector, steps] = known
        return known

    def step(self, step: VectorStep) -> list[Any]:
        """The results of a step; a bootstrap is OpenFHE's own, which takes all its keys at once."""
        if step.op != "bootstrap":
            return super().step(step)
        vectors = self.values[step.operands[0]]
        return [[self.put(f"openfhe.bootstrap %cc, {vector}", "(!cc, !ct) -> !ct") for vector in vectors]]
