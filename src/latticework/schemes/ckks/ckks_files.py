"""Named ciphertexts in one file."""

from __future__ import annotations

from pathlib import Path

from latticework.schemes.ckks.ckks_ciphertext import Ciphertext
from latticework.schemes.ckks.ckks_evaluator import Evaluator
from latticework.schemes.ckks.ckks_parameters import Parameters
from latticework.schemes.rlwe import files


def save_ciphertexts(path: str | Path, ciphertexts: files.Named[Ciphertext]) -> None:
    """Write ciphertexts of one key to a file: a dictionary of names, or a list, whose names are "0", "1", ...

    Fresh ones under the secret key take half the space.
    """
    files.save(path, ciphertexts, Ciphertext)


def load_ciphertexts(
    path: str | Path, parameters: Parameters, *, evaluator: Evaluator | None = None
) -> dict[str, Ciphertext]:
    """The ciphertexts of a file by name, in the order in which they were saved.

    evaluator  whose keys their operators use
    raises     ParameterMismatchError for a file of other parameters, FormatError for a damaged one
    """
    return files.load(path, parameters, evaluator, Ciphertext)


def ciphertexts_to_bytes(ciphertexts: files.Named[Ciphertext]) -> bytes:
    """The bytes of the file that `save_ciphertexts` writes."""
    return files.to_bytes(ciphertexts, Ciphertext)


def ciphertexts_from_bytes(
    data: bytes, parameters: Parameters, *, evaluator: Evaluator | None = None
) -> dict[str, Ciphertext]:
    """What `ciphertexts_to_bytes` made, as `load_ciphertexts` reads a file."""
    return files.from_bytes(data, parameters, evaluator, Ciphertext)
