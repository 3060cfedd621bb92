"""One part of `run_all.sh`; its file is written anew after every row, so that a part which is ended early counts.

python -m bench.gpu.part ladder --device sim --output ladder.json
python -m bench.gpu.part --table *.json [--output whole.json]
"""

from __future__ import annotations

from bench.gpu.bare import stand_in

stand_in()

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator, Mapping, Sequence  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

from bench.gpu import conformance, sanitizer  # noqa: E402
from bench.reports import Row, report  # noqa: E402
from bench.xehe import networks  # noqa: E402
from bench.xehe.parts import PARTS, Part, conditions  # noqa: E402
from bench.xehe.place import DEVICES, Place  # noqa: E402
from latticework.errors import DeviceError  # noqa: E402

GROUPS: Mapping[str, Sequence[Part]] = {
    "conformance": [conformance.rows],
    "sanitizer": [sanitizer.rows],
    "rates": [PARTS["rates"]],
    "ladder": [PARTS["ladder"]],
    "operations": [PARTS["routines"], PARTS["matrices"], PARTS["operations"]],
    "bootstrap": [PARTS["bootstraps"]],
    "programs": [PARTS["networks"]],
}
OF_PART = ("part", "is complete", "seconds")  # conditions that others have as well
MEASURED = ("rates", "ladder", "operations", "bootstrap", "programs")  # say at which rates


def found(parts: Sequence[Part], place: Place) -> Iterator[Row]:
    """All rows, and one for a part that fails, which does not keep others from being measured."""
    for part in parts:
        try:
            yield from part(place)
        except Exception as error:
            yield Row(part.__module__, "", "", None, note=f"{type(error).__name__}: {error}", required=True)


def write(path: Path, content: dict[str, Any]) -> None:
    """A file, whole at any time."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(json.dumps(content, indent=1) + "\n")
    os.replace(unfinished, path)


def measure(name: str, device: str, output: Path) -> int:
    """A part to its file; 1 if a figure that is required is missing or wrong."""
    place, rows, start = Place.of(device), list[Row](), time.perf_counter()
    said: dict[str, Any] = {"part": name, "is complete": False}
    if name in MEASURED:
        said |= conditions(place)
    for row in found(GROUPS[name], place):
        rows.append(row)
        write(output, report("xehe", rows, said))
        print(line(row.content()), flush=True)
    if name == "programs":
        print(networks.profile(place, output.with_name("trace.json")), flush=True)
    said |= {"is complete": True, "seconds": round(time.perf_counter() - start, 1)}
    write(output, report("xehe", rows, said))
    return int(any(row.required and not row.meets for row in rows))


def line(row: Mapping[str, Any]) -> str:
    """A row for a reader."""
    ours, reference = (
        "-" if row[side] is None else f"{row[side]:g} {row['unit']}".strip() for side in ("ours", "reference")
    )
    target = "" if row["target"] is None else f"{'<=' if row['better'] == 'lower' else '>='} {row['target']:g}"
    meets = {True: "yes", False: "NO", None: ""}[row["meets"]]
    said = row.get("note") or row["source"] or ""
    return f"{row['case']:<62} {row['metric']:<28} {ours:>18} {reference:>18} {target:>8} {meets:<4} {said}"


def table(paths: Sequence[Path]) -> None:
    """The rows of several files."""
    head = dict.fromkeys(("target", "meets", "note"), None) | {"better": "lower", "unit": ""}
    print(
        line(head | {"case": "case", "metric": "metric", "ours": None, "reference": None, "source": "note or source"})
    )
    for path in paths:
        content = json.loads(path.read_text())
        end = "" if content["conditions"]["is complete"] else ": ENDED EARLY"
        print(f"-- {content['conditions']['part']}{end}")
        for row in content["rows"]:
            print(line(row))


def whole(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One report of all parts, under the conditions of those that measure."""
    conditions, summaries = dict[str, Any](), [part["summary"] for part in parts]
    for part in parts:
        conditions |= {name: value for name, value in part["conditions"].items() if name not in OF_PART}
    worst = [found["worst"] for found in summaries if "worst" in found]
    summary = {
        "targets": sum(found["targets"] for found in summaries),
        "met": sum(found["met"] for found in summaries),
        "not met": [name for found in summaries for name in found["not met"]],
    } | ({"worst": min(worst, key=lambda found: found["share of target"])} if worst else {})
    rows = [row for part in parts for row in part["rows"]]
    complete = {"parts": {part["conditions"]["part"]: part["conditions"]["is complete"] for part in parts}}
    return dict(parts[0]) | {"conditions": complete | conditions, "rows": rows, "summary": summary}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", nargs="?", choices=GROUPS)
    parser.add_argument("--device", choices=DEVICES, default="cuda")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--table", type=Path, nargs="*")
    given = parser.parse_args()
    if given.table is not None:
        table(given.table)
        parts = [part for path in given.table if (part := json.loads(path.read_text()))["rows"]]
        if given.output is not None and parts:
            write(given.output, whole(parts))
        return 0
    if given.part is None or given.output is None:
        parser.error("give a part and --output FILE, or --table FILE...")
    try:
        return measure(given.part, given.device, given.output)
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
