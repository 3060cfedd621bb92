"""OpenFHE's residues of a few operations, for another library to repeat. Arguments: a file of arrays to write.

Ciphertexts and the secret key are read from their JSON form: residues in the order of OpenFHE's transforms.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import openfhe as fhe

LOG2_DEGREE, FIRST_BITS, SCALE_BITS, DEPTH = 11, 49, 40, 2


def residues(thing: Any) -> tuple[np.ndarray, list[int]]:
    """The polynomials (parts, limbs, N) of a ciphertext or a key, and their primes."""
    text = fhe.Serialize(thing, fhe.JSON)
    found: list[tuple[int, list[int]]] = []
    collect(json.loads(text if isinstance(text, str) else text.decode()), found)
    primes = list(dict.fromkeys(prime for prime, _ in found))
    limbs = len(primes)
    rows = np.array([row for _, row in found], dtype=np.uint64)
    assert [prime for prime, _ in found] == primes * (len(found) // limbs)
    return rows.reshape(len(found) // limbs, limbs, -1), primes


def collect(node: Any, found: list[tuple[int, list[int]]]) -> None:
    """Add every vector with its modulus, in order."""
    if isinstance(node, list):
        for each in node:
            collect(each, found)
    elif isinstance(node, dict):
        modulus = node.get("m")
        if isinstance(modulus, dict) and "v" in modulus:
            found.append((int(node["m"]["v"]), [int(value) for value in node["v"]]))
            return
        for each in node.values():
            collect(each, found)


def main(path: str) -> None:
    """Encrypt two vectors, compute with them, and write all residues."""
    p = fhe.CCParamsCKKSRNS()
    p.SetRingDim(1 << LOG2_DEGREE)
    p.SetMultiplicativeDepth(DEPTH)
    p.SetScalingModSize(SCALE_BITS)
    p.SetFirstModSize(FIRST_BITS)
    p.SetSecurityLevel(fhe.HEStd_NotSet)  # INSECURE: small, for a comparison of residues
    p.SetScalingTechnique(fhe.FIXEDMANUAL)
    p.SetKeySwitchTechnique(fhe.HYBRID)
    cc = fhe.GenCryptoContext(p)
    for feature in (fhe.PKE, fhe.KEYSWITCH, fhe.LEVELEDSHE):
        cc.Enable(feature)
    pair = cc.KeyGen()
    slots = 1 << (LOG2_DEGREE - 1)
    x, y, w = (np.random.default_rng(seed).uniform(-1, 1, slots) for seed in (1, 2, 3))
    a, b = (cc.Encrypt(pair.publicKey, cc.MakeCKKSPackedPlaintext(v)) for v in (x, y))
    plain = cc.MakeCKKSPackedPlaintext(w)
    total = cc.EvalAdd(a, b)
    weighted = cc.EvalMult(total, plain)
    rescaled = cc.Rescale(weighted)
    lowered = cc.Rescale(cc.EvalMult(a, plain))
    results = {
        "a": a, "b": b, "sum": total, "difference": cc.EvalSub(a, b), "opposite": cc.EvalNegate(a),
        "times plaintext": weighted, "rescaled": rescaled, "product": cc.EvalMultNoRelin(a, b), "lowered": lowered,
        "product below": cc.EvalMultNoRelin(rescaled, lowered),
    }  # fmt: skip
    arrays: dict[str, Any] = {"x": x, "y": y, "w": w}
    for name, ciphertext in results.items():
        arrays[name], primes = residues(ciphertext)
        if name == "a":
            arrays["primes"] = np.array(primes, dtype=np.uint64)
    arrays["secret"], _ = residues(pair.secretKey)
    shown = cc.Decrypt(pair.secretKey, rescaled)
    shown.SetLength(slots)
    arrays["decrypted"] = np.array(shown.GetRealPackedValue())
    np.savez(path, **arrays)


if __name__ == "__main__":
    main(sys.argv[1])
