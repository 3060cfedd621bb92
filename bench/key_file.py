"""Size of a rotation key in its file, and what reading it at a lower level touches and takes.

Run as ``python bench/key_file.py [--json] [--backend NAME]``. Bytes are counted twice: by the reader, and by asking the
system which pages of the file came into memory after all had been dropped. Seconds are the best of some runs on one
thread with the file in the page cache; `checked` says that the rows of what was read are those of the whole key.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import mmap
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from latticework import _core
from latticework.values.packing.key_manifest import galois_element

RING_DEGREE = 1 << 16
PRIME_BITS = (49, *(45, 46, 47, 48) * 6)  # of the 25 Q limbs
SPECIAL_BITS = 49
NUM_SPECIAL = 5
DIGIT_LIMBS = 5
LOW_LIMBS = 10
REPEATS = 5
STORED_TARGET, TOUCHED_TARGET = 65e6, 20e6
PAGE = mmap.PAGESIZE


def parameters() -> _core.Parameters:
    """25 limbs of 45 to 49 bits, 5 special ones, 5 digits: 128-bit security at N=2^16."""
    pools = {
        bits: iter(_core.primes_near(0.99 * 2.0**bits, 2 * RING_DEGREE, 16)) for bits in {*PRIME_BITS, SPECIAL_BITS}
    }
    q = [next(pools[bits]) for bits in PRIME_BITS]
    p = [next(pools[SPECIAL_BITS]) for _ in range(NUM_SPECIAL)]
    digits = [list(range(a, a + DIGIT_LIMBS)) for a in range(0, len(q), DIGIT_LIMBS)]
    track = {"groups": [[j] for j in range(len(q))], "scales": [2.0**46] * len(q)}
    return _core.Parameters(RING_DEGREE, q, p, digits, [track])


def best_of(function: Callable[[], Any]) -> float:
    """Shortest time in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def drop_pages(path: Path) -> None:
    """Ask the system to forget what it holds of a file."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def pages_in_memory(path: Path) -> int:
    """Bytes of the pages of a file that are in memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    size = path.stat().st_size
    file = os.open(path, os.O_RDONLY)
    address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    resident = ctypes.create_string_buffer(-(-size // PAGE))
    if libc.mincore(address, size, resident) != 0:
        raise OSError(ctypes.get_errno(), "mincore")
    libc.munmap(address, size)
    os.close(file)
    return sum(byte & 1 for byte in resident.raw[: -(-size // PAGE)]) * PAGE


def rows_of(keys: _core.EvaluationKeys, limbs: int, held: int) -> list[bytes]:
    """Stored rows of a key over `held` Q limbs: the digits that meet the first `limbs` ones, over these and P."""
    reader = _core.ContainerReader(_core.save_evaluation_keys(None, keys), [int(_core.FileKind.EVALUATION_KEYS)])
    stride = NUM_SPECIAL + held
    if reader.num_rows(0) != stride * (held // DIGIT_LIMBS):
        return []
    return [reader.row(0, d * stride + j) for d in range(limbs // DIGIT_LIMBS) for j in range(NUM_SPECIAL + limbs)]


def measure(backend: str, folder: Path) -> list[dict[str, Any]]:
    """One row a number."""
    context = _core.Context(parameters(), backend, 1)
    generator = _core.KeyGenerator(context)
    top, low = len(PRIME_BITS) - 1, LOW_LIMBS - 1
    spec = {"kind": "galois", "galois_element": galois_element(1, RING_DEGREE), "track": 0, "level": top}
    whole = generator.evaluation_keys(generator.secret_key(), [spec])
    path = folder / "rotation.lwkeys"
    _core.save_evaluation_keys(path, whole)

    drop_pages(path)
    before = pages_in_memory(path)
    file = _core.EvaluationKeyFile(path, context)
    part = file.read(0, (0, low))
    touched, paged = file.touched_bytes, pages_in_memory(path) - before
    is_cut = rows_of(part, LOW_LIMBS, LOW_LIMBS) == rows_of(whole, LOW_LIMBS, top + 1) != []

    def fresh(level: int) -> Any:
        return _core.EvaluationKeyFile(path, context).read(0, (0, level))

    stored = file.stored_bytes(0)
    return [
        row("stored", "bytes", stored, is_cut, STORED_TARGET),
        row(f"read at {LOW_LIMBS} limbs: touched", "bytes", touched, is_cut, TOUCHED_TARGET),
        row(f"read at {LOW_LIMBS} limbs: pages of the file", "bytes", paged, before == 0, TOUCHED_TARGET),
        row(f"read at {LOW_LIMBS} limbs: first time", "s", best_of(lambda: fresh(low)), is_cut),
        row(f"read at {LOW_LIMBS} limbs: again", "s", best_of(lambda: file.read(0, (0, low))), is_cut),
        row(f"read at {top + 1} limbs: first time", "s", best_of(lambda: fresh(top)), is_cut),
        row(f"read at {top + 1} limbs: again", "s", best_of(lambda: file.read(0, (0, top))), is_cut),
        row("open", "s", best_of(lambda: _core.EvaluationKeyFile(path, context)), True),
    ]


def row(case: str, unit: str, ours: float, checked: bool, target: float | None = None) -> dict[str, Any]:
    """A result in the form that all benchmarks share."""
    return {
        "case": f"rotation key, N=2^16, 25+5 limbs, 5 digits: {case}",
        "metric": "time" if unit == "s" else "size",
        "unit": unit,
        "ours": ours,
        "reference": None,
        "source": None,
        "ratio": None,
        "target": target,
        "better": "lower",
        "meets": None if target is None else ours <= target,
        "checked": checked,
    }


def report(backend: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The object that --json prints."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    cpu = next((line.partition(":")[2].strip() for line in lines if "model name" in line), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return {
        "suite": "key-file",
        "commit": found.stdout.strip() if found.returncode == 0 else None,
        "date": datetime.date.today().isoformat(),
        "machine": {"cpu": cpu, "cores": os.cpu_count(), "memory_gb": round(memory, 1), "gpu": None},
        "conditions": {"backend": backend, "threads": 1, "best_of": REPEATS},
        "rows": rows,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Measure a rotation key in its file.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--backend", default="ref", choices=_core.backend_names())
    parser.add_argument("--folder", type=Path, help="where to put the file: a real disk shows what is paged in")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        rows = measure(arguments.backend, Path(folder))
    if arguments.json:
        print(json.dumps(report(arguments.backend, rows), indent=1))
        return
    for one in rows:
        value = f"{one['ours'] / 1e6:10.2f} MB" if one["unit"] == "bytes" else f"{one['ours'] * 1e3:10.2f} ms"
        target = "" if one["target"] is None else f"  target {one['target'] / 1e6:.0f} MB, met: {one['meets']}"
        print(f"{one['case']:70}{value}  checked {one['checked']}{target}")


if __name__ == "__main__":
    main()
