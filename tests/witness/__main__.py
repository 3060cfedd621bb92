"""Write the witness anew, write out what it pins, or repeat on one machine what another one ran.

make witness                                     where plans are meant to change: both files, of all cases
python tests/witness --dump DIR [--slow] [CASE ...]  files and listings, to be compared with those of another commit
python tests/witness --store DIR [--slow] [CASE ...] plans, keys and encrypted inputs of all runs, and hashes of outputs
python tests/witness --check DIR [CASE ...]          run what was stored, also elsewhere: the outputs must be the same
"""

import argparse
import sys
from pathlib import Path

import process
import record
from stored import differences, read_runs

from latticework.runtime.devices import device


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser(prog="python tests/witness", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write witness.json and witness_slow.json anew")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write plans, listings and ciphertexts to a folder")
    parser.add_argument("--store", type=Path, metavar="DIR", help="write what all runs are given to a new folder")
    parser.add_argument("--check", type=Path, metavar="DIR", help="repeat the runs of such a folder")
    parser.add_argument("--slow", action="store_true", help="of the slow cases")
    parser.add_argument("--threads", type=int, default=1, help="of --check")
    parser.add_argument("--backend", default="auto", help="of --check")
    parser.add_argument("cases", nargs="*", help="all if none is named")
    asked = parser.parse_args()
    if sum(map(bool, (asked.write, asked.dump, asked.store, asked.check))) != 1:
        parser.error("give one of --write, --dump DIR, --store DIR and --check DIR")
    slow = ["--slow"] if asked.slow else []
    if asked.dump is not None:
        asked.dump.mkdir(parents=True, exist_ok=True)
        process.run("--dump", str(asked.dump.resolve()), *slow, *asked.cases)
    elif asked.store is not None:
        asked.store.mkdir(parents=True)
        made = process.run("--store", str(asked.store.resolve()), *slow, *asked.cases)
        pinned = record.read(record.SLOW if asked.slow else record.QUICK)["cases"]
        whole = {} if asked.cases else made  # some outputs depend on the cases that a process ran before
        other = [name for name, case in whole.items() if case["outputs"] != pinned[name]["outputs"]]
        print(f"{asked.store}: {count_runs(asked.store)}", *(f"{name}: not what is pinned" for name in other), sep="\n")
    elif asked.check is not None:
        device.HOST = asked.backend
        folders = sorted(asked.check / name for name in asked.cases) if asked.cases else sorted(asked.check.iterdir())
        found = [line for folder in folders for line in differences(folder, asked.threads)]
        print(*found, f"{asked.check}: {count_runs(asked.check)}, {len(found)} outputs are others", sep="\n")
        sys.exit(1 if found else 0)
    else:
        write_anew()


def count_runs(folder: Path) -> str:
    """What is stored in a folder, in words."""
    runs = [len(read_runs(case)) for case in folder.iterdir()]
    return f"{sum(runs)} runs of {sum(map(bool, runs))} cases"


def write_anew() -> None:
    """Pin what all cases give now, and say which changed."""
    for path, options in ((record.QUICK, []), (record.SLOW, ["--slow"])):
        before = record.read(path)["cases"] if path.exists() else {}
        cases = dict(sorted(process.run(*options).items()))
        record.write(path, process.versions(), cases)
        changed = [name for name, made in cases.items() if list(record.differences("", before.get(name), made))]
        gone = [name for name in before if name not in cases]
        print(f"{path.name}: {len(cases)} cases, of which {len(changed)} changed; {len(gone)} gone", *changed, *gone)


if __name__ == "__main__":
    main()
