"""The key files that commands are given, by -k FILE or -k FOLDER, or find in the folder `keys`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from latticework.errors import FormatError
from latticework.runtime.keys.key_sets import EVALUATION_FILE, PUBLIC_FILE, SECRET_FILE
from latticework.values.extension import _core

if TYPE_CHECKING:
    from latticework.runtime.client.client import Client  # which servers do not load

DEFAULT_FOLDER = Path("keys")
WHAT = {
    SECRET_FILE: "your secret key, which `latticework keygen` wrote",
    PUBLIC_FILE: "the public key, which `latticework keygen` wrote",
    EVALUATION_FILE: "the evaluation keys, which `latticework keygen` wrote at the client (the secret key stays there)",
}


def key_file(given: Path | None, *names: str) -> Path:
    """The file that was given, or the first of `names` that a folder holds.

    raises  FileNotFoundError that says which option takes which file
    """
    place = DEFAULT_FOLDER if given is None else given
    found = place if not place.is_dir() else next((place / n for n in names if (place / n).is_file()), None)
    if found is not None and found.exists():
        return found
    needed = " or ".join(f"{name} ({WHAT[name]})" for name in names)
    if found is None:
        there = ", ".join(sorted(p.name for p in place.iterdir() if p.suffix in (".lwkey", ".lwkeys")))
        seen = f"the folder {place} holds {f'only {there}' if there else 'no keys'}"
    else:
        seen = f"there is no {place} here, and no -k was given" if given is None else f"there is no {place}"
    raise FileNotFoundError(f"{seen}; give with -k the file, or its folder: {needed}")


def key_files(given: Path | None) -> list[Path]:
    """All that -k may mean, which no output of the command may replace: the file, or the key files of the folder."""
    place = DEFAULT_FOLDER if given is None else given
    return [place / name for name in WHAT] if place.is_dir() else [place]


def load_secret_key(owner: Client, given: Path | None, ledger: Path | None) -> None:
    """The key to decrypt with, and where its refusals are counted."""
    owner.load_keys(key_file(given, SECRET_FILE), ledger=ledger)


def load_encryption_key(owner: Client, given: Path | None) -> None:
    """The key to encrypt with: the secret one of a folder that has it, else the public one, or what a file holds."""
    file = key_file(given, SECRET_FILE, PUBLIC_FILE)
    if _is_public_key(file):
        owner.load_public_key(file)
    else:
        owner.load_keys(file)


def _is_public_key(file: Path) -> bool:
    try:
        _core.ContainerReader(str(file), kinds=[_core.FileKind.PUBLIC_KEY])
    except FormatError:
        return False
    return True
