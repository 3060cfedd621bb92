"""The lists of what is public, as text: one entry a line, its name, two spaces, what it is; sorted by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).parent
ANEW = "python tests/public --write"
Entries = dict[str, str]

_GONE = "is gone or has another name: bring it back, as an alias where its home moved"
_CHANGED = "users rely on what it was: change it back"
_NEW = "is new: make it private, or keep it for good"


def path_of(part: str) -> Path:
    """The file of a list."""
    return HERE / f"{part}.txt"


def read(part: str) -> Entries:
    """The entries as they were written."""
    lines = path_of(part).read_text(encoding="utf-8").splitlines()
    return dict(line.split("  ", 1) for line in lines)


def write(part: str, entries: Mapping[str, str]) -> None:
    """One line an entry."""
    lines = [f"{name}  {entries[name]}\n" for name in order(part, entries)]
    path_of(part).write_text("".join(lines), encoding="utf-8")


def order(part: str, entries: Mapping[str, str]) -> list[str]:
    """Names as they are sorted in a file: opcodes by their numbers."""
    return sorted(entries, key=lambda name: (int(name), "") if part == "opcodes" else (0, name))


def differences(part: str, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Lines that name each entry that differs, and say what to do."""
    for name in order(part, {**was, **now}):
        if name not in now:
            yield f"{name} ({was[name]}) {_GONE}"
        elif name not in was:
            yield f"{name} ({now[name]}) {_NEW}"
        elif was[name] != now[name]:
            yield f"{name} was {was[name]}, is {now[name]}; {_CHANGED}"


def faults_of_opcodes(was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Differences that no plan in a file would survive: numbers are appended, and never another opcode's."""
    kept = {name: what for name, what in now.items() if name in was}
    yield from differences("opcodes", was, kept)
    after = max(map(int, was), default=-1)
    for name in order("opcodes", now):
        if name not in was and int(name) <= after:
            yield f"{name} ({now[name]}) is new among numbers that are taken: append it to cpp/exec/opcodes.def"


def check(part: str, collect: Callable[[], Entries]) -> None:
    """AssertionError that names every entry that differs from the file of the list."""
    was, now = read(part), collect()
    faults = list(faults_of_opcodes(was, now) if part == "opcodes" else differences(part, was, now))
    if faults:
        shown = "\n ".join(faults[:40]) + (f"\n and {len(faults) - 40} more" if len(faults) > 40 else "")
        raise AssertionError(
            f"what users rely on is not what {path_of(part).name} lists:\n {shown}\n"
            f"If the public side is meant to change: `{ANEW}`, in the same commit, with a line in CHANGELOG.md"
        )
