"""Bring the C++ extension of an editable installation up to date, before a process loads it.

Every environment that has the tree installed editable builds in a folder of its own below build/ (build_backend.py).
In it lies what the extension was built from: path, time and size of each source. Where those are the same, an import
only reads them: it starts no program, takes no lock and writes nothing. Where they differ, the process that imports
compiles, alone; others that need the new extension meanwhile wait for SECONDS_TO_WAIT, and then say who compiles.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS_TO_WAIT = 3.0
SITE = "site"  # below the build folder: where the extension is installed to
_BUILT_FROM = "built-from"
_LOCK = "editable_rebuild.lock"
_FROM_CACHE = {  # entry of CMakeCache.txt -> what it names
    "CMAKE_MAKE_PROGRAM": "the build tool",
    "nanobind_DIR": "nanobind",
    "CMAKE_CXX_COMPILER": "the C++ compiler",
}


def bring_up_to_date(tree: Path, build: Path) -> None:
    """Compile and install the extension if a source is not what it was built from.

    raises  ImportError where that cannot be done: the folder is gone or another user's, another process compiles, a
            tool is missing, or a source does not compile
    """
    if not differences(tree, build):
        return
    what = f"latticework is installed editable from {tree}"
    if not (build / "CMakeCache.txt").is_file():
        raise ImportError(f"{what}, but {build}, where its C++ extension was built, is gone. {_anew(tree)}")
    what += f", and its C++ extension has to be compiled in {build}"
    try:
        with locked(build):
            changed = differences(tree, build)
            if changed:
                _rebuild(tree, build, changed, f"{what}, for {_listed(changed)}")
    except Held as error:
        raise ImportError(f"{what}, but {error} holds {build / _LOCK}. Import it again when that is done") from None
    except PermissionError as error:
        raise ImportError(
            f"{what}, but that cannot be written by this user ({error}). Use a copy of the tree of your own, or "
            f"install it without --editable into an environment of your own: pip install {tree}"
        ) from None


def sources(tree: Path) -> str:
    """What a build reads of the tree: a line for each file, with time in ns, size in bytes and path, in order."""
    found = [tree / "CMakeLists.txt", *(tree / "cuda").glob("*.*")]
    for folder, _, names in os.walk(tree / "cpp"):
        found += (Path(folder, name) for name in names)
    lines = []
    for path in found:
        with contextlib.suppress(FileNotFoundError):  # an editor's file that is gone again
            stat = path.stat()
            lines.append(f"{stat.st_mtime_ns} {stat.st_size} {path.relative_to(tree).as_posix()}\n")
    return "".join(sorted(lines))


def differences(tree: Path, build: Path) -> list[str]:
    """The sources that are not what the extension was built from, and the extension itself if it is not there."""
    try:
        before = (build / _BUILT_FROM).read_text()
    except FileNotFoundError:
        return ["a build that was not finished"]
    if not any((build / SITE / "latticework").glob("_core*")):
        return ["an extension that is not there"]
    now = sources(tree)
    if now == before:
        return []
    changed = set(now.splitlines()) ^ set(before.splitlines())
    return sorted({line.split(" ", 2)[2] for line in changed})


@contextlib.contextmanager
def recorded(tree: Path, build: Path) -> Iterator[None]:
    """While this lasts the extension is built; afterwards it counts as built from what was there at the start."""
    (build / _BUILT_FROM).unlink(missing_ok=True)
    now = sources(tree)
    yield
    (build / _BUILT_FROM).write_text(now)


class Held(Exception):
    """Another process compiles; the message says which."""


@contextlib.contextmanager
def locked(build: Path) -> Iterator[None]:
    """Nobody else compiles in the folder while this lasts.

    raises  Held after SECONDS_TO_WAIT; PermissionError
    """
    handle = os.open(build / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        end = time.monotonic() + SECONDS_TO_WAIT
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise Held(_holder(os.fstat(handle))) from None
                time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _holder(lock: os.stat_result) -> str:
    """The process that has a file locked, as far as the system tells."""
    key = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if "->" not in words and key in words:
                pid = words[words.index(key) - 1]
                command = " ".join(Path("/proc", pid, "cmdline").read_text().replace("\0", " ").split())
                return f"process {pid} ({command[:80]})"
    return "another process"


def _rebuild(tree: Path, build: Path, changed: list[str], what: str) -> None:
    cmake = _checked_tools(tree, build, what)
    print(f"latticework: compiling its extension for {_listed(changed)}", file=sys.stderr, flush=True)
    compile_ = [cmake, "--build", str(build), *(["--clean-first"] if _looks_built(tree, build, changed) else [])]
    install = [cmake, "--install", str(build), "--prefix", str(build / SITE)]
    with recorded(tree, build):
        for command in (compile_, install):
            done = _run(command)
            if done.returncode:
                print(done.stdout, file=sys.stderr)
                raise ImportError(
                    f"{what}; cmake {command[1]} failed with status {done.returncode}, for what is printed above. Mend "
                    f"it, or install the tree anew: {tree}/tools/setup"
                )


def _looks_built(tree: Path, build: Path, changed: list[str]) -> bool:
    """Whether a source changed to one that is older than the last build, such as a copy that keeps its time.

    Build tools compare times alone and would leave such a source out.
    """
    try:
        built = (build / _BUILT_FROM).stat().st_mtime_ns
    except FileNotFoundError:
        return False
    found = [tree / name for name in changed]
    return any(path.is_file() and path.stat().st_mtime_ns < built for path in found)


def _checked_tools(tree: Path, build: Path, what: str) -> str:
    """CMake, once it and what it was configured with are known to be there and to run."""
    cmake, beside = shutil.which("cmake"), Path(sys.prefix, "bin")
    if cmake is None:
        remedy = f"put the tools of this environment first, PATH={beside}:$PATH" if (beside / "cmake").exists() else ""
        raise ImportError(f"{what}, but cmake is not in PATH: {remedy or 'install it, such as with pip install cmake'}")
    if fault := _fault([cmake, "--version"]):
        raise ImportError(f"{what}, but cmake at {cmake} does not run: {fault}. Put one first in PATH that does")
    cache = _cache(build)
    for entry, tool in _FROM_CACHE.items():
        if not Path(cache.get(entry, "")).exists():
            raise ImportError(f"{what}, but {tool} it was built with, {cache.get(entry)}, is gone. {_anew(tree)}")
    compiler = cache["CMAKE_CXX_COMPILER"]
    with tempfile.TemporaryDirectory(prefix="latticework-") as folder:
        if fault := _fault([compiler, "-x", "c++", "-c", os.devnull, "-o", f"{folder}/none.o"]):
            raise ImportError(f"{what}, but the C++ compiler {compiler} does not run: {fault}")
    return cmake


def _fault(command: list[str]) -> str | None:
    """What a command that fails says: its first line with an error, or the last; None if it does not fail."""
    try:
        done = _run(command)
    except OSError as error:
        return str(error)
    if not done.returncode:
        return None
    lines = done.stdout.strip().splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else f"status {done.returncode}")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", check=False,
    )  # fmt: skip


def _cache(build: Path) -> dict[str, str]:
    """The entries of CMakeCache.txt."""
    entries = (line.partition("=") for line in (build / "CMakeCache.txt").read_text(errors="replace").splitlines())
    return {name.partition(":")[0]: value for name, _, value in entries if not name.startswith(("#", "//"))}


def _listed(changed: list[str]) -> str:
    return ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")


def _anew(tree: Path) -> str:
    return (
        f"Install the tree anew: {tree}/tools/setup, or with the packages of build-system.requires, cmake and ninja in "
        f"this environment pip install --no-build-isolation --editable {tree}"
    )
