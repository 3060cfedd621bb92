"""What pip calls to build latticework: scikit-build-core, which is told where to build.

A wheel is built in a temporary folder, so it touches nothing of the tree, and any number are built at a time. An
editable installation is rebuilt in the tree whenever a C++ source changed, so it has a folder there, one for each
environment: what one of them builds, or with which Python, no other one sees. A tree that its user cannot write is
refused, for its folder must be its user's own.
"""

import base64
import contextlib
import hashlib
import os
import pwd
import sys
import zipfile
from pathlib import Path
from typing import Any

import rebuild_extension
from scikit_build_core import build as scikit
from scikit_build_core.build import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


Settings = dict[str, Any] | None
HOOK = "_latticework_rebuild"
HOOK_SOURCE = '''"""Rebuilds the extension of an editable latticework before it is loaded, if its sources changed."""

import sys


class _BeforeExtension:
    def find_spec(self, name, path=None, target=None):
        if name == "latticework._core":
            from importlib.util import module_from_spec, spec_from_file_location
            from pathlib import Path

            spec = spec_from_file_location("_latticework_rebuild_extension", {tool!r})
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            module.bring_up_to_date(Path({tree!r}), Path({build!r}))
        return None  # found by the finder of scikit-build-core


sys.meta_path.insert(0, _BeforeExtension())
'''


def build_folder(root: Path) -> Path:
    """Where the editable installation of this environment is built: one folder for each environment and Python."""
    environment = Path(sys.prefix)
    key = hashlib.sha256(f"{environment.resolve()}\0{Path(sys.base_prefix).resolve()}".encode()).hexdigest()[:8]
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return root / "build" / f"editable-{environment.name.strip('.')}-{tag}-{key}"


def unwritable(root: Path, build: Path) -> Path | None:
    """The first of the places that an editable build writes to and the user cannot; None if all can be written."""
    above = next(folder for folder in (root / "build", root) if folder.exists())
    places = [above, *(place for place in (build, build / "CMakeCache.txt") if place.exists())]
    return next((place for place in places if not os.access(place, os.W_OK)), None)


def refusal(root: Path, build: Path, place: Path) -> str:
    """Why an editable install of this tree is none of this user's, and what to do instead."""
    return (
        f"latticework: an editable install builds in {build}, but {place} belongs to {owner_of(place)} and "
        f"{user()} cannot write there. Use a copy of your own (cp -r, without build and .venv), or install without "
        f"--editable: pip install {root}"
    )


def owner_of(place: Path) -> str:
    """Whose a file is, by name where it has one."""
    number = place.stat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def user() -> str:
    """Who builds."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def build_editable(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """An editable install, in a tree that its user can write, whose extension follows its sources."""
    root = Path.cwd()
    build, settings = _editable(root, settings)
    build.mkdir(parents=True, exist_ok=True)
    try:
        with rebuild_extension.locked(build), rebuild_extension.recorded(root, build):
            name = scikit.build_editable(folder, settings, metadata)
    except rebuild_extension.Held as error:
        raise SystemExit(f"latticework: {error} builds in {build}. Install again when that is done") from None
    tool = root / "tools" / "rebuild_extension.py"
    hook = HOOK_SOURCE.format(tool=str(tool), tree=str(root), build=str(build))
    add_to_wheel(Path(folder, name), {f"{HOOK}.py": hook, f"{HOOK}.pth": f"import {HOOK}\n"})
    return name


def prepare_metadata_for_build_editable(folder: str, settings: Settings = None) -> str:
    """The metadata of that install."""
    return scikit.prepare_metadata_for_build_editable(folder, _editable(Path.cwd(), settings)[1])


def _editable(root: Path, settings: Settings) -> tuple[Path, dict[str, Any]]:
    """Where to build, and what scikit-build-core is told: to install there too, and to leave rebuilding to us."""
    given = (settings or {}).get("build-dir")
    build = root / given if given else build_folder(root)
    if not given and (place := unwritable(root, build)):
        raise SystemExit(refusal(root, build, place))
    site = str(build / rebuild_extension.SITE)
    ours = {"build-dir": str(build), "editable.rebuild": "false", "editable.rebuild-dir": site}
    return build, {**(settings or {}), **ours}


def add_to_wheel(wheel: Path, files: dict[str, str]) -> None:
    """Put files into a wheel that is there, and into its record."""
    with zipfile.ZipFile(wheel) as archive:
        contents = [(entry, archive.read(entry)) for entry in archive.infolist()]
    lines = "".join(f"{name},sha256={_digest(text.encode())},{len(text.encode())}\n" for name, text in files.items())
    partial = wheel.with_suffix(".partial")
    with contextlib.closing(zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED)) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        for entry, content in contents:
            is_record = entry.filename.endswith(".dist-info/RECORD")
            archive.writestr(entry, content + lines.encode() if is_record else content)
    partial.replace(wheel)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
