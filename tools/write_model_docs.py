"""Write what doors for models of other packages know into docs/models.md.

    python tools/write_model_docs.py [--check]

Between `<!-- table of NAME -->` and `<!-- end -->` the page holds what the tables of the code say. With --check nothing
is written; exit status 1 if the page says something else.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from latticework.importers.converters import Converter
from latticework.importers.onnx_door.operators.table import CONVERTERS as ONNX
from latticework.importers.pools import PRICE
from latticework.importers.sklearn_door.table import FAMILIES, REASONS

POOLS = "as [max-pools](#pytorch)"  # whose price the page states once
PAGE = Path(__file__).resolve().parent.parent / "docs" / "models.md"
PART = re.compile(r"(<!-- table of ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def estimators() -> str:
    """Estimators of scikit-learn by family, methods and limits."""
    rows = ["| family | estimators | methods | limits |", "|---|---|---|---|"]
    for family, entries in FAMILIES.items():
        names_by: dict[tuple[str, str], list[str]] = {}
        for entry in entries:
            methods = "" if entry.note.startswith("the methods of") else quoted(entry.methods)
            names_by.setdefault((methods, entry.note), []).extend(entry.names)
        for number, ((methods, note), names) in enumerate(names_by.items()):
            rows.append(f"| {family if not number else ''} | {quoted(names)} | {methods} | {note} |")
    return "\n".join(rows) + "\n"


def quoted(names: Iterable[str]) -> str:
    """The names as code, one after the other."""
    return " ".join(f"`{name}`" for name in names)


def refused_estimators() -> str:
    """Estimators that are refused with a reason of their own."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in REASONS.items():
        by_reason.setdefault(reason, []).append(f"`{name}`")
    rows = ["| refused | because |", "|---|---|"]
    return "\n".join([*rows, *(f"| {' '.join(names)} | {reason} |" for reason, names in by_reason.items())]) + "\n"


def onnx_operators() -> str:
    """Operators of ONNX files by their limits, each with the first version that is read, unless it is all."""
    converters: dict[str, list[Converter]] = {}
    for converter in ONNX:
        converters.setdefault(converter.operator, []).append(converter)
    by_limits: dict[str, list[str]] = {}
    for name in sorted(converters, key=lambda name: ("." in name, name.lower())):
        since = ", ".join(str(converter.since) for converter in converters[name] if converter.since)
        limits = "; ".join(
            dict.fromkeys(converter.note.replace(PRICE, POOLS) for converter in converters[name] if converter.note)
        )
        by_limits.setdefault(limits, []).append(f"`{name}` {since}".rstrip())
    rows = ["| limits | operators, with the version from which on they are read |", "|---|---|"]
    rows += [f"| {limits or 'none'} | {'; '.join(names)} |" for limits, names in by_limits.items()]
    return "\n".join(rows) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "estimators": estimators,
    "refused-estimators": refused_estimators,
    "onnx-operators": onnx_operators,
}


def written(page: str) -> str:
    """The page with its tables as they should be."""
    return PART.sub(lambda found: found[1] + TABLES[found[2]]() + found[4], page)


def main() -> int:
    """Write the page, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    page = PAGE.read_text()
    new = written(page)
    if parser.parse_args().check:
        return int(new != page)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
