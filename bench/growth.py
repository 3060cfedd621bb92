"""How compile time grows with straight-line code: programs of n statements at n, 2n, 4n ...

Processor time of the whole of `lw.compile`, each size in a process of its own; the last column is the ratio to the size
before, 2 where time is linear. `python -m bench.growth [--json FILE] [--most N] [PROGRAM ...]` from the source tree.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from multiprocessing import get_context
from typing import Any

import numpy as np

import latticework as lw
from bench.compiling import peak_bytes

Made = Callable[[int], dict[str, Any]]


def products(n: int) -> dict[str, Any]:
    """A value times n numbers, one after the other."""
    numbers = _numbers(n)

    @lw.program
    def chain(x: lw.Secret[8]) -> Any:
        for number in numbers:
            x = x * number
        return x

    return {"program": chain}


def additions(n: int) -> dict[str, Any]:
    """A value added n times to what is then multiplied by a number."""

    @lw.program
    def chain(x: lw.Secret[8]) -> Any:
        total = x
        for _ in range(n):
            total = total + x
        return total * (1.0 / n)

    return {"program": chain}


def statements(n: int) -> dict[str, Any]:
    """Statements on matrices of 16 x 16: sums, differences, negations, and products with numbers."""
    numbers = _numbers(n)

    @lw.program
    def mixed(x: lw.Secret[16, 16], y: lw.Secret[16, 16]) -> Any:
        z = x + y
        for step, number in enumerate(numbers):
            match step % 5:
                case 0:
                    z = z + y
                case 1:
                    z = z - number
                case 2:
                    z = -z
                case 3:
                    z = x * number - z
                case 4:
                    z = z + 2 * x
        return z * (1.0 / n)

    return {"program": mixed}


def wide(n: int) -> dict[str, Any]:
    """A circuit of n products of pairs of 100 inputs, without any order, added up in 50 outputs."""
    rng = np.random.default_rng(7)
    pairs = rng.integers(0, 100, (n, 2)).tolist()

    @lw.circuit
    def gates(x: lw.vector(100)) -> Any:
        totals: list[Any] = [0] * 50
        for place, (i, j) in enumerate(pairs):
            totals[place % 50] = totals[place % 50] + x[i] * x[j]
        return totals

    return {"program": gates}


def layers(n: int) -> dict[str, Any]:
    """A circuit of four layers of n / 4 sums and products of two nodes of the layer before."""
    rng = np.random.default_rng(11)
    width = max(n // 4, 1)
    choices = [rng.integers(0, 64 if layer == 0 else width, (width, 2)).tolist() for layer in range(4)]

    @lw.circuit
    def gates(x: lw.vector(64)) -> Any:
        nodes = list(x)
        for layer, pairs in enumerate(choices):
            nodes = [nodes[i] * nodes[j] if (k + layer) % 2 else nodes[i] + nodes[j] for k, (i, j) in enumerate(pairs)]
        return nodes

    return {"program": gates}


def sums(n: int) -> dict[str, Any]:
    """A circuit of n additions, one after the other, of 64 inputs in turns."""

    @lw.circuit
    def chain(x: lw.vector(64)) -> Any:
        total = x[0]
        for place in range(n):
            total = total + x[(7 * place) % 64]
        return total * x[1]

    return {"program": chain}


# The largest size of each by default: what is promised to compile within half a minute.
PROGRAMS: dict[str, tuple[Made, int]] = {
    "products": (products, 10_000),
    "additions": (additions, 100_000),
    "statements": (statements, 2_000),
    "wide": (wide, 10_000),
    "layers": (layers, 10_000),
    "sums": (sums, 10_000),
}
DOUBLINGS = 3


def _numbers(n: int) -> list[float]:
    """Factors whose products stay near 1."""
    return [float(v) for v in np.exp(np.random.default_rng(3).uniform(-0.5, 0.5, n) / np.sqrt(n))]


def measured(name: str, n: int) -> dict[str, Any]:
    """One compilation: processor seconds, peak memory in MB, and what was warned of."""
    options = PROGRAMS[name][0](n)
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lw.compile(options.pop("program"), **options)
    seconds = time.process_time() - started
    return {
        "program": name, "n": n, "seconds": round(seconds, 2), "peak_mb": round(peak_bytes() / 1e6),
        "warnings": [str(w.message) for w in caught],
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", choices=[[], *PROGRAMS], help="which programs; all if none is named")
    parser.add_argument("--json", help="where to write the rows")
    parser.add_argument("--most", type=int, help="the largest n, instead of each program's own")
    given = parser.parse_args()
    rows = []
    print(f"{'program':<12}{'n':>8}{'seconds':>10}{'peak MB':>9}{'ratio':>7}")
    for name in given.programs or PROGRAMS:
        most = given.most or PROGRAMS[name][1]
        before = None
        for n in (most >> k for k in reversed(range(DOUBLINGS + 1))):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                row = pool.submit(measured, name, n).result()
            ratio = "" if before is None else f"{row['seconds'] / before:.2f}"
            before = row["seconds"]
            rows.append(row)
            print(f"{name:<12}{n:>8}{row['seconds']:>10.2f}{row['peak_mb']:>9}{ratio:>7}", *row["warnings"], flush=True)
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"date": date.today().isoformat(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
