"""The command line of tools that write parts of files from tables: they write, or say whether there is anything new."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def write_or_check(description: str | None, files: Mapping[Path, Callable[[str], str]]) -> int:
    """Write each file as its function makes it of what it holds; with --check compare, and write nothing.

    returns  the exit status: 1 if a file is out of date and was not written
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    is_check = parser.parse_args().check
    old = {path: path.read_text() if path.exists() else "" for path in files}
    new = {path: written(old[path]) for path, written in files.items()}
    changed = [path for path in files if new[path] != old[path]]
    if is_check:
        names = ", ".join(path.name for path in changed)
        print(f"{names} out of date: python {' '.join(sys.argv[:1])}" if changed else "up to date")
        return int(bool(changed))
    for path in changed:
        path.write_text(new[path])
    return 0
