"""Build the source distribution and the wheels of the commit that is checked out, and check them.

    python tools/wheels [TARGET...] [--python VERSION...] [--again] [--out DIR]
    python tools/wheels --check WHEEL...

Without names: all targets, each for Python 3.11 (tag cp311) and for 3.12 and newer (cp312-abi3), into dist/. That needs
a Python 3.11 and a newer one here, with their headers (in PATH or of pyenv); compilers and headers of the targets come
with packages, in build/wheels. --again builds each wheel twice, in two folders, and compares the bytes. Exit status 1
if a wheel breaks a rule of wheel_rules.py, or is other bytes the second time.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from test_pythons import interpreters
from wheel_build import (
    BUILDING,
    CHECKING,
    ROOT,
    WORK,
    build_sdist,
    build_wheel,
    compiler_of,
    make_environment,
    map_of,
    uncommitted,
)
from wheel_targets import TARGETS, Target

HERE = Path(__file__).resolve().parent
OWN = "3.11"  # has a wheel of its own
STABLE = ("3.12", "3.13", "3.14")  # the oldest of these that is here makes the one for all newer


def pythons(wanted: list[str]) -> Iterator[Path]:
    """Interpreters of environments to build with; SystemExit names what is missing."""
    found = interpreters()
    newer = next((version for version in STABLE if version in found), STABLE[0])
    for version in wanted or [OWN, newer]:
        if version not in found:
            sys.exit(
                f"wheels: no python{version} in PATH or of pyenv, with venv and ensurepip; wheels are built with "
                f"Python {OWN} and with one of {', '.join(STABLE)}. Install it, or choose with --python"
            )
        yield make_environment(found[version], version)


def check(python: Path, wheels: list[Path]) -> int:
    """Run the rules in an environment that has their packages."""
    return subprocess.run([python, HERE / "wheel_rules.py", *wheels], check=False).returncode


def is_repeated(python: Path, zig: Path, sdist: Path, target: Target, wheel: Path) -> bool:
    """Whether a second build, in another folder, gives the same bytes."""
    with tempfile.TemporaryDirectory(prefix="wheels-again-") as folder:
        kept = map_of(wheel).read_bytes()
        again = build_wheel(python, zig, sdist, target, Path(folder), Path(folder) / "work")
        map_of(wheel).write_bytes(kept)
        same = again.read_bytes() == wheel.read_bytes()
    print(f"{wheel.name}: a second build gives {'the same' if same else 'OTHER'} bytes", flush=True)
    return same


def main() -> int:
    """See the top of this file."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="python tools/wheels", description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(names)}; all if none is named")
    parser.add_argument("--python", nargs="+", default=[], metavar="VERSION", help="instead of 3.11 and a newer one")
    parser.add_argument("--again", action="store_true", help="build each wheel twice and compare")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--check", nargs="+", type=Path, metavar="WHEEL", help="build nothing, check these")
    asked = parser.parse_args()
    if unknown := set(asked.targets) - set(names):
        parser.error(f"unknown target {', '.join(sorted(unknown))}; choose of {', '.join(names)}")
    WORK.mkdir(parents=True, exist_ok=True)
    tools = make_environment(Path(sys.executable), "tools", BUILDING + CHECKING)
    if asked.check:
        return check(tools, asked.check)
    if left_out := uncommitted():
        print(f"wheels: {len(left_out)} changed files are not committed, and left out", file=sys.stderr)
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    builders, zig = list(pythons(asked.python)), compiler_of(tools)
    sdist = build_sdist(tools, out)
    print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB", flush=True)
    wheels, repeated = [], True
    for target in (t for t in TARGETS if t.name in (asked.targets or names)):
        for python in builders:
            start = time.monotonic()
            wheel = build_wheel(python, zig, sdist, target, out)
            size, seconds = wheel.stat().st_size / 1e6, time.monotonic() - start
            print(f"{wheel.name}: {size:.2f} MB after {seconds:.0f} s", flush=True)
            wheels.append(wheel)
            repeated &= not asked.again or is_repeated(python, zig, sdist, target, wheel)
    return max(check(tools, wheels), int(not repeated))


if __name__ == "__main__":
    sys.exit(main())
