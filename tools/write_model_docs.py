"""Write what doors for models of other packages know into docs/models.md.

    python tools/write_model_docs.py [--check]

Between `<!-- table of NAME -->` and `<!-- end -->` the page holds what the tables of the code say. With --check nothing
is written; exit status 1 if the page says something else.
"""

import argparse
import re
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from latticework.functions.function_record import EVERYWHERE, Moved, domain_words
from latticework.functions.table import RECORDS
from latticework.models.converters import Converter
from latticework.models.onnx.operators.table import CONVERTERS as ONNX
from latticework.models.pytorch.operators import CONVERTERS as TORCH
from latticework.models.sklearn.table import FAMILIES, REMEDIES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "models.md"
PART = re.compile(r"(<!-- table of ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def estimators() -> str:
    """Estimators of scikit-learn, by family."""
    rows = ["| family | estimators | methods | |", "|---|---|---|---|"]
    for family, entries in FAMILIES.items():
        for number, entry in enumerate(entries):
            names, methods = (" ".join(f"`{name}`" for name in each) for each in (entry.names, entry.methods))
            rows.append(f"| {family if not number else ''} | {names} | {methods} | {entry.note} |")
    return "\n".join(rows) + "\n"


def refused_estimators() -> str:
    """Estimators that are refused with a reason of their own."""
    by_reason: dict[str, list[str]] = {}
    for name, remedy in REMEDIES.items():
        by_reason.setdefault(remedy.for_models, []).append(f"`{name}`")
    rows = ["| refused | because |", "|---|---|"]
    return "\n".join([*rows, *(f"| {' '.join(names)} | {reason} |" for reason, names in by_reason.items())]) + "\n"


def onnx_operators() -> str:
    """Operators of ONNX files: since which version, and what is not taken."""
    found: dict[str, list[Converter]] = {}
    for converter in ONNX:
        found.setdefault(converter.operator, []).append(converter)
    rows = ["| operator | from version | |", "|---|---|---|"]
    for name in sorted(found, key=lambda name: ("." in name, name.lower())):
        since = ", ".join(str(converter.since) for converter in found[name] if converter.since) or "all"
        notes = dict.fromkeys(converter.note for converter in found[name] if converter.note)
        rows.append(f"| `{name}` | {since} | {'; '.join(notes)} |")
    return "\n".join(rows) + "\n"


def torch_operators() -> str:
    """Operators of PyTorch, those of one meaning in a row, without "aten." and ".default"."""
    rows = ["| operator | note |", "|---|---|"]
    for (_, note), alike in groupby(TORCH, key=lambda converter: (id(converter.meaning), converter.note)):
        names = (converter.operator.removeprefix("aten.").removesuffix(".default") for converter in alike)
        rows.append(f"| {', '.join(f'`{name}`' for name in names)} | {note} |")
    return "\n".join(rows) + "\n"


def functions() -> str:
    """Functions of one number, by door."""
    ends = {Moved.NOWHERE: "where asked", Moved.AFTER: "after decryption", Moved.BEFORE_AND_AFTER: "before and after"}
    rows = ["| | NumPy | PyTorch | ONNX | scikit-learn | of numbers | the owner |", "|---|---|---|---|---|---|---|"]
    for record in RECORDS:
        ours = [f"lw.{record.lw}"] if record.lw else []
        numpy = [f"np.{record.numpy}"] if record.numpy else []
        names = (ours + numpy, record.aten_names, [record.onnx] if record.onnx else [], numpy + record.sklearn.split())
        cells = [" ".join(f"`{name}`" for name in each) for each in names]
        domain = "" if record.domains == EVERYWHERE else domain_words(record.domains, record.closed)
        owner = ends[record.moved] if record.owner_computes else ""
        rows.append(f"| `{record.name}` | {' | '.join(cells)} | {domain} | {owner} |")
    return "\n".join(rows) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "estimators": estimators,
    "refused-estimators": refused_estimators,
    "onnx-operators": onnx_operators,
    "torch-operators": torch_operators,
    "functions": functions,
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
