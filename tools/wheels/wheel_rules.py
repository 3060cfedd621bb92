"""Say what is wrong with wheels: whatever they ask for beyond their names, and instructions beyond the baseline.

    python tools/wheels/wheel_rules.py WHEEL...

Run by tools/wheels, in an environment with pyelftools, capstone and abi3info. Exit status 1 if a wheel breaks a rule.
"""

import base64
import csv
import hashlib
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from abi3info import DATAS, FUNCTIONS
from abi3info.models import Symbol
from wheel_build import map_of
from wheel_elf import Extension, groups_beyond, largest_frame, read_extension, read_pieces
from wheel_targets import DISPATCHED, NEWER_IN_MUSL, Target, target_of

NAME = re.compile(r"latticework-[^-]+-(?P<python>cp3\d+)-(?P<abi>\w+)-(?P<platform>\w+)\.whl")
MOST_BYTES = 4 << 20
MOST_FRAME = 72 << 10  # of the 128 KiB that musl gives a thread, which callers need too
MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}


def faults_of_linking(made: Extension, target: Target) -> Iterator[str]:
    """What the system has to have and the target does not promise."""
    if made.machine != MACHINES[target.processor]:
        yield f"is for {made.machine}, not for {target.processor}"
    for library in sorted(made.needed - target.libraries):
        yield f"needs the library {library}, which {target.platform} does not promise"
    for library, names in sorted(made.versions.items()):
        for name in sorted(names):
            if not _is_old_enough(name, target.newest):
                yield f"needs {name} of {library}; {target.platform} promises {_text(target.newest)}"
    if not target.newest:
        for name in sorted(made.imports & NEWER_IN_MUSL.keys()):
            yield f"calls {name}, which musl has only since {NEWER_IN_MUSL[name]}"
    if target.symbols and (missing := {"exp", "memcpy"} - made.imports):
        yield f"has {', '.join(sorted(missing))} of its own, slower and of other last bits than that of the C library"
    if made.paths:
        yield f"looks for libraries in {', '.join(made.paths)}"
    if made.has_executable_stack:
        yield "wants a stack that can be executed"
    if others := sorted(name for name in made.exports if not name.startswith("PyInit_")):
        yield f"shows {len(others)} names to other libraries, {others[0]} among them"


def faults_of_stable_abi(made: Extension, minor: int) -> Iterator[str]:
    """Symbols of Python that are not in the stable ABI of 3.`minor`."""
    for name in sorted(n for n in made.imports if re.match(r"_?Py[A-Z_]", n)):
        known = FUNCTIONS.get(Symbol(name)) or DATAS.get(Symbol(name))
        if known is None:
            yield f"uses {name}, which is not in Python's stable ABI"
        elif (known.added.major, known.added.minor) > (3, minor):
            yield f"uses {name}, which is in the stable ABI since {known.added} only"


def faults_of_code(extension: Path, link_map: str, machine: str) -> Iterator[str]:
    """Instructions beyond the baseline, where no choice at run time guards them, and functions that fill the stack."""
    found: dict[tuple[str, str], str] = {}
    for piece in read_pieces(extension, link_map):
        if (frame := largest_frame(piece, machine)) > MOST_FRAME:
            yield f"{piece.source} has a function that takes {frame} bytes of stack, more than {MOST_FRAME}"
        allowed = next(
            (sets for end, sets in DISPATCHED.items() if piece.source.endswith(f"{end}.o")), frozenset[str]()
        )
        for group, instruction in groups_beyond(piece, machine, allowed).items():
            found.setdefault((piece.source, group), instruction)
    for (source, group), instruction in sorted(found.items()):
        yield f"{source} has instructions of {group}, which not every processor has: {instruction}"


def faults_of_contents(wheel: zipfile.ZipFile, suffix: str) -> Iterator[str]:
    """Files that are missing, too many, or other than the record says."""
    (record,) = (name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
    listed = {row[0]: row[1] for row in csv.reader(wheel.read(record).decode().splitlines())}
    if differing := sorted(set(wheel.namelist()) ^ set(listed)):
        yield f"has or lists {differing[0]} without the other"
    for name, digest in listed.items():
        if digest and digest != _digest(wheel.read(name)):
            yield f"has another {name} than its record says"
    libraries = [name for name in wheel.namelist() if re.search(r"\.so\b|\.pyd$|\.dylib$", name)]
    if libraries != [f"latticework/_core{suffix}"]:
        yield f"has the libraries {libraries}, not latticework/_core{suffix} alone"
    for name in wheel.namelist():
        if not re.match(r"latticework(-[^/]+\.dist-info)?/", name) or "__pycache__" in name:
            yield f"has {name}, which is not the package's"


def faults(path: Path) -> Iterator[str]:
    """All that is wrong with a wheel."""
    if (named := NAME.fullmatch(path.name)) is None:
        yield "is not named as a wheel of latticework"
        return
    target = target_of(named["platform"])
    is_stable, number = named["abi"] == "abi3", named["python"].removeprefix("cp")
    suffix = ".abi3.so" if is_stable else f".cpython-{number}-{target.suffix}.so"
    if path.stat().st_size > MOST_BYTES:
        yield f"has {path.stat().st_size} bytes, more than {MOST_BYTES}"
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        yield from faults_of_contents(wheel, suffix)
        name = f"latticework/_core{suffix}"
        if name not in wheel.namelist():
            return
        extension = Path(wheel.extract(name, folder))
        made = read_extension(extension)
        yield from faults_of_linking(made, target)
        if is_stable:
            yield from faults_of_stable_abi(made, int(number[1:]))
        if map_of(path).exists():
            yield from faults_of_code(extension, map_of(path).read_text(), made.machine)
        else:
            yield f"cannot be checked for instructions: there is no {map_of(path)}, which a build leaves"


def _is_old_enough(name: str, newest: tuple[int, ...]) -> bool:
    numbers = re.fullmatch(r"GLIBC_([\d.]+)", name)
    return numbers is not None and tuple(map(int, numbers[1].split("."))) <= newest


def _text(newest: tuple[int, ...]) -> str:
    return f"glibc {'.'.join(map(str, newest))}" if newest else "no glibc"


def _digest(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main() -> int:
    """Print what is wrong; 1 if anything is."""
    found = [f"{path.name} {fault}" for path in map(Path, sys.argv[1:]) for fault in faults(path)]
    print(*found, f"wheels: {len(sys.argv) - 1} checked, {len(found)} faults", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
