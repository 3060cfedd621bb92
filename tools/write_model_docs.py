"""Write what doors for models of other packages know into docs/what-can-i-run.md.

    python tools/write_model_docs.py [--check]

Between `<!-- table of NAME -->` and `<!-- end -->` the page holds what the tables of the code say. With --check nothing
is written; exit status 1 if the page says something else.
"""

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from latticework.functions.function_record import EVERYWHERE, Moved, domain_words
from latticework.functions.table import RECORDS
from latticework.models.average_pooling import PRICE
from latticework.models.converters import Converter
from latticework.models.onnx.operators.table import CONVERTERS as ONNX
from latticework.models.pytorch.operators import CONVERTERS as TORCH
from latticework.models.sklearn.table import FAMILIES, REMEDIES

POOLS = "as [max-pools](pytorch.md)"  # whose price the page states once
PAGE = Path(__file__).resolve().parent.parent / "docs" / "what-can-i-run.md"
PART = re.compile(r"(<!-- table of ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def estimators() -> str:
    """Estimators of scikit-learn by family, with their methods and limits."""
    lines = []
    for family, entries in FAMILIES.items():
        names_by: dict[tuple[str, str], list[str]] = {}
        for entry in entries:
            methods = "" if entry.note.startswith("the methods of") else quoted(entry.methods)
            names_by.setdefault((methods, entry.note), []).extend(entry.names)
        lines.append(f"\n{family[0].upper()}{family[1:]}:\n")
        for described, names in names_by.items():
            lines.append(f"- {quoted(names)}: {'; '.join(filter(None, described))}")
    return "\n".join(lines) + "\n\n"


def refused_estimators() -> str:
    """Estimators that are refused with a reason of their own."""
    by_reason: dict[str, list[str]] = {}
    for name, remedy in REMEDIES.items():
        by_reason.setdefault(remedy.for_models, []).append(name)
    return "\n" + "\n".join(f"- {quoted(names)}: {reason}" for reason, names in by_reason.items()) + "\n\n"


def onnx_operators() -> str:
    """Operators of ONNX files by their limits, each with the first version that is read, unless it is all."""
    converters: dict[str, list[Converter]] = {}
    for converter in ONNX:
        converters.setdefault(converter.operator, []).append(converter)
    by_limits: dict[str, list[str]] = {}
    listed = {record.onnx for record in RECORDS}
    for name in sorted(converters, key=lambda name: ("." in name, name.lower())):
        since = ", ".join(str(converter.since) for converter in converters[name] if converter.since)
        notes = dict.fromkeys(converter.note.replace(PRICE, POOLS) for converter in converters[name] if converter.note)
        if name not in listed or notes:
            by_limits.setdefault("; ".join(notes), []).append(f"`{name}` {since}".rstrip())
    lines = (f"- {limits or 'without limits'}: {'; '.join(names)}" for limits, names in by_limits.items())
    return "\n" + "\n".join(lines) + "\n\n"


def quoted(names: Iterable[str]) -> str:
    """The names as code, one after the other."""
    return " ".join(f"`{name}`" for name in names)


def torch_operators() -> str:
    """Operators of PyTorch by their limits, but for functions of one number, without "aten." and ".default"."""
    by_limits: dict[str, list[str]] = {}
    listed = {f"aten.{name}.default" for record in RECORDS for name in record.aten_names}
    for converter in TORCH:
        if converter.operator in listed and not converter.note:
            continue
        name = converter.operator.removeprefix("aten.").removesuffix(".default")
        by_limits.setdefault(converter.note.replace(PRICE, POOLS), []).append(f"`{name}`")
    lines = (f"- {limits or 'without limits'}: {', '.join(names)}" for limits, names in by_limits.items())
    return "\n" + "\n".join(lines) + "\n\n"


def functions() -> str:
    """Functions of one number: of which numbers, where the owner computes them, and their names in each package."""
    ends = {Moved.NOWHERE: "owner", Moved.AFTER: "owner:last", Moved.BEFORE_AND_AFTER: "owner:both"}
    lines = []
    for record in RECORDS:
        numpy = (f"lw.{record.lw}" if record.lw else "", f"np.{record.numpy}" if record.numpy else "")
        aten = [f"aten.{'|'.join(record.aten_names)}"] if record.aten_names else []
        names = (*numpy, *aten, f"onnx.{record.onnx}" if record.onnx else "", *record.sklearn.split())
        limits = (
            "" if record.domains == EVERYWHERE else domain_words(record.domains, record.closed),
            ends[record.moved] if record.owner_computes else "",
        )
        said = f" ({', '.join(filter(None, limits))})" if any(limits) else ""
        if any(names):
            lines.append(f"- `{record.name}`{said}: {', '.join(dict.fromkeys(filter(None, names)))}")
    return "\n" + "\n".join(lines) + "\n\n"


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


if __name__ == "__main__":
    from generated_files import write_or_check

    sys.exit(write_or_check(__doc__, {PAGE: written}))
