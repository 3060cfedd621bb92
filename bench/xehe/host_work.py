"""What the host does for the paper's products of matrices, from numbers to numbers, on a driver that does nothing.

    python -m bench.xehe.host_work [--json]

Shapes and rings are the whole ones. The host's work is all that remains: its processor time, and what it calls and
copies. Numbers that come back mean nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import latticework as lw
from bench.gpu_host import build
from bench.reports import Row, report
from bench.rows import show
from bench.xehe.matrices import SHAPES, Product, product_of
from latticework import _core

WAYS = {"one reduction, memory cache": "fused", "all at once on the device": "at once"}
CONDITIONS = {
    "device": "a driver that does nothing, taken for one of compute capability 9.0",
    "times": "processor time of the host on all of its threads, median of three runs after one that is not counted",
}
RUNS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        _core.load_driver(str(build(Path(folder))), "cuda")
        found = [row for name in SHAPES for row in rows(name)]
    show(report("xehe", found, CONDITIONS), as_json)


def rows(name: str) -> Iterator[Row]:
    """Each way of one shape beside the other, and the host by itself."""
    product = product_of(SHAPES[name], 13)
    yield time_row(f"matMul_{name}, on the host", product, "fused")
    there = replace(product, parameters=product.parameters.on(device="cuda"))
    for case, way in WAYS.items():
        yield time_row(f"matMul_{name}, {case}", there, way)
        with lw.profile("cuda") as profile:
            there.run(way)
        calls = {row["kernel"]: row for row in profile.kernels()}
        copies = {kernel: row for kernel, row in calls.items() if kernel.startswith("copy")}
        details = {"kernels": {k: row["calls"] for k, row in calls.items() if k not in copies}}
        details["copies"] = {k: [row["calls"], row["bytes"]] for k, row in copies.items()}
        launches = sum(details["kernels"].values())
        yield Row(f"matMul_{name}, {case}", "launches", "", launches, note=text_of(copies), details=details)


def text_of(copies: dict[str, dict[str, float]]) -> str:
    return "; ".join(
        f"{kernel}: {row['calls']} of {row['bytes'] / 1e6:.3f} MB in all" for kernel, row in copies.items()
    )


def time_row(case: str, product: Product, way: str) -> Row:
    product.run(way)
    taken = []
    for _ in range(RUNS):
        start = time.process_time()
        product.run(way)
        taken.append(time.process_time() - start)
    return Row(case, "processor time of the host", "ms", 1e3 * median(taken))


if __name__ == "__main__":
    main()
