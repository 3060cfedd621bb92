"""Build a wheel for every Python that is here, and run a fast part of the tests with it.

    python tools/test_pythons.py [VERSION...]      such as 3.12 3.13; all supported ones that are found if none is named

Looks in PATH and in pyenv's folder. Each gets a virtual environment in build/pythons, with the newest packages that
pyproject.toml allows rather than those of constraints.txt: what users get. Older Pythons than it asks for are named and
left out. Exit status 1 if a wheel does not build, a test fails, or a version asked for is not
here.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from watch_build import watched

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OLDEST = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
SUPPORTED = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.fullmatch(r".* :: 3\.\d+", c)]
TESTS = [
    "tests/unit/tools/test_public_names.py",
    "tests/unit/frontend/test_frontend_tracing.py",
    "tests/unit/frontend/test_frontend_program.py",
    "tests/unit/frontend/test_frontend_loops.py",
    "tests/unit/frontend/test_frontend_errors.py",
    "tests/unit/frontend/test_circuit_tracing.py",
    "tests/unit/frontend/test_circuit_errors.py",
    "tests/unit/frontend/test_circuit_integers.py",
    "tests/unit/frontend/test_circuit_outputs.py",
    "tests/unit/errors/test_escaping.py",
    "tests/unit/schemes/test_ckks.py",
    "tests/e2e/test_cli.py",
    "tests/e2e/test_runtime.py",
]


def interpreters() -> dict[str, Path]:
    """Version -> an interpreter that runs, the first in PATH, else pyenv's newest."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*map(Path, os.environ["PATH"].split(os.pathsep)), *sorted(pyenv.glob("versions/3.*/bin"), reverse=True)]
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3.*")):
            version = path.name.removeprefix("python")
            if re.fullmatch(r"3\.\d+", version) and version not in found and _runs(path):
                found[version] = path
    return dict(sorted(found.items(), key=lambda item: _number(item[0])))


def _runs(path: Path) -> bool:
    """Whether it is an interpreter that can make environments; shims of pyenv may lead nowhere."""
    done = subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True, check=False)
    return done.returncode == 0


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def refusal(version: str, found: dict[str, Path]) -> str | None:
    """Why a version is not tested; None if it can be."""
    oldest = ".".join(map(str, OLDEST))
    if _number(version) < OLDEST:
        return f"Python {version} is too old: latticework needs {oldest} or newer"
    if version not in found:
        return f"Python {version} is not here: no python{version} in PATH or of pyenv"
    return None


def test(version: str, python: Path) -> bool:
    """Build, install and test; whether all of it went well."""
    folder = ROOT / "build" / "pythons" / version
    shutil.rmtree(folder, ignore_errors=True)
    print(f"Python {version} ({python})", flush=True)
    subprocess.run([python, "-m", "venv", folder], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    packages = ["install", "--quiet", "pytest", "hypothesis", *PROJECT["dependencies"]]
    if watched(f"packages for {version}", [*pip, *packages], sys.stderr):
        return False
    if watched(f"latticework for {version}", [*pip, "install", "-v", "--no-deps", str(ROOT)], sys.stderr):
        return False
    tests = [str(folder / "bin" / "python"), "-m", "pytest", "-m", "not slow", "-p", "no:cacheprovider", *TESTS]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(tests, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    """Test those asked for, or all that are here; tell what was not tested, and why."""
    found = interpreters()
    wanted = sys.argv[1:] or [v for v in found if v in SUPPORTED or _number(v) < OLDEST]
    results = {version: refusal(version, found) for version in wanted}
    for version in [v for v, fault in results.items() if fault is None]:
        if not test(version, found[version]):
            results[version] = f"Python {version} FAILED"
    for version, fault in results.items():
        print(fault or f"Python {version} passed")
    failed = [fault for version, fault in results.items() if fault and (sys.argv[1:] or _number(version) >= OLDEST)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
