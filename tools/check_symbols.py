"""Check that object files for one instruction set define no symbol that the linker may share.

    python tools/check_symbols.py [--root DIR] [--build DIR]

A template or inline function of a header, compiled once with AVX2 and once without, is one symbol to the linker: the
AVX2 copy may win, and the generic path then dies on a machine without AVX2. So a source named NAME_ISA.cpp has to
define strong or local symbols only. Reads the objects in DIR, by default build/, with nm. Exit status 1 if one is
weak, or if such a source has no object.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = re.compile(r".*_(avx|avx2|avx512|fma|sse2|sse4|neon|sve)\.cpp")
WEAK = re.compile(r"^\S*\s+[WVu]\s+(?P<name>.+)$", re.MULTILINE)


def weak_symbols(path: Path) -> list[str]:
    """The symbols of an object file that are weak or unique, demangled."""
    table = subprocess.run(["nm", "-C", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    return [match["name"] for match in WEAK.finditer(table.stdout)]


def violations(root: Path, build: Path) -> Iterator[str]:
    """One line for each weak symbol, and for each source that was not built."""
    for source in sorted(p for p in (root / "cpp").rglob("*.cpp") if SOURCE.fullmatch(p.name)):
        where = source.relative_to(root).as_posix()
        objects = sorted(p for p in build.rglob(f"{source.name}.o") if p.as_posix().endswith(f"{where}.o"))
        if not objects:
            yield f"{where}:1: no object file in {build}; build first (tools/setup dev)"
        for path in objects:
            for name in weak_symbols(path):
                yield f"{where}:1: {name} is a weak symbol; put it into an anonymous namespace or make it static"


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    found = list(violations(root, (arguments.build or root / "build").resolve()))
    print(*found, f"symbols: {len(found)} violations", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
