"""What the host spends on each kernel call and allocation of a GPU, on a driver that does nothing.

    python -m bench.gpu_host [--json]

The driver is compiled for the run (c++), and is the backend `cuda` of this process alone. Times are of one
core: the best of several stretches, as all else only adds to them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from latticework import _core, ckks

ROOT = Path(__file__).resolve().parents[1]
CPP = ROOT / "cpp"
KERNELS = ("add", "mul_scalar", "automorphism", "ntt", "intt", "base_convert", "dot")
LAUNCHES = {"ntt": 2, "intt": 2}  # of one call at N = 2^14, where it is not 1
TARGET_US, TARGET_ALLOCATION_NS = 3.0, 200.0
STRETCH, STRETCHES = 5000, 9


def build(folder: Path, optimisation: str = "-O2") -> Path:
    """The driver as a library; most of it are kernels, which are not called."""
    library = folder / "libnull_driver.so"
    sources = [ROOT / "bench" / "null_driver.cpp", CPP / "backend" / "gpu" / "host_kernels.cpp"]
    command = ["c++", "-std=c++20", optimisation, "-shared", "-fPIC", f"-I{CPP}", "-o", library, *sources]
    subprocess.run(command, check=True)
    return library


def best(run, times: int) -> float:
    """Seconds of one of `times`, in the best stretch."""
    found = []
    for _ in range(STRETCHES):
        start = time.perf_counter()
        run(times)
        found.append((time.perf_counter() - start) / times)
    return min(found)


def measure() -> list[dict[str, object]]:
    parameters = ckks.Parameters.choose(depth=6, ring_degree=1 << 14)
    ring = _core.Ring(1 << 14, parameters.chain.primes, backend="cuda")
    limbs = list(range(len(parameters.chain.primes)))
    rows: list[dict[str, object]] = []
    for kernel in KERNELS:
        to = limbs[4:] if kernel == "base_convert" else []
        loop = _core.KernelLoop(ring, kernel, limbs[:4] if kernel == "base_convert" else limbs, to)
        loop.run(100)
        seconds = best(loop.run, STRETCH) / LAUNCHES.get(kernel, 1)
        rows.append({"case": f"{kernel}, a launch", "us": seconds * 1e6, "target_us": TARGET_US})
    seconds = best(ring.allocate_and_free, 100 * STRETCH)
    rows.append({"case": "allocation from the cache, and its return", "us": seconds * 1e6,
                 "target_us": TARGET_ALLOCATION_NS / 1e3})  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args().json
    with tempfile.TemporaryDirectory() as folder:
        _core.load_driver(str(build(Path(folder))), "cuda")
        rows = measure()
    if as_json:
        print(json.dumps({"suite": "gpu_host", "rows": rows, "best_of": STRETCHES}))
        return
    for row in rows:
        verdict = "met" if row["us"] <= row["target_us"] else "NOT MET"
        print(f"{row['case']:<45}{row['us']:8.3f} us   target {row['target_us']:.2f}   {verdict}")


if __name__ == "__main__":
    sys.exit(main())
