"""An environment with the wheel of one commit, in a temporary folder: nothing editable, nothing of the working tree.

Packages that latticework needs are those of the interpreter that this runs in; a line in a .pth file names their
folder, whose own .pth files (an editable installation is one) are not read.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commit_of(revision: str) -> tuple[str, str]:
    """The short name of a commit, and its date."""
    shown = _git("show", "-s", "--format=%h %cI", revision).decode().split()
    return shown[0], shown[1]


def build_wheel(revision: str, folder: Path) -> Path:
    """The wheel of a commit, from its files as git has them, with the build tools of this environment."""
    sources = folder / "sources"
    with tarfile.open(fileobj=BytesIO(_git("archive", revision))) as archive:
        archive.extractall(sources, filter="data")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(sources), *options], check=True)
    (wheel,) = folder.glob("latticework-*.whl")
    return wheel


def make_environment(wheel: Path, folder: Path) -> Path:
    """The interpreter of an environment that has this wheel."""
    place = folder / "environment"
    venv.create(place, with_pip=False, symlinks=True)
    packages = next(place.glob("lib/python3*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    others = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *_more_packages()))
    (packages / "others.pth").write_text("".join(f"{path}\n" for path in others))
    return place / "bin" / "python"


def _more_packages() -> list[str]:
    """Folders of packages that this interpreter has from .pth files; never the sources of this tree."""
    return [path for path in sys.path if path.endswith("site-packages")]


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
