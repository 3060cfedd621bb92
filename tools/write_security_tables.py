"""Write the limits of moduli that the core checks keys by into SECURITY.md.

    python tools/write_security_tables.py [--check]

Between `<!-- limits -->` and `<!-- end -->` the page holds what `cpp/rlwe/security.hpp` says, read from the core. With
--check nothing is written; exit status 1 if the page says something else.
"""

import re
import sys
from pathlib import Path

from latticework import _core

PAGE = Path(__file__).resolve().parent.parent / "SECURITY.md"
PART = re.compile(r"(<!-- limits -->\n)(.*?)(<!-- end -->)", re.DOTALL)
LEVELS = (128, 192, 256)
SECRETS = {"ternary": ("ternary", 0), "gaussian": ("gaussian", 0), "weight 32": ("ternary", 32)}
LARGEST = 20  # log2 of the ring degrees looked at


def limits() -> str:
    """A row for each ring degree: the largest log2 of a modulus, by secret, for each number of security bits."""
    heads = [f"{name}, {bits}" for name in SECRETS for bits in LEVELS]
    rows = []
    for log_degree in range(1, LARGEST):
        found = [
            _core.max_log2_modulus_of(*secret, 1 << log_degree, bits) for secret in SECRETS.values() for bits in LEVELS
        ]
        if any(found):
            rows.append([f"2^{log_degree}", *("" if limit is None else str(limit) for limit in found)])
    used = [place for place in range(len(heads) + 1) if any(row[place] for row in rows)]
    table = [["N", *heads], ["---"] * (len(heads) + 1), *rows]
    return "\n" + "\n".join(f"| {' | '.join(row[place] for place in used)} |" for row in table) + "\n\n"


def written(page: str) -> str:
    """The page with its table as it should be."""
    return PART.sub(lambda found: found[1] + limits() + found[3], page)


if __name__ == "__main__":
    from generated_files import write_or_check

    sys.exit(write_or_check(__doc__, {PAGE: written}))
