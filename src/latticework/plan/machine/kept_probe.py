"""The quick probe of this machine, kept in the user's cache: a file for each machine and build of the core.

A file that is not there, damaged or of something else is written anew; where none can be written, a process measures
for itself. A file holds a small cost table, and changes nothing but predictions that are shown.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from latticework.errors import FormatError
from latticework.plan.cost import CostTable, parse_table
from latticework.plan.machine.probe import CHAINS, DEGREES, probe_machine
from latticework.plan.machine.processor import name_backend, name_processor
from latticework.values.cores import count_cores
from latticework.values.extension import _core

MOST_BYTES = 1 << 20  # of a file that is read


def cache_folder() -> Path | None:
    """The folder of latticework in the user's cache, by the XDG rules; None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):
        return Path(given or Path.home() / ".cache") / "latticework"
    return None


def probed_prices() -> CostTable:
    """The few prices that were measured on this machine, now if no kept file has them."""
    folder = cache_folder()
    return _probe_once(None if folder is None else folder / "prices" / f"{_fingerprint()}.json")


@lru_cache(maxsize=4)
def _probe_once(path: Path | None) -> CostTable:
    """The kept prices, or new ones; once for each process."""
    kept = None if path is None else read_kept(path)
    if kept is not None:
        return kept
    text = json.dumps(probe_machine(), indent=1) + "\n"
    if path is not None:
        with suppress(OSError, RuntimeError):  # of the core, for files that cannot be written
            path.parent.mkdir(parents=True, exist_ok=True)
            _core.write_file_atomic(str(path), text.encode(), 0o644)
    return parse_table(text, "quick probe")


def read_kept(path: Path) -> CostTable | None:
    """A cost table of this machine from the cache; None if there is none that can be used."""
    with suppress(OSError, FormatError, UnicodeDecodeError):
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        table = parse_table(text.decode("utf-8"), str(path)) if len(text) <= MOST_BYTES else None
        return table if table is not None and is_of_this_machine(table) else None
    return None


def is_of_this_machine(table: CostTable) -> bool:
    """Whether a table was measured on one thread of such a machine, with the kernels that are used here."""
    machine = table.machine.get("cpu"), table.machine.get("cores"), table.backend
    return machine == (name_processor(), count_cores(), name_backend()) and table.threads == 1


def _fingerprint() -> str:
    """Names the machine, the build of the core, and what is measured."""
    build = Path(_core.__file__).stat()
    facts = name_processor(), count_cores(), name_backend(), build.st_size, build.st_mtime_ns, CHAINS, DEGREES
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
