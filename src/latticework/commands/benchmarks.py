"""Finds the benchmarks: their sources lie in bench/ of the source tree and are not installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from latticework.errors import UserError

ROOT = Path(__file__).resolve().parents[3]
PLACE = "https://pypi.org/project/latticework/#files"


def suites(root: Path = ROOT) -> Any:
    """The module `bench.suites` of the source tree.

    raises  UserError if the package was installed without the source tree
    """
    if not (root / "bench" / "suites.py").is_file():
        raise UserError(
            f"the benchmarks are not part of an installed package, and {root / 'bench'} is not there; unpack the "
            f"source distribution ({PLACE}) or clone the repository, run `make setup` in it and use the "
            "`latticework` command of its .venv"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module("bench.suites")
