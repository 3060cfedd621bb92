"""Write what type checkers and editors read of the options of `lw.compile`.

    python tools/write_options.py [--check]

The options are recorded in src/latticework/compiler/options/option_records.py. With --check nothing is written; exit
status 1 if the file says something else.
"""

import argparse
import sys
from pathlib import Path

from latticework.compiler.options.describe import write_keywords

FILE = Path(__file__).resolve().parent.parent / "src/latticework/compiler/options/compile_keywords.py"


def main() -> int:
    """Write or compare the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    new = write_keywords()
    if parser.parse_args().check:
        is_new = FILE.exists() and FILE.read_text() == new
        print(f"{FILE.name} is {'up to date' if is_new else 'out of date: python tools/write_options.py'}")
        return int(not is_new)
    FILE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
