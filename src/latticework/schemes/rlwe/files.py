"""Named ciphertexts in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from latticework.errors import ShapeError
from latticework.schemes.rlwe.checks import file_bytes, file_path, locate, needs
from latticework.schemes.rlwe.ciphertext import Ciphertext, Operators
from latticework.schemes.rlwe.parameters import ChainParameters, need_parameters
from latticework.values.extension import _core

Cipher = TypeVar("Cipher", bound=Ciphertext[Any])
Named = Mapping[str, Cipher] | Sequence[Cipher]


@locate
def save(path: Any, ciphertexts: Named[Cipher], kind: type[Cipher]) -> None:
    """Write ciphertexts of one key to a file."""
    name = file_path("save_ciphertexts", path, "ciphertexts_to_bytes(ciphertexts) gives bytes")
    names, cores = _columns("save_ciphertexts", ciphertexts, kind)
    _core.save_ciphertexts(name, cores, names, {})


@locate
def to_bytes(ciphertexts: Named[Cipher], kind: type[Cipher]) -> bytes:
    """The bytes of such a file."""
    names, cores = _columns("ciphertexts_to_bytes", ciphertexts, kind)
    return bytes(_core.save_ciphertexts(None, cores, names, {}))


@locate
def load(path: str | Path, parameters: Any, evaluator: Operators | None, kind: type[Cipher]) -> dict[str, Cipher]:
    """Ciphertexts of a file by name."""
    name = file_path("load_ciphertexts", path, "ciphertexts_from_bytes(data, parameters) reads bytes")
    return _read("load_ciphertexts", name, parameters, evaluator, kind)


@locate
def from_bytes(data: bytes, parameters: Any, evaluator: Operators | None, kind: type[Cipher]) -> dict[str, Cipher]:
    """Ciphertexts of bytes by name."""
    given = file_bytes("ciphertexts_from_bytes", data, "load_ciphertexts(path, parameters) reads a file")
    return _read("ciphertexts_from_bytes", given, parameters, evaluator, kind)


def _columns(who: str, given: Named[Cipher], kind: type[Cipher]) -> tuple[list[str], list[_core.Ciphertext]]:
    scheme = kind._parameters.scheme
    remedy = f'give a dictionary of {scheme}.Ciphertext, as in {{"x": ciphertext}}, or a list'
    needs(f"{who}: the ciphertexts", given, (Mapping, list, tuple), remedy)
    named = dict(given) if isinstance(given, Mapping) else {str(i): c for i, c in enumerate(given)}
    if not named:
        raise ShapeError(f"{who}: there is none; give at least one ciphertext")
    for name, ciphertext in named.items():
        needs(f"{who}: a name", name, str, remedy)
        needs(f"{who}: {name!r}", ciphertext, kind, f"give a {scheme}.Ciphertext")
    return list(named), [c.download().core for c in named.values()]


def _read(
    who: str, source: str | bytes, parameters: Any, evaluator: Operators | None, kind: type[Cipher]
) -> dict[str, Cipher]:
    expected: type[ChainParameters] = kind._parameters
    need_parameters(who, parameters, expected)
    mine = kind._owner(who, parameters, evaluator)
    found, names, _ = _core.load_ciphertexts(source, parameters.context)
    return {name: kind(core, parameters, mine) for name, core in zip(names, found, strict=True)}
