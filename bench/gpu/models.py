"""Models of the zoo on a GPU: compiled and saved where their packages are, run encrypted where the GPU is.

python -m bench.gpu.models save FOLDER --only icalabel,minilm-search [--digits FILE]
python -m bench.gpu.models run FOLDER [--only ...] --device cuda --output models.json
"""

from __future__ import annotations

from bench.gpu.bare import stand_in

stand_in()

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from statistics import median  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

import latticework as lw  # noqa: E402
from bench.gpu.part import line, write  # noqa: E402
from bench.reports import Row, report  # noqa: E402
from bench.xehe.parts import conditions  # noqa: E402
from bench.xehe.place import COUNTED, DEVICES, HOST, Place  # noqa: E402

SAVED_ROWS = 4
WORST = 1 / 4  # of the largest output, that a row may be off: polynomials stand for functions
PLAN, DATA = ".lwplan", ".npz"


def save(name: str, folder: Path, digits: Path | None) -> None:
    """Compile a model of the zoo; keep its plan, rows that it has not seen, and what it says of them itself."""
    from bench.zoo.cases import ENTRIES
    from bench.zoo.measure import as_input

    entry = ENTRIES[name]
    found = entry.made(entry.prepare(digits) if entry.of_digits else entry.prepare())
    model = lw.compile(found.program, calibrate=found.calibrate, **found.options)
    inputs = found.rows if isinstance(found.rows, tuple) else (found.rows,)
    kept: dict[str, Any] = {}
    for row in range(min(SAVED_ROWS, len(inputs[0]))):
        values = [as_input(model, place, each[row]) for place, each in enumerate(inputs)]
        kept |= {f"{row}.{place}": value for place, value in enumerate(values)}
        kept[f"{row}.expected"] = numbers(found.program(*values))
    model.save(folder / f"{name}{PLAN}")
    np.savez_compressed(folder / f"{name}{DATA}", **kept)


def numbers(outputs: Any) -> Any:
    """All values of a program's outputs in one array."""
    each = outputs.values() if isinstance(outputs, dict) else outputs if isinstance(outputs, tuple) else (outputs,)
    return np.concatenate([np.ravel(np.asarray(value, float)) for value in each])


def rows_of(place: Place, folder: Path, name: str, memory: str | None, host: bool) -> Iterator[Row]:
    """How long a saved model takes on the device, and how far it is from itself; on the host too, if asked."""
    model, data = lw.load(folder / f"{name}{PLAN}"), np.load(folder / f"{name}{DATA}")
    client, started = model.client(), time.perf_counter()
    keys = client.keygen().public()
    made = time.perf_counter() - started
    server = model.server(keys, memory=memory, device=place.device)
    taken, wrong, answers, agreeing = [], [], [], 0
    for row in range(SAVED_ROWS):
        expected = data[f"{row}.expected"]
        values = [data[key] for key in sorted(data.files) if key.startswith(f"{row}.") and key != f"{row}.expected"]
        sent, started = client.encrypt(*values), time.perf_counter()
        answers.append(server(sent))
        answers[-1].to_bytes()
        taken.append(time.perf_counter() - started)
        found = client.decrypt(answers[-1])
        revealed = numbers(tuple(v.reveal() for v in (found if isinstance(found, tuple) else (found,))))
        wrong.append(float(np.max(np.abs(revealed - expected)) / max(np.max(np.abs(expected)), 1e-9)))
        agrees = bool(np.argmax(revealed) == np.argmax(expected))
        agreeing += agrees
        print(f"{name}, row {row}: {taken[-1]:.3f} s, off by {wrong[-1]:.2g} of the largest, same argmax: {agrees}")
    same, seconds = None, None
    if host:
        at_home, started = model.server(keys), 0.0
        for _ in range(2):
            started = time.perf_counter()
            same = at_home(sent).to_bytes() == answers[-1].to_bytes()
            seconds = time.perf_counter() - started
    chain = model.plan.chain
    details = {
        "N": chain.ring_degree, "levels": chain.main.top, "keys made, s": round(made, 2), "largest errors": wrong,
        "the host's bytes": same, "rows": SAVED_ROWS, "of the same argmax": agreeing,
    }  # fmt: skip
    checked, source = same is not False and agreeing == SAVED_ROWS and max(wrong) <= WORST, HOST if host else None
    first, later, note = taken[0], median(taken[1:]), None
    if not place.is_timed:
        first = later = seconds = source = None
        note = COUNTED
    yield Row(f"{name}, first run", "time", "s", first, checked=checked, note=note)
    yield Row(name, "time", "s", later, seconds, source, checked=checked, note=note, details=details)
    yield Row(name, "largest error", "of the largest", max(wrong), checked=checked)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("save", "run"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="names, by commas")
    parser.add_argument("--digits", type=Path)
    parser.add_argument("--device", choices=DEVICES, default="cuda")
    parser.add_argument("--memory", help="budget of the server")
    parser.add_argument("--host", default="", help="names of those that run on the host, too")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    there = sorted(path.stem for path in given.folder.glob(f"*{PLAN}"))
    names = there if given.only is None else given.only.split(",")
    if given.what == "save":
        from bench.zoo.cases import ENTRIES

        if given.only is None or (unknown := [name for name in names if name not in ENTRIES]):
            said = "say which" if given.only is None else f"no model is {', '.join(unknown)}"
            parser.error(f"save: {said}, --only NAMES by commas; there are {', '.join(ENTRIES)}")
        given.folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            save(name, given.folder, given.digits)
        return 0
    if given.output is None:
        parser.error("run: give --output FILE")
    missing = [name for name in names if name not in there]
    if missing or not names:
        parser.error(f"run: no plan{' of ' + ', '.join(missing) if names else ''} in {given.folder}; `save` makes them")
    place, rows = Place.of(given.device), list[Row]()
    for name in names:
        for row in rows_of(place, given.folder, name, given.memory, name in given.host.split(",")):
            rows.append(row)
            write(given.output, report("zoo", rows, conditions(place)))
            print(line(row.content()), flush=True)
    return int(not all(row.checked for row in rows))


if __name__ == "__main__":
    sys.exit(main())
