"""What pip calls to build latticework: scikit-build-core, once it is known where the build can be written.

A source tree may belong to somebody else, or lie where nothing can be written. A wheel is then built in a temporary
folder. An editable install is refused, for its extension would be rebuilt in the tree at every change: its folder must
be its user's own.
"""

import os
import pwd
import sys
import tempfile
from pathlib import Path
from typing import Any

from scikit_build_core import build as scikit
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
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


def unwritable(root: Path) -> Path | None:
    """The first of the places that a build writes to and the user cannot; None if all can be written."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}-*"
    build = root / "build"
    places = [build if build.exists() else root, *build.glob(tag), *build.glob(f"{tag}/CMakeCache.txt")]
    return next((place for place in places if not os.access(place, os.W_OK)), None)


def refusal(root: Path, place: Path) -> str:
    """Why an editable install of this tree is none of this user's, and what to do instead."""
    return (
        f"latticework: an editable install builds in {root / 'build'}, but {place} belongs to {owner_of(place)} and "
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


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """A wheel, built in the tree where that can be written, else in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="latticework-build-") as temporary:
        return scikit.build_wheel(folder, _elsewhere(settings, temporary), metadata)


def prepare_metadata_for_build_wheel(folder: str, settings: Settings = None) -> str:
    """The metadata of that wheel."""
    with tempfile.TemporaryDirectory(prefix="latticework-build-") as temporary:
        return scikit.prepare_metadata_for_build_wheel(folder, _elsewhere(settings, temporary))


def build_editable(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """An editable install, in a tree that its user can write."""
    _check_editable(settings)
    return scikit.build_editable(folder, settings, metadata)


def prepare_metadata_for_build_editable(folder: str, settings: Settings = None) -> str:
    """The metadata of that install."""
    _check_editable(settings)
    return scikit.prepare_metadata_for_build_editable(folder, settings)


def _elsewhere(settings: Settings, temporary: str) -> Settings:
    place = None if "build-dir" in (settings or {}) else unwritable(Path.cwd())
    if place is None:
        return settings
    print(f"latticework: {place} cannot be written; building in {temporary}")
    return {**(settings or {}), "build-dir": temporary}


def _check_editable(settings: Settings) -> None:
    place = None if "build-dir" in (settings or {}) else unwritable(Path.cwd())
    if place is not None:
        raise SystemExit(refusal(Path.cwd(), place))
