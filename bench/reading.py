"""`latticework bench reading`: what it takes to bring rows of keys from their file into memory, and its parts.

A row is both halves of one digit of a key at one limb. b is stored bit-packed: it is read, verified and unpacked; a is
expanded from its seed. Rates are bytes of both halves in memory over processor time of the thread that reads, with the
file in the page cache. Parts are given as cycles for each coefficient of a row, of which there are N.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from bench.key_file import DIGIT_LIMBS, NUM_SPECIAL, PRIME_BITS, RING_DEGREE, parameters
from bench.micro.cycles import Cycles, Measured
from bench.micro.kernels import ring_of
from bench.rows import Row, report, show
from latticework import _core
from latticework.plan.machine.timing import keep_memory
from latticework.values.packing.key_manifest import galois_element

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
AGAIN_TARGET, FIRST_TARGET = 5.5, 2.5  # GB/s
SLOTS = 72  # rows of memory: two windows of one limb of seven keys of five digits
LIMB, WIDTH = 7, 49  # of the row that is compared; bits of the coefficients that parts are measured on
LOG2_DEGREE = RING_DEGREE.bit_length() - 1
BOTH_HALVES = "unpack b and expand a"
REST = "the rest of a row seen before: its bytes, and of the checksum what takes time beside the keystream"
VECTORS = {"cpu-avx512": "avx512", "cpu-avx2": "avx2", "cpu-neon": "generic"}  # of what is no kernel


@app.command()
def reading(
    backend: Annotated[str, typer.Option(help="Variants of `cpu`, separated by commas.")] = "all",
    repeat: Annotated[int, typer.Option(min=1, help="Times that all rows of a key are read; the best counts.")] = 15,
    folder: Annotated[Path | None, typer.Option(help="Where the key file is put.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read all rows of a key of a file as servers do, first and again, and time the parts."""
    here = [name for name, is_here in _core.backend_variants("cpu") if is_here]
    backends = here if backend == "all" else backend.split(",")
    for name in backends:
        if name not in here:
            raise typer.BadParameter(f"{name} is no variant here; there are {', '.join(here)}")
    keep_memory()
    cycles = Cycles()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=folder) as made, err.status("writing a key"):
        path = Path(made) / "rotation.lwkeys"
        write_key(path)
        for name in backends:
            rows += reading_rows(path, name, repeat, cycles)
    cycles.close()
    conditions = {
        "threads": 1,
        "best_of": repeat,
        "clock": "processor time of the thread",
        "cycles": cycles.source,
        "keys": f"{len(PRIME_BITS)} + {NUM_SPECIAL} limbs of 45 to 49 bits, digits of {DIGIT_LIMBS}; "
        f"all rows of one key, into {SLOTS} rows of memory in turn",
        "file": "in the page cache",
        "hashes": f"vectors of {_core.vector_sets()[-1]}, whatever the variant",
    }
    show(report("reading", rows, conditions), json)


def write_key(path: Path) -> None:
    """A file of one rotation key."""
    context = _core.Context(parameters(), "cpu", 1)
    generator = _core.KeyGenerator(context)
    spec = {"kind": "galois", "galois_element": galois_element(1, RING_DEGREE), "track": 0}
    spec["level"] = len(PRIME_BITS) - 1
    _core.save_evaluation_keys(path, generator.evaluation_keys(generator.secret_key(), [spec]))


def reading_rows(path: Path, backend: str, repeats: int, cycles: Cycles) -> Iterator[Row]:
    """How fast rows come, those that were read before and those that were not; and the parts."""
    context = _core.Context(parameters(), backend, 1)
    reader = _core.KeyLimbLoop(_core.EvaluationKeyFile(path, context), SLOTS)
    num_bytes = reader.run(0)
    again = shortest(lambda: lambda: reader.run(0), repeats)

    def opened() -> Callable[[], Any]:
        reader.take(_core.EvaluationKeyFile(path, context))  # which has seen no row
        reader.limb(0, 0, LIMB)  # the table of the limbs is read
        return lambda: reader.run(0)

    first = shortest(opened, repeats)
    oracle = _core.KeyLimbLoop(_core.EvaluationKeyFile(path, _core.Context(parameters(), "ref", 1)), 1)
    checked = bool(np.array_equal(reader.limb(0, 0, LIMB), oracle.limb(0, 0, LIMB)))
    case = f"rows of keys, N=2^{LOG2_DEGREE}, {backend}"
    for name, seconds, target in (("seen before", again, AGAIN_TARGET), ("the first time", first, FIRST_TARGET)):
        rate = num_bytes / seconds / 1e9
        yield Row(case, f"read, {name}", "GB/s", rate, target=target, better="higher", checked=checked)

    found = {name: cycles.measure(run, repeats, 1e-2) for name, run in parts(backend).items()}
    row_seconds = again * 2 * 8 * RING_DEGREE / num_bytes
    rest = row_seconds - found[BOTH_HALVES].seconds
    clock = found[BOTH_HALVES].cycles / found[BOTH_HALVES].seconds
    for name, part in (found | {REST: Measured(rest, rest * clock)}).items():
        details = {"us a row": round(part.seconds * 1e6, 1)}
        yield Row(case, name, "cycles", part.cycles / RING_DEGREE, checked=checked, details=details)


def parts(backend: str) -> dict[str, Callable[[int], Any]]:
    """What a row goes through, as loops over data that stay in the cache. The bytes of a file come from further away:
    they are what is left."""
    data = os.urandom(WIDTH * RING_DEGREE // 8)
    vectors = VECTORS[backend]

    def each(function: Callable[[], Any]) -> Callable[[int], None]:
        def run(times: int) -> None:
            for _ in range(times):
                function()

        return run

    return {
        "checksum, by itself": each(lambda: _core.fast_sum(data)),
        "BLAKE3, the first time": each(lambda: _core.blake3(data, vectors)),
        BOTH_HALVES: _core.KernelLoop(ring_of(LOG2_DEGREE, backend, 1), "import_seeded", [0], [], 1).run,
        "of this, ChaCha20": each(lambda: _core.chacha20_keystream(bytes(32), 0, 8 * RING_DEGREE, vectors)),
    }


def shortest(prepare: Callable[[], Callable[[], Any]], repeats: int) -> float:
    """Shortest processor time of what `prepare` returns, each time anew."""
    found = []
    for _ in range(repeats):
        run = prepare()
        start = time.thread_time()
        run()
        found.append(time.thread_time() - start)
    return min(found)
