"""Write what type checkers and editors read of the options of `lw.compile`.

    python tools/write_options.py [--check]

The options are recorded in src/latticework/compiler/options/option_records.py. With --check nothing is written; exit
status 1 if the file says something else.
"""

import sys
from pathlib import Path

from latticework.compiler.options.describe import write_keywords

FILE = Path(__file__).resolve().parent.parent / "src/latticework/compiler/options/compile_keywords.py"


if __name__ == "__main__":
    from generated_files import write_or_check

    sys.exit(write_or_check(__doc__, {FILE: lambda _: write_keywords()}))
