"""Where the peers run: one virtual environment each, made when it is first needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANAGED = (  # where version managers keep interpreters, below the home folder
    ".pyenv/versions/{version}*/bin/python",
    ".asdf/installs/python/{version}*/bin/python",
    ".local/share/uv/python/cpython-{version}*/bin/python3",
    ".local/share/mise/installs/python/{version}*/bin/python",
    ".local/share/rtx/installs/python/{version}*/bin/python",
    "miniconda3/envs/*/bin/python{version}",
    "anaconda3/envs/*/bin/python{version}",
    "miniforge3/envs/*/bin/python{version}",
    ".conda/envs/*/bin/python{version}",
)


class Unavailable(Exception):
    """A peer that cannot run here; the message says why and what to do."""


@dataclass(frozen=True)
class Peer:
    """A library to compare with.

    python  interpreter versions that its package works on, preferred first
    """

    name: str
    requirements: tuple[str, ...]
    python: tuple[str, ...]
    module: str
    worker: str


PEERS = (
    Peer("openfhe", ("openfhe==1.6.1.0.22.4", "numpy>=2,<3"), ("3.10",), "openfhe", "openfhe_worker.py"),
    Peer("seal", ("tenseal==0.3.18", "numpy>=2,<3"), ("3.11", "3.12", "3.10"), "tenseal.sealapi", "seal_worker.py"),
)


def find_python(version: str, home: Path | None = None, path: str | None = None) -> Path | None:
    """An interpreter of a version like 3.10 that runs: this one, on PATH, or where version managers keep them."""
    return next((p for p in _candidates(version, home or Path.home(), path) if _version_of(p) == version), None)


def _candidates(version: str, home: Path, path: str | None) -> Iterator[Path]:
    if path is None:
        yield Path(sys.executable)
    for name in (f"python{version}", "python3", "python"):
        if (found := shutil.which(name, path=path)) is not None:
            yield Path(found)
    for pattern in MANAGED:
        # of several patch releases the newest
        found_here = home.glob(pattern.format(version=version))
        yield from sorted(found_here, key=lambda p: (len(str(p)), str(p)), reverse=True)


def _version_of(python: Path) -> str | None:
    """Its version, None if it does not run: a version manager's stand-in may have nothing behind it."""
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    try:
        found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None


def cache_folder() -> Path:
    """Where environments are kept, by the XDG rules."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "latticework" / "peers"


def variables() -> dict[str, str]:
    """Environment variables for a peer's interpreter: those that lead this one to its packages are left out."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def environment(peer: Peer, folder: Path | None = None) -> Path:
    """The interpreter of a peer's virtual environment, which is made if it is not there.

    raises  Unavailable
    """
    folder = (folder or cache_folder()) / "-".join([peer.name, *peer.requirements[0].split("==")[1:]])
    python = folder / "bin" / "python"
    if _imports(python, peer.module):
        return python
    base = next((p for v in peer.python if (p := find_python(v)) is not None), None)
    if base is None:
        wanted = " or ".join(peer.python)
        raise Unavailable(
            f"{peer.requirements[0]} needs Python {wanted}, and none was found on PATH or with pyenv, uv, asdf, mise "
            f"or conda; install one (for instance `uv python install {peer.python[0]}`)"
        )
    _made([str(base), "-m", "venv", "--clear", str(folder)], peer)
    _made([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *peer.requirements], peer)
    if not _imports(python, peer.module):
        raise Unavailable(f"{peer.requirements[0]} was installed for {base}, but {peer.module} cannot be imported")
    return python


def _imports(python: Path, module: str) -> bool:
    if not python.exists():
        return False
    command = [python, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False, env=variables()).returncode == 0


def _made(command: list[str], peer: Peer) -> None:
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=variables())
    if found.returncode != 0:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        raise Unavailable(f"{' '.join(peer.requirements)}: `{' '.join(command[:4])} ...` failed: {last}")
