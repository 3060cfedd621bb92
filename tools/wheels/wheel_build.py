"""Build a source distribution and wheels from a commit, by the compiler of PyPI's package ziglang.

It brings the headers and stubs of glibc 2.28 and of musl for every processor, so nothing is installed but packages of
Python. The same commit gives the same bytes: times are the commit's, paths are cut from the code, and zips are sorted.
"""

import os
import shutil
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

from wheel_targets import Target

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "wheels"
BUILDING = ("scikit-build-core", "nanobind", "cmake", "ninja")
CHECKING = ("ziglang", "pyelftools", "capstone", "abi3info")  # and the compiler: one environment has these too
HOOK = "import sys; sys.path.insert(0, 'tools'); import build_backend; print(build_backend.{call})"
TOOLCHAIN = """# Compiles for {target.platform} on any machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {target.processor})
set(CMAKE_CXX_COMPILER {zig} c++ -target {target.compiler})
set(CMAKE_CXX_ARCHIVE_CREATE "{zig} ar qcD <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "{zig} ranlib -D <TARGET>")
set(CMAKE_CXX_FLAGS_INIT "-g0 -fno-sanitize=all -include {folder}/symbols.h \\
-ffile-prefix-map={sources}=latticework -ffile-prefix-map={packages}=packages")
# One name leaves an extension; what was linked where is kept, for the check of instructions.
set(CMAKE_CXX_CREATE_SHARED_MODULE "<CMAKE_CXX_COMPILER> <LANGUAGE_COMPILE_FLAGS> <LINK_FLAGS> -shared -o <TARGET> \\
<OBJECTS> <LINK_LIBRARIES> -Wl,--version-script={folder}/exports -Wl,--print-map > <TARGET>.map")
"""
EXPORTS = "{ global: PyInit_*; local: *; };\n"


def make_environment(python: Path, version: str, packages: tuple[str, ...] = BUILDING) -> Path:
    """The interpreter of an environment with these packages, at the versions of constraints.txt."""
    folder = WORK / f"environment-{version}"
    inside = folder / "bin" / "python"
    wanted = "\n".join([str(python), *packages, (ROOT / "constraints.txt").read_text()])
    stamp = folder / "made-of"
    if stamp.exists() and stamp.read_text() == wanted:
        return inside
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    pip: list[Path | str] = [inside, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "-c", ROOT / "constraints.txt", *packages], check=True)
    stamp.write_text(wanted)
    return inside


def compiler_of(python: Path) -> Path:
    """The compiler that an environment has."""
    return Path(_ask(python, "import ziglang, pathlib; print(pathlib.Path(ziglang.__file__).parent / 'zig')"))


def uncommitted() -> list[str]:
    """Changes of the tree that a build leaves out."""
    return _git("status", "--porcelain", "--untracked-files=no").decode().splitlines()


def build_sdist(python: Path, out: Path) -> Path:
    """The source distribution of the commit, from its files as git has them."""
    sources = WORK / "commit"
    _unpack(_git("archive", "HEAD"), sources)
    time = _git("show", "-s", "--format=%ct", "HEAD").decode().strip()
    name = _call_backend(python, sources, f"build_sdist({str(out)!r})", time)
    return out / name


def build_wheel(python: Path, zig: Path, sdist: Path, target: Target, out: Path, work: Path = WORK) -> Path:
    """A wheel of a source distribution for a target, with the headers of this Python; `map_of` says where its map is.

    SystemExit if it does not compile.
    """
    folder = work / target.name
    sources = folder / "latticework"
    _unpack(sdist.read_bytes(), sources, strip=1)
    names = [(version, name) for version, functions in target.symbols for name in functions]
    (folder / "symbols.h").write_text("".join(f'__asm__(".symver {n},{n}@{v}");\n' for v, n in names))
    (folder / "exports").write_text(EXPORTS)
    text = TOOLCHAIN.format(target=target, zig=zig, sources=sources, packages=zig.parents[1], folder=folder)
    (folder / "toolchain.cmake").write_text(text)
    abi = _ask(python, "import sys; print(f'cpython-{sys.version_info[0]}{sys.version_info[1]}')")
    settings = {
        "build-dir": str(folder / "build"),
        "cmake.args": f"-DCMAKE_TOOLCHAIN_FILE={folder}/toolchain.cmake",
        "install.strip": "false",  # linked without symbols already
        "env._PYTHON_HOST_PLATFORM": target.platform,  # in the environment it would hide the tags of Python
        "env.SETUPTOOLS_EXT_SUFFIX": f".{abi}-{target.suffix}.so",
    }
    name = _call_backend(python, sources, f"build_wheel({str(out)!r}, {settings})", _time_of(sdist))
    (linked,) = folder.glob("build/_core*.so.map")
    shutil.move(linked, map_of(out / name))
    return out / name


def map_of(wheel: Path) -> Path:
    """Where the link map of a wheel that was built here is kept."""
    return WORK / "maps" / f"{wheel.name}.map"


def _call_backend(python: Path, sources: Path, call: str, time: str) -> str:
    """What the build backend of a source tree returns; its tools have to be installed, and nothing is fetched."""
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    fixed = {"PATH": path, "SOURCE_DATE_EPOCH": time, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    command: list[Path | str] = [python, "-c", HOOK.format(call=call)]
    (WORK / "maps").mkdir(parents=True, exist_ok=True)
    log = sources.parent / "log"
    with log.open("w") as stream:
        done = subprocess.run(
            command, cwd=sources, env={**os.environ, **fixed}, stdout=stream, stderr=stream, check=False
        )
    lines = log.read_text(errors="replace").splitlines()
    if done.returncode:
        raise SystemExit("\n".join([*lines[-40:], f"wheels: the build failed; all of it is in {log}"]))
    return lines[-1]


def _unpack(archive: bytes, folder: Path, strip: int = 0) -> None:
    """Unpack a tar file into a new folder, without the first `strip` parts of names."""
    shutil.rmtree(folder.parent if strip else folder, ignore_errors=True)
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        members = tar.getmembers()
        for member in members:
            member.name = "/".join(member.name.split("/")[strip:])
        tar.extractall(folder, [m for m in members if m.name], filter="data")


def _time_of(sdist: Path) -> str:
    """Seconds since 1970 of the commit that a source distribution is of: the time of its files."""
    with tarfile.open(sdist) as tar:
        return str(max(int(member.mtime) for member in tar.getmembers()))


def _ask(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout
