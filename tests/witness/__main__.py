"""Write the witness anew, or write out what it pins.

make witness                                     where plans are meant to change: both files, of all cases
python tests/witness --dump DIR [--slow] [CASE ...]  files and listings, to be compared with those of another commit
"""

import argparse
from pathlib import Path

import process
import record


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser(prog="python tests/witness", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write witness.json and witness_slow.json anew")
    parser.add_argument("--dump", type=Path, metavar="DIR", help="write plans, listings and ciphertexts to a folder")
    parser.add_argument("--slow", action="store_true", help="of the slow cases")
    parser.add_argument("cases", nargs="*", help="all if none is named")
    asked = parser.parse_args()
    if asked.write == (asked.dump is not None):
        parser.error("give one of --write and --dump DIR")
    if asked.dump is not None:
        asked.dump.mkdir(parents=True, exist_ok=True)
        slow = ["--slow"] if asked.slow else []
        process.run("--dump", str(asked.dump.resolve()), *slow, *asked.cases)
        return
    for path, options in ((record.QUICK, []), (record.SLOW, ["--slow"])):
        before = record.read(path)["cases"] if path.exists() else {}
        cases = dict(sorted(process.run(*options).items()))
        record.write(path, process.versions(), cases)
        changed = [name for name, made in cases.items() if list(record.differences("", before.get(name), made))]
        gone = [name for name in before if name not in cases]
        print(f"{path.name}: {len(cases)} cases, of which {len(changed)} changed; {len(gone)} gone", *changed, *gone)


if __name__ == "__main__":
    main()
