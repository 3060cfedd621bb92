"""What our compiler is measured against on its own machine: itself without what others do not have.

Both baselines use the same kernels, threads, security, precision and bound on memory as the rest; they differ in what
compilation may do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp, log

from bench.rotom.measuring import Limits, Measured, prepare
from bench.rotom.network import network_rows
from bench.rotom.workloads import PAPER, Workload
from bench.rows import Row
from latticework.compiler.options.techniques import Techniques

# Rotom, by its paper and public code: layouts with rolls chosen by counts; a client sends tensors without copies; one
# product at a time, by the square-root split, of matrices that are both encrypted without giant steps; nothing hoisted,
# products relinearised one by one and rescaled lazily (by OpenFHE), no imaginary halves.
ROTOM = Techniques(
    measured_costs=False,
    client_copies=False,
    tuned_widths=False,
    hoisting=False,
    complex_packing=False,
    giant_products=False,
    shared_babies=False,
    shared_giants=False,
    lazy_relinearization=False,
)

# Fhelipe's way, as the Rotom paper compares with: tensors in order, general permutations by masks and rotations,
# products by rotating and adding. Permutations and convolutions go by baby steps and giant steps, which is kinder than
# one rotation for each diagonal: a transpose within a vector would need 8191 keys.
ROW_MAJOR = replace(ROTOM, layout_search=False, rolls=False)

MEAN_TARGET = 3.0  # times faster than in Rotom's mode


@dataclass(frozen=True)
class Baseline:
    """A way to compile.

    published  the name of the paper's figure for how many times faster Rotom is
    """

    name: str
    techniques: Techniques
    published: str | None = None


BASELINES = (
    Baseline("Rotom's techniques", ROTOM),
    Baseline("in order, by permutations", ROW_MAJOR, "over Fhelipe"),
)


@dataclass(frozen=True)
class Faster:
    """How many times faster ours is than a baseline: predicted on one thread, and in measured processor time."""

    workload: str
    predicted: float
    measured: float | None
    is_right: bool


def faster(ours: Measured, other: Measured, workload: str) -> Faster:
    """Of one workload; both had the same bound on memory."""
    times = other.processor_seconds, ours.processor_seconds
    measured = times[0] / times[1] if times[0] and times[1] else None
    predicted = other.cost.warm_seconds / ours.cost.warm_seconds
    return Faster(workload, predicted, measured, ours.is_right and other.is_right)


def prepare_baselines(workload: Workload, slots: int, limits: Limits, ours: Measured) -> list[Measured | str]:
    """A workload compiled in the way of each baseline; why it was not compiled, if it cannot be."""
    return [prepare(workload, slots, baseline.techniques, limits, like=ours.plan) for baseline in BASELINES]


def compared(
    workload: Workload, ours: Measured, others: Sequence[Measured | str], found: dict[str, list[Faster]]
) -> Iterator[Row]:
    """Rows of the baselines of one workload; how many times faster ours is goes to `found`, by baseline."""
    for baseline, other in zip(BASELINES, others, strict=True):
        case = f"{workload.name}, {baseline.name}"
        if isinstance(other, str):
            yield Row(case, "run", "s", None, note=other)
            continue
        counts, right = other.cost.counts, other.is_right
        for metric, value, golden in (
            ("encrypted input vectors", sum(i.pack.count for i in other.plan.client.secret_inputs), "ciphertexts"),
            ("rotations", counts.rotations, "rotations"),
            ("ciphertext products", counts.ciphertext_products, "ct products"),
            ("plaintext products", counts.plaintext_products, "pt products"),
        ):
            reference = workload.measured.get(golden) if baseline.techniques is ROTOM else None
            source = None if reference is None else "Rotom's public code, rolls on"
            yield Row(case, metric, "", float(value), reference, source, checked=right)
        if other.made is not None:
            yield Row(case, "compile", "s", other.made.seconds, checked=True)
        yield Row(case, "run, predicted on one thread", "s", other.cost.warm_seconds, checked=right)
        yield from run_rows(case, other)
        yield from network_rows(case, other)
        ratio = faster(ours, other, workload.name)
        found.setdefault(baseline.name, []).append(ratio)
        published = workload.published.get(baseline.published or "")
        note = other.note or ours.note or other.shortage or ours.shortage
        yield Row(
            workload.name, f"times faster than {baseline.name}", "x", ratio.measured or ratio.predicted, published,
            "Rotom over Fhelipe, published" if published else None, better="higher", checked=ratio.is_right,
            note=note if ratio.measured else f"as predicted; {note}",
        )  # fmt: skip


def run_rows(case: str, found: Measured) -> Iterator[Row]:
    """Rows of the times of runs after the first."""
    note = found.note or found.shortage
    yield Row(case, "run", "s", found.seconds, checked=found.is_right, note=note)
    yield Row(case, "run, processor time", "s", found.processor_seconds, checked=found.is_right, note=note)


def means(found: dict[str, list[Faster]], chosen: Sequence[str]) -> Iterator[Row]:
    """Geometric means over the paper's workloads, as far as they were run; the target is for all of them.

    chosen  the workloads that were asked for
    """
    for name, ratios in found.items():
        held = [ratio for ratio in ratios if ratio.workload in PAPER]
        run = [ratio for ratio in held if ratio.measured is not None]
        target = MEAN_TARGET if name == BASELINES[0].name and set(chosen) >= set(PAPER) else None
        missing = [workload for workload in PAPER if workload not in [ratio.workload for ratio in run]]
        note = f"without {', '.join(missing)}" if missing else None
        for metric, values, wanted in (
            (f"times faster than {name}, predicted", [ratio.predicted for ratio in held], None),
            (f"times faster than {name}", [ratio.measured for ratio in run if ratio.measured], target),
        ):
            mean = _geometric_mean(values) if values else None
            right = not missing and all(ratio.is_right for ratio in run)
            case = f"geometric mean of {len(values)} workloads"
            yield Row(case, metric, "x", mean, target=wanted, better="higher", checked=right, note=note)


def _geometric_mean(values: Sequence[float]) -> float:
    return exp(sum(map(log, values)) / len(values))
