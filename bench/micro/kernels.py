"""Time the core's kernels on one thread, and make a cost table of them.

Run as ``python bench/micro/kernels.py [--json | --table FILE] [--ring-degrees LOG2 ...]``.
A kernel is timed on small arrays; what handing these over takes is measured by
itself and subtracted. Seconds are the best of many runs; `checked` says that
the result was compared with an independent oracle.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import log2, prod
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from latticework import _core
from latticework.cost import CostModel, Shape, parse_table
from latticework.plan.keys import galois_element

LIMBS = 12
PRIME_BITS = 45
SEED = bytes(range(32))
REPEATS = 21
OPERATION_LOG2 = 14
OPERATION_CHAINS = ((4, 1), (8, 2), (12, 3))  # (Q limbs, P limbs): whole operations are timed on these
OPERATION_ROUNDS = 9
UNIT_PASSES = 5
Units = dict[str, tuple[float, bool]]


def best_of(function: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Shortest time in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def keep_memory() -> None:
    """Let the C library keep what is freed: fresh pages would cost more than some kernels, at random."""
    mmap_threshold, trim_threshold = -3, -1
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(mmap_threshold, 32 << 20)
        library.mallopt(trim_threshold, 1 << 30)


class KernelBench:
    """Kernels of one ring degree on rows of random residues."""

    def __init__(self, ring_degree: int) -> None:
        self.degree = ring_degree
        self.primes = [int(p) for p in _core.primes_near(2.0**PRIME_BITS, 2 * ring_degree, LIMBS)]
        self.ring = _core.Ring(ring_degree, self.primes, "ref", 1)
        self.rng = np.random.default_rng(ring_degree)
        self.limbs = [0, 1, 2, 3]
        self.x, self.y = self.rows(self.limbs), self.rows(self.limbs)
        self.load_seconds = best_of(self.refused) / len(self.limbs)
        arrays = self.x.tobytes()
        through = best_of(lambda: self.ring.import_residues(arrays, [64] * len(self.limbs), self.limbs, 1))
        self.store_seconds = through / len(self.limbs) - self.load_seconds

    def rows(self, limbs: list[int]) -> np.ndarray[Any, Any]:
        """One random polynomial."""
        return np.stack([[self.rng.integers(0, self.primes[j], self.degree, dtype=np.uint64) for j in limbs]])

    def refused(self) -> None:
        """A call that is refused once its operand has been loaded: it costs the load alone."""
        try:
            self.ring.mul_scalar(self.x, [1 << 62] * len(self.limbs), self.limbs)
        except ValueError:
            return
        raise AssertionError("a scalar above its prime was taken")

    def kernel_seconds(self, call: Callable[[], Any], loads: int, stores: int) -> float:
        """Time of a call without the rows that it moves in and out."""
        return max(best_of(call) - loads * self.load_seconds - stores * self.store_seconds, 1e-9)

    def units(self) -> Units:
        """Seconds of every unit, and whether the result was right."""
        units = self.transforms() | self.products() | self.lifts() | self.streams()
        key_mac, is_dot = units["key_mac"]  # a term with both factors in memory is no faster than one with a constant
        return units | {"key_mac": (max(key_mac, units["lift_term"][0]), is_dot)}

    def transforms(self) -> Units:
        """NTT (mean of both directions), FFT and automorphism."""
        ring, limbs, count = self.ring, self.limbs, len(self.limbs)
        both = sum(self.kernel_seconds(lambda f=f: f(self.x, limbs), count, count) for f in (ring.ntt, ring.intt))  # type: ignore[misc]
        slots = self.rng.normal(size=self.degree // 2) + 0j
        fft = (best_of(lambda: ring.embed(slots)) + best_of(lambda: ring.unembed(slots))) / 2
        turn = self.kernel_seconds(lambda: ring.automorphism(self.x, 5, limbs), count, count) / count
        turned_back = ring.automorphism(ring.automorphism(self.x, 5, limbs), pow(5, -1, 2 * self.degree), limbs)
        return {
            "ntt": (both / (2 * count), self.multiplies()),
            "fft": (fft, bool(np.allclose(ring.embed(ring.unembed(slots)), slots))),
            "automorphism": (turn, bool((turned_back == self.x).all())),
        }

    def multiplies(self) -> bool:
        """Whether X^(N-1) * X = -1 comes out of transform, product and inverse transform."""
        ring, limbs = self.ring, self.limbs
        monomials = []
        for power in (self.degree - 1, 1):
            coefficients = np.zeros(self.degree, dtype=np.int64)
            coefficients[power] = 1
            monomials.append(ring.ntt(ring.import_signed(coefficients, limbs), limbs))
        product = ring.intt(ring.mul(*monomials, limbs), limbs)
        expected = [[self.primes[j] - 1] + [0] * (self.degree - 1) for j in limbs]
        return bool((product[0] == np.array(expected, dtype=np.uint64)).all())

    def products(self) -> Units:
        """Pointwise products and multiply-accumulate: what each further term of a sum of products adds."""
        ring, limbs, count, few, many = self.ring, self.limbs, len(self.limbs), 2, 8
        x, y = self.rows([0]), self.rows([0])

        def sum_of(n: int) -> float:
            return self.kernel_seconds(lambda: ring.dot([x] * n, [y] * n, [0]), 2 * n, 1)

        pointwise = self.kernel_seconds(lambda: ring.mul(self.x, self.y, limbs), 2 * count, count) / count
        key_mac = (sum_of(many) - sum_of(few)) / (many - few)
        mul_add = self.kernel_seconds(lambda: ring.mul_add(self.x, self.x, self.y, limbs), 3 * count, count) / count
        modulus = np.array([self.primes[j] for j in limbs], dtype=object)[None, :, None]
        exact = self.x.astype(object) * self.y.astype(object)
        is_product = bool((ring.mul(self.x, self.y, limbs) == exact % modulus).all())
        is_dot = bool((ring.dot([self.x] * 3, [self.y] * 3, limbs) == 3 * exact % modulus).all())
        is_sum = bool((ring.mul_add(self.x, self.x, self.y, limbs) == (self.x + exact) % modulus).all())
        return {"pointwise": (pointwise, is_product), "key_mac": (key_mac, is_dot), "plain_mac": (mul_add, is_sum)}

    def lifts(self) -> Units:
        """Lifts of k limbs to t: the part for each source, and for each pair of source and target."""

        def lift(sources: int, targets: int) -> float:
            x, to = self.rows(list(range(sources))), list(range(4, 4 + targets))
            return self.kernel_seconds(lambda: self.ring.lift(x, list(range(sources)), to), sources, targets)

        term = ((lift(4, 8) - lift(4, 1)) - (lift(1, 8) - lift(1, 1))) / 21
        source = (lift(4, 1) - lift(1, 1)) / 3 - term
        small = 1e-4 * self.store_seconds
        is_lift = self.lifts_exactly()
        return {"lift_term": (max(term, small), is_lift), "lift_source": (max(source, small), is_lift)}

    def lifts_exactly(self) -> bool:
        """Whether lifted rows agree with the Chinese remainder theorem on 64 coefficients."""
        sources, targets = [0, 1, 2], [5, 9]
        x = self.rows(sources)
        modulus = prod(self.primes[j] for j in sources)
        basis = [modulus // self.primes[j] * pow(modulus // self.primes[j], -1, self.primes[j]) for j in sources]
        lifted = self.ring.lift(x, sources, targets)
        for i in range(64):
            value = sum(int(x[0, j, i]) * b for j, b in enumerate(basis)) % modulus
            value -= modulus if 2 * value > modulus else 0
            if any(int(lifted[0, k, i]) != value % self.primes[t] for k, t in enumerate(targets)):
                return False
        return True

    def streams(self) -> Units:
        """Uniform expansion, and reading a section of a container that is in the page cache."""
        count = len(self.limbs)
        expand = self.kernel_seconds(lambda: self.ring.expand_uniform(SEED, 2, 0, 0, self.limbs), 0, count) / count
        expanded = self.ring.expand_uniform(SEED, 2, 0, 0, self.limbs)
        mean = expanded.mean(axis=-1)[0] / np.array([self.primes[j] for j in self.limbs])
        is_uniform = bool((np.abs(mean - 0.5) < 6 / np.sqrt(12 * self.degree)).all())
        packed = self.ring.export_residues(self.x, [PRIME_BITS + 1] * count, self.limbs)
        return {"expand": (expand, is_uniform), "read_byte": self.read(packed)}

    def read(self, packed: bytes) -> tuple[float, bool]:
        """Seconds a byte of opening, verifying and unpacking stored rows."""
        widths = [PRIME_BITS + 1] * len(self.limbs)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "rows")
            _core.write_container(path, int(_core.FileKind.EVALUATION_KEYS), bytes(32), {}, [(1, packed)])

            def load() -> Any:
                data = _core.ContainerReader(path, kinds=[int(_core.FileKind.EVALUATION_KEYS)]).section(0)
                return self.ring.import_residues(data, widths, self.limbs, 1)

            seconds = best_of(load) - len(self.limbs) * self.store_seconds
            return max(seconds, 1e-9) / len(packed), bool((load() == self.x).all())


class OperationBench:
    """Whole operations on ciphertexts of one chain: what they take beyond their kernels."""

    def __init__(self, num_q: int, num_p: int) -> None:
        degree = 1 << OPERATION_LOG2
        primes = [int(p) for p in _core.primes_near(2.0**PRIME_BITS, 2 * degree, num_q + num_p)]
        self.digits = [list(range(a, min(a + num_p, num_q))) for a in range(0, num_q, num_p)]
        track = {"groups": [[j] for j in range(num_q)], "scales": [2.0**PRIME_BITS] * num_q}
        parameters = _core.Parameters(
            degree, primes[:num_q], primes[num_q:], self.digits, [track], security_bits=128, insecure=True
        )
        self.context = _core.Context(parameters, "ref", 1)
        self.top = (0, num_q - 1)
        self.evaluator = _core.Evaluator(self.context)
        self.encoder = _core.Encoder(self.context)
        self.values = np.random.default_rng(num_q).uniform(-1, 1, degree // 2)
        self.plain = self.encoder.encode(self.values, self.top, 2.0**PRIME_BITS)
        generator = _core.KeyGenerator(self.context)
        secret = generator.secret_key()
        self.element = galois_element(1, degree)
        specs = [
            {"kind": kind, "galois_element": element, "track": 0, "level": num_q - 1}
            for kind, element in (("relin", 0), ("galois", self.element))
        ]
        self.keys = generator.evaluation_keys(secret, specs)
        self.x = _core.Encryptor(self.context, secret).encrypt(self.plain)
        self.shape = Shape(degree, num_q, num_p, tuple(len(d) for d in self.digits))

    def calls(self) -> dict[str, tuple[Callable[[], Any], Shape]]:
        """Every operation with its shape."""
        e, x, keys = self.evaluator, self.x, self.keys
        n, q, p, digits = self.shape.ring_degree, self.shape.q_limbs, self.shape.p_limbs, self.shape.digit_limbs
        product, hoisted = e.mul(x, x), e.hoist(x)
        over_qp = e.key_product(hoisted, self.element, keys)
        down = (0, self.top[1] - 1)
        simple = Shape(n, q)
        return {
            "add": (lambda: e.add(x, x), simple),
            "sub": (lambda: e.sub(x, x), simple),
            "neg": (lambda: e.neg(x), simple),
            "add_plain": (lambda: e.add_plain(x, self.plain), simple),
            "sub_plain": (lambda: e.sub_plain(x, self.plain), simple),
            "add_int": (lambda: e.add_int(x, 12345), simple),
            "mul_int": (lambda: e.mul_int(x, 12345), simple),
            "mul_plain": (lambda: e.mul_plain(x, self.plain), simple),
            "trivial": (lambda: e.trivial(self.plain), simple),
            "mul": (lambda: e.mul(x, x), simple),
            "square": (lambda: e.square(x), simple),
            "drop_level": (lambda: e.drop_level(x, down), Shape(n, q, target=q - 1)),
            "encode": (
                lambda: self.encoder.encode(self.values, self.top, 2.0**PRIME_BITS),
                Shape(n, q, slots=self.values.size),
            ),
            "hoist": (lambda: e.hoist(x), self.shape),
            "key_product": (lambda: e.key_product(hoisted, self.element, keys), self.shape),
            "mod_down": (lambda: e.mod_down(over_qp, self.top, x.scale), Shape(n, q, p, target=q)),
            "rotate": (lambda: e.rotate(x, self.element, keys), self.shape),
            "relinearize": (lambda: e.relinearize(product, keys), Shape(n, q, p, digits, polys=3)),
        }


def measured_units(ring_degree: int) -> Units:
    """Medians of several passes: a difference of two times is only as good as the quieter of both."""
    passes = [KernelBench(ring_degree).units() for _ in range(UNIT_PASSES)]
    return {
        unit: (median(units[unit][0] for units in passes), all(units[unit][1] for units in passes))
        for unit in passes[0]
    }


def operation_times() -> list[tuple[str, Shape, float]]:
    """(operation, shape, seconds): the best of some rounds of all operations in turn.

    In turn and with all results of a round kept, so that each operation meets caches that others have used and
    memory that is not yet mapped: a plan runs like that, with many values alive.
    """
    found = []
    for num_q, num_p in OPERATION_CHAINS:
        calls = OperationBench(num_q, num_p).calls()
        rounds = [timed_round(calls) for _ in range(OPERATION_ROUNDS)]
        found += [(op, shape, min(times[op] for times in rounds)) for op, (_, shape) in calls.items()]
    return found


def timed_round(calls: dict[str, tuple[Callable[[], Any], Shape]]) -> dict[str, float]:
    """Seconds of every operation, run once."""
    times, kept = {}, []
    for op, (call, _) in calls.items():
        start = time.perf_counter()
        kept.append(call())
        times[op] = time.perf_counter() - start
    return times


def overheads(model: CostModel, times: list[tuple[str, Shape, float]]) -> dict[str, float]:
    """Measured time of every operation over the time of its kernels: geometric means over the chains."""
    ratios: dict[str, list[float]] = {}
    for op, shape, seconds in times:
        ratios.setdefault(op, []).append(seconds / model.seconds(op, shape))
    return {op: round(geometric_mean(found), 3) for op, found in ratios.items()}


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    cpu = next((line.partition(":")[2].strip() for line in lines if "model name" in line), platform.processor())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_gb": round(memory, 1), "gpu": None}


def commit() -> str | None:
    """The commit of the working tree, None outside of one."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() if found.returncode == 0 else None


def report(measured: dict[int, Units]) -> dict[str, Any]:
    """The object that --json prints."""
    rows = [
        {
            "case": f"{unit}, N=2^{log2(degree):.0f}",
            "metric": "time",
            "unit": "s",
            "ours": seconds,
            "reference": None,
            "source": None,
            "ratio": None,
            "target": None,
            "better": "lower",
            "meets": None,
            "checked": checked,
        }
        for degree, units in measured.items()
        for unit, (seconds, checked) in units.items()
    ]
    return {
        "suite": "micro-kernels",
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "conditions": {"backend": "ref", "threads": 1, "prime_bits": PRIME_BITS, "best_of": REPEATS},
        "rows": rows,
    }


def cost_table(measured: dict[int, Units], times: list[tuple[str, Shape, float]]) -> dict[str, Any]:
    """The cost table that follows: units, and the overhead of whole operations over them."""
    table: dict[str, Any] = {
        "format": 1,
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "commit": commit(),
        "command": "python bench/micro/kernels.py --table FILE",
        "threads": 1,
        "source": "measured",
        "units": [
            {"unit": unit, "ring_degree": degree, "seconds": float(f"{seconds:.4g}")}
            for degree, units in measured.items()
            for unit, (seconds, _) in units.items()
        ],
        "ops": [],
        "overhead": {},
    }
    table["overhead"] = overheads(CostModel(parse_table(json.dumps(table))), times)
    return table


def print_rows(measured: dict[int, Units]) -> None:
    """Units by ring degree, in microseconds (read_byte: nanoseconds)."""
    print(f"{'':14}" + "".join(f"{f'N=2^{log2(degree):.0f}':>12}" for degree in measured) + "   checked")
    for unit in next(iter(measured.values())):
        factor, suffix = (1e9, "ns") if unit == "read_byte" else (1e6, "us")
        cells = "".join(f"{units[unit][0] * factor:9.2f} {suffix}" for units in measured.values())
        print(f"{unit:14}{cells}   {all(units[unit][1] for units in measured.values())}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Time the core's kernels on one thread.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write a cost table")
    parser.add_argument("--ring-degrees", type=int, nargs="+", default=[12, 13, 14, 15], metavar="LOG2")
    arguments = parser.parse_args()
    times = operation_times() if arguments.table is not None else []
    keep_memory()  # from here on: whole operations are timed with the memory management that plans run with
    measured = {1 << k: measured_units(1 << k) for k in arguments.ring_degrees}
    if arguments.table is not None:
        if not all(checked for units in measured.values() for _, checked in units.values()):
            sys.exit("a kernel gave a wrong result; no table is written")
        table = cost_table(measured, times)
        arguments.table.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    if arguments.json:
        print(json.dumps(report(measured), indent=1))
    else:
        print_rows(measured)


if __name__ == "__main__":
    main()
