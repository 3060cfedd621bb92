"""Named ciphertexts of one scheme in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from latticework.errors import ShapeError
from latticework.schemes.rlwe.checks import file_bytes, file_path, locate, needs
from latticework.schemes.rlwe.ciphertext import Ciphertext, Operators
from latticework.schemes.rlwe.parameters import Params, need_parameters
from latticework.values.extension import _core

Cipher = TypeVar("Cipher", bound=Ciphertext[Any])
Evaluation = TypeVar("Evaluation", bound=Operators)
Named = Mapping[str, Cipher] | Sequence[Cipher]


class CiphertextFiles(Generic[Params, Cipher, Evaluation]):
    """Writer and reader of files of ciphertexts of one scheme; its methods are functions of the scheme's module."""

    def __init__(self, kind: type[Cipher]) -> None:
        self._kind = kind

    @locate
    def save_ciphertexts(self, path: str | Path, ciphertexts: Named[Cipher]) -> None:
        """Write ciphertexts of one key to a file: a dictionary of names, or a list, whose names are "0", "1", ...

        Fresh ones under the secret key take half the space.
        """
        name = file_path("save_ciphertexts", path, "ciphertexts_to_bytes(ciphertexts) gives bytes")
        names, cores = self._columns("save_ciphertexts", ciphertexts)
        _core.save_ciphertexts(name, cores, names, {})

    @locate
    def load_ciphertexts(
        self, path: str | Path, parameters: Params, *, evaluator: Evaluation | None = None
    ) -> dict[str, Cipher]:
        """The ciphertexts of a file by name, in the order in which they were saved.

        evaluator  whose keys their operators use
        raises     ParameterMismatchError for a file of other parameters, FormatError for a damaged one
        """
        name = file_path("load_ciphertexts", path, "ciphertexts_from_bytes(data, parameters) reads bytes")
        return self._read("load_ciphertexts", name, parameters, evaluator)

    @locate
    def ciphertexts_to_bytes(self, ciphertexts: Named[Cipher]) -> bytes:
        """The bytes of the file that `save_ciphertexts` writes."""
        names, cores = self._columns("ciphertexts_to_bytes", ciphertexts)
        return bytes(_core.save_ciphertexts(None, cores, names, {}))

    @locate
    def ciphertexts_from_bytes(
        self, data: bytes, parameters: Params, *, evaluator: Evaluation | None = None
    ) -> dict[str, Cipher]:
        """The ciphertexts in bytes of `ciphertexts_to_bytes`, as `load_ciphertexts` reads a file."""
        source = file_bytes("ciphertexts_from_bytes", data, "load_ciphertexts(path, parameters) reads a file")
        return self._read("ciphertexts_from_bytes", source, parameters, evaluator)

    def _columns(self, who: str, ciphertexts: Named[Cipher]) -> tuple[list[str], list[_core.Ciphertext]]:
        """Names and cores of ciphertexts that are checked."""
        scheme = self._kind._parameters.scheme
        remedy = f'give a dictionary of {scheme}.Ciphertext, as in {{"x": ciphertext}}, or a list'
        needs(f"{who}: the ciphertexts", ciphertexts, (Mapping, list, tuple), remedy)
        named: dict[str, Cipher] = (
            dict(ciphertexts) if isinstance(ciphertexts, Mapping) else {str(i): c for i, c in enumerate(ciphertexts)}
        )
        if not named:
            raise ShapeError(f"{who}: there is none; give at least one ciphertext")
        for name, ciphertext in named.items():
            needs(f"{who}: a name", name, str, remedy)
            needs(f"{who}: {name!r}", ciphertext, self._kind, f"give a {scheme}.Ciphertext")
        return list(named), [c.download().core for c in named.values()]

    def _read(
        self, who: str, source: str | bytes, parameters: Params, evaluator: Evaluation | None
    ) -> dict[str, Cipher]:
        need_parameters(who, parameters, self._kind._parameters)
        owner = self._kind._owner(who, parameters, evaluator)
        cores, names, _ = _core.load_ciphertexts(source, parameters.context)
        return {name: self._kind(core, parameters, owner) for name, core in zip(names, cores, strict=True)}
