"""Check that object files for one instruction set define no symbol that the linker may share.

    python tools/check_symbols.py [--root DIR] [--build DIR] [--processor NAME]

A template or inline function of a header, compiled once with AVX2 and once without, is one symbol to the linker: the
AVX2 copy may win, and the generic path then dies on a machine without AVX2. So a source named NAME_ISA.cpp has to
define strong or local symbols only. Reads the objects in DIR, by default build/, with nm. Exit status 1 if one is
weak, or if such a source of the processor that was built for has no object.
"""

import argparse
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SETS = {"x86_64": ("avx", "avx2", "avx512", "fma", "sse2", "sse4"), "aarch64": ("neon", "sve")}
ALIASES = {"AMD64": "x86_64", "arm64": "aarch64"}
SOURCE = re.compile(r".*_(?P<set>[a-z0-9]+)\.cpp")
WEAK = re.compile(r"^\S*\s+[WVu]\s+(?P<name>.+)$", re.MULTILINE)


def weak_symbols(path: Path) -> list[str]:
    """The symbols of an object file that are weak or unique, demangled."""
    table = subprocess.run(["nm", "-C", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    return [match["name"] for match in WEAK.finditer(table.stdout)]


def instruction_set(path: Path) -> str | None:
    """The instruction set that a source is named for."""
    match = SOURCE.fullmatch(path.name)
    return match["set"] if match and any(match["set"] in sets for sets in SETS.values()) else None


def violations(root: Path, build: Path, processor: str) -> Iterator[str]:
    """One line for each weak symbol, and for each source for this processor that was not built."""
    for source in sorted(p for p in (root / "cpp").rglob("*.cpp") if instruction_set(p)):
        where = source.relative_to(root).as_posix()
        objects = sorted(p for p in build.rglob(f"{source.name}.o") if p.as_posix().endswith(f"{where}.o"))
        if not objects and instruction_set(source) in SETS.get(processor, ()):
            yield f"{where}:1: no object file in {build}; build first (tools/setup dev)"
        for path in objects:
            for name in weak_symbols(path):
                yield f"{where}:1: {name} is a weak symbol; put it into an anonymous namespace or make it static"


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--processor", default=platform.machine(), help="that was built for, as x86_64 or aarch64")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    processor = ALIASES.get(arguments.processor, arguments.processor)
    found = list(violations(root, (arguments.build or root / "build").resolve(), processor))
    print(*found, f"symbols: {len(found)} violations", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
