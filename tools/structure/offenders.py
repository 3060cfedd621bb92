"""What breaks a rule, and the list of those that are known: a new one fails, and a list only ever becomes shorter.

A list is a file of tools/structure/exceptions with one entry a line: a key, and how often or how much where that is
more than 1. Keys name a file without its folders, so that it keeps its exceptions where it moves.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

UPDATE = "python tools/check_structure.py --update"


@dataclass(frozen=True)
class Offender:
    """Something at a place that breaks a rule: its key in the list, what is wrong, and by how much."""

    key: str
    place: str
    message: str
    amount: int = 1


@dataclass(frozen=True)
class Rule:
    """A rule, with what breaks it today."""

    name: str  # of its list
    remedy: str
    offenders: tuple[Offender, ...]

    def amounts(self) -> Counter[str]:
        """How much there is of each key."""
        total: Counter[str] = Counter()
        for offender in self.offenders:
            total[offender.key] += offender.amount
        return total


def read_exceptions(path: Path) -> Counter[str]:
    """The entries of a list; none where there is no file."""
    entries: Counter[str] = Counter()
    for line in path.read_text().splitlines() if path.exists() else []:
        key, _, amount = line.rpartition(" ")
        entries[key if key and amount.isdigit() else line] = int(amount) if key and amount.isdigit() else 1
    return entries


def write_exceptions(path: Path, entries: Counter[str]) -> None:
    """Write a list in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (key if entries[key] == 1 else f"{key} {entries[key]}" for key in sorted(entries) if entries[key])
    path.write_text("".join(f"{line}\n" for line in lines))


def shrink(allowed: Counter[str], today: Counter[str]) -> Counter[str]:
    """A list without what occurs no more. An entry follows a function into another file, or class of its file."""
    kept = allowed & today
    free = allowed - kept
    for key, missing in sorted((today - kept).items()):
        for old in sorted(old for old in free if _is_moved(old, key)):
            amount = min(missing - (kept[key] - (allowed & today)[key]), free[old])
            kept[key] += amount
            free[old] -= amount
    return +kept


def _is_moved(old: str, new: str) -> bool:
    """Whether two keys, `file Class.function`, are of one function in another file, or in another class of its file."""
    (old_file, _, old_name), (file, _, name) = old.partition(" "), new.partition(" ")
    if not old_name or not name or old == new:
        return False
    return name == old_name or (file == old_file and name.rpartition(".")[2] == old_name.rpartition(".")[2])


def violations(rules: Iterable[Rule], folder: Path) -> Iterator[str]:
    """What is new by file and line, and which entries are to go; lists lie in a folder."""
    for rule in rules:
        path = folder / f"{rule.name}.txt"
        allowed, today = read_exceptions(path), rule.amounts()
        kept = shrink(allowed, today)
        new = today - kept
        for offender in rule.offenders:
            if offender.key in new:
                known = f" (known: {kept[offender.key]})" if kept[offender.key] else ""
                yield f"{offender.place}: {offender.message}{known}; {rule.remedy}"
        for key, amount in sorted((allowed - kept).items()):
            yield f"{path.parent.name}/{path.name}: {key} occurs no more, or less by {amount}, or has moved: {UPDATE}"


def update_exceptions(rules: Iterable[Rule], folder: Path) -> None:
    """Take off the lists what occurs no more. A list that is not there yet is begun with all of today."""
    for rule in rules:
        path, today = folder / f"{rule.name}.txt", rule.amounts()
        write_exceptions(path, shrink(read_exceptions(path), today) if path.exists() else today)
