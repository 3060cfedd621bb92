"""Ciphertexts of OpenFHE, computed with by our core: the same residues, bit for bit, where algorithms are exact.

Our parameters take OpenFHE's primes, and our key its secret. Both libraries keep values of polynomials in the same
order: at psi^(2 r(k) + 1), psi the smallest root. Sums, products, rescaling and ciphertexts of three polynomials leave
no choice but representatives; encodings may round a coefficient to the other side, and key switches add digits of
another partition, so these are compared by what they decrypt to.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.peers.environments import variables
from bench.peers.process import WORKERS
from bench.rows import Row
from latticework import ckks

SCALE = 2.0**40  # of the worker's
NEAR = 2.0**-20  # of decrypted values
Residues = npt.NDArray[np.uint64]


class Failed(Exception):
    """A worker that did not run."""


def theirs(python: Path) -> dict[str, npt.NDArray[np.generic]]:
    """OpenFHE's residues, by operation; its primes, secret, data and a decrypted result.

    raises  Failed
    """
    with tempfile.TemporaryDirectory(prefix="latticework-twin-") as folder:
        path = Path(folder) / "residues.npz"
        command = [str(python), str(WORKERS / "openfhe_twin.py"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables())
        if done.returncode:
            raise Failed((done.stderr.strip().splitlines() or ["nothing said"])[-1])
        with np.load(path) as found:
            return dict(found)


class Twin:
    """Our side of the same operations, from OpenFHE's two fresh ciphertexts, its plaintext and its secret key."""

    def __init__(self, found: dict[str, npt.NDArray[np.generic]]) -> None:
        self.found = found
        self.primes = [int(prime) for prime in found["primes"]]
        degree = found["a"].shape[-1]
        self.parameters = ckks.Parameters(degree, primes=self.primes, scale_bits=40, insecure=True)
        self.secret = ckks.SecretKey.from_secret_residues(found["secret"], self.parameters, form="ntt")
        self.evaluator = ckks.Evaluator(self.parameters)
        self.plain = ckks.Plaintext.from_residues(self.plaintext(), self.parameters, scale=SCALE, form="ntt")

    def plaintext(self) -> Residues:
        """OpenFHE's encoding, which it shows to nobody: what its product is of the sum, place by place."""
        weighted, total = (self.found[name][1] for name in ("times plaintext", "sum"))
        rows = [
            [int(w) * pow(int(t), -1, q) % q for w, t in zip(row, other, strict=True)]
            for q, row, other in zip(self.primes, weighted.tolist(), total.tolist(), strict=True)
        ]
        return np.array([rows], dtype=np.uint64)

    def ours(self) -> dict[str, ckks.Ciphertext]:
        """The same operations on the same ciphertexts."""
        a, b = (
            ckks.Ciphertext.from_residues(
                self.found[name], self.parameters, key_set=self.secret.key_set, scale=SCALE, form="ntt"
            )
            for name in ("a", "b")
        )
        do = self.evaluator
        total = do.add(a, b)
        weighted = do.mul_plain(total, self.plain)
        rescaled, lowered = do.rescale(weighted), do.rescale(do.mul_plain(a, self.plain))
        return {
            "sum": total, "difference": do.sub(a, b), "opposite": do.neg(a), "times plaintext": weighted,
            "rescaled": rescaled, "product": do.mul(a, b), "lowered": lowered,
            "product below": do.mul(rescaled, lowered),
        }  # fmt: skip


def rows(python: Path) -> Iterator[Row]:
    """A row for each operation: residues that differ; then what ours decrypts of theirs, and how encodings differ."""
    try:
        twin = Twin(theirs(python))
    except Failed as error:
        yield Row("twin", "residues that differ", "", None, note=str(error), required=True)
        return
    made = twin.ours()
    for name, ciphertext in made.items():
        ours, wanted = ciphertext.residues("ntt"), twin.found[name]
        different = float(np.count_nonzero(ours != wanted)) if ours.shape == wanted.shape else float(wanted.size)
        yield Row(
            f"twin, {name}", "residues that differ", "", different, target=0.0, checked=different == 0.0,
            details={"residues": int(wanted.size)}, required=True,
        )  # fmt: skip
    decrypted = np.real(ckks.Decryptor(twin.parameters, twin.secret).decrypt(made["rescaled"]))
    x, y, w = (twin.found[name] for name in "xyw")
    error = float(np.max(np.abs(decrypted - (x + y) * w)))
    apart = float(np.max(np.abs(decrypted - twin.found["decrypted"])))
    yield Row(
        "twin, decrypted by us", "difference from NumPy", "", error, target=NEAR, checked=apart <= NEAR, required=True
    )
    yield encoding_row(twin)


def encoding_row(twin: Twin) -> Row:
    """Coefficients of the plaintext that our encoder rounds otherwise, and by how much."""
    level = len(twin.primes) - 1
    ours = ckks.Encoder(twin.parameters).encode(twin.found["w"], level=level, scale=SCALE).residues()[0, 0]
    theirs = twin.plain.residues()[0, 0]
    q = twin.primes[0]
    apart = (ours.astype(np.int64) - theirs.astype(np.int64) + q // 2) % q - q // 2
    return Row(
        "twin, encoding", "coefficients that are rounded otherwise", "", float(np.count_nonzero(apart)),
        checked=bool(np.max(np.abs(apart)) <= 1), details={"coefficients": len(apart)},
        note=f"by {int(np.max(np.abs(apart)))} at most",
    )  # fmt: skip
