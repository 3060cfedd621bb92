"""KeyMemRT: rotation keys loaded and cleared, CKKS on OpenFHE."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from bench.papers.evaluation import Cell, Line, Paper, Section, Verdict
from bench.papers.results import Result

SMALL, MODELLED = Result("keymemrt-digits"), Result("keymemrt-modelled")
RESIDUAL, SHAPES = Result("keymemrt-residual-20"), Result("keymemrt-shapes")
MODELS = ("mlp", "lola", "lenet")
BUDGET = {"mlp": "mlp, 16.7 MB (1/10)", "lola": "lola, 18.4 MB (1/10)", "lenet": "lenet, 204 MB (1/10)"}
LESS = {"mlp": 1.85, "lola": 1.85, "lenet": 2.59}  # memory: the ends of the published range, of which LeNet's is named
ALL_MODELS = "theirs is over all their models, ours over three"
SLOWER = {"mlp": 1.7, "lola": 1.7, "lenet": 2.4}  # with powers of two
KEYS = (  # of the paper: name, keys, GB of keys; ours: file, case of the number, case of the bytes
    ("MLP", 27, 3.5, SMALL, "mlp, all in memory", "mlp, all in memory"),
    ("LoLa", 33, 4.3, SMALL, "lola, all in memory", "lola, all in memory"),
    ("LeNet", 117, 15.2, SMALL, "lenet, all in memory", "lenet, all in memory"),
    ("ResNet-20", 139, 18.1, RESIDUAL, "residual-20, all in memory", "residual-20, all in memory"),
    ("AlexNet", 285, 37.1, MODELLED, "alexnet-shaped, plan, modelled", "alexnet-shaped, all in memory, modelled"),
    ("ResNet-18", 267, 34.7, MODELLED, "resnet-18-shaped, plan, modelled", "resnet-18-shaped, all in memory, modelled"),
    ("ResNet-50", 442, 57.5, MODELLED, "resnet-50-shaped, plan, modelled", "resnet-50-shaped, all in memory, modelled"),
    *(
        (f"ResNet-{layers}", keys, gigabytes, SHAPES, f"resnet-{layers}-shaped, plan, modelled",
         f"resnet-{layers}-shaped, all in memory, modelled")
        for layers, keys, gigabytes in ((1, 75, 9.8), (8, 139, 18.1), (10, 213, 27.7), (32, 139, 18.1), (34, 267, 34.7))
    ),
)  # fmt: skip
LEFT = (("ResNet-44, 56", 139, 18.1),)


def paper() -> Paper:
    """All of its evaluation."""
    return Paper(
        "KeyMemRT", "CKKS, N = 2^16, depth 30, keys of 130 MB, OpenFHE 1.2.3, 72 cores and 512 GB",
        (_keys(), _all_resident(), _powers_of_two()),
    )  # fmt: skip


def _keys() -> Section:
    why = "shapes are theirs, widths not; rings are the smallest that fit"
    lines = []
    for name, keys, gigabytes, result, number, size in KEYS:
        megabytes = result.ours(size, "peak of keys")
        cells = (
            Cell(keys, result.ours(number, "keys"), is_fact=True),
            Cell(gigabytes, None if megabytes is None else megabytes / 1000),
        )
        lines.append(Line(name, cells, why, Verdict.NOT_COMPARABLE))
    lines += [
        Line(name, (Cell(keys, None, is_fact=True), Cell(gigabytes, None)), "not compiled yet")
        for name, keys, gigabytes in LEFT
    ]
    return Section(
        "Keys of the models, all in memory", ("keys (shown)", "GB of keys"), tuple(lines),
        f"{SMALL}; {RESIDUAL}; {MODELLED}; {SHAPES}",
        "A half of every key is a seed. Only the first four are run.",
    )  # fmt: skip


def _all_resident() -> Section:
    why = "reading and expanding keys takes processor time; keys are half the size, and all else more of the process"
    lines = []
    for name in MODELS:
        memory = _memory(SMALL, f"{name}, all in memory") / _memory(SMALL, BUDGET[name])
        cells = (
            Cell(LESS[name], memory, higher=True), Cell(1 / 1.03, SMALL.ours(BUDGET[name], "run, of all in memory")),
        )  # fmt: skip
        lines.append(Line(name, cells, why))
    budget = "residual-20, 1.00 GB (1GB)"
    cells = (
        Cell(1.19, _memory(RESIDUAL, "residual-20, all in memory") / _memory(RESIDUAL, budget), higher=True),
        Cell(1 / 1.99, RESIDUAL.ours(budget, "run, of all in memory")),
    )
    why = "their gain of time comes from a server that all keys overfill; ours held them"
    lines.append(Line("ResNet-20, balanced", cells, why, Verdict.NOT_COMPARABLE))
    mean = _mean([_memory(SMALL, f"{name}, all in memory") / _memory(SMALL, BUDGET[name]) for name in MODELS])
    times = _mean([SMALL.ours(BUDGET[name], "run, of all in memory") or 1.0 for name in MODELS])
    cells = (Cell(1.74, mean, higher=True), Cell(1 / 1.2, times))
    lines.append(Line("geometric mean", cells, ALL_MODELS, Verdict.NOT_COMPARABLE))
    return Section(
        "Against all keys in memory (ANT-ACE)", ("times less memory", "time, of all in memory"), tuple(lines),
        f"{SMALL}; {RESIDUAL}",
        "Low memory, of whole processes; ours with a tenth of unseeded key bytes. Of published ranges the easier end.",
    )  # fmt: skip


def _memory(result: Result, case: str) -> float:
    """The peak of a process in megabytes."""
    found = result.ours(case, "peak of the process")
    assert found is not None
    return found


def _powers_of_two() -> Section:
    lines, ratios, memories = [], [], []
    for name in MODELS:
        case = f"{name}, keys powers-of-two, all in memory"
        ratios.append((SMALL.ours(case, "run") or 0.0) / (SMALL.ours(BUDGET[name], "run") or 1.0))
        memories.append(_memory(SMALL, case) / _memory(SMALL, BUDGET[name]))
        lines.append(Line(name, (Cell(SLOWER[name], ratios[-1], higher=True), None)))
    why = "the baseline is our own code with such keys, which loses less by them"
    done = [Line(each.name, each.cells, why) if each.verdict is Verdict.LOST else each for each in lines]
    cells = (Cell(1.73, _mean(ratios), higher=True), Cell(1.16, _mean(memories), higher=True))
    done.append(Line("geometric mean", cells, ALL_MODELS, Verdict.NOT_COMPARABLE))
    largest = Line("the most, AlexNet and ResNet-50", (Cell(2.5, None, higher=True), None), "counted here, not run")
    return Section(
        "Against keys for powers of two (Fhelipe)", ("times faster", "times less memory"), (*done, largest), str(SMALL),
    )  # fmt: skip


def _mean(ratios: Sequence[float]) -> float:
    return prod(ratios) ** (1 / len(ratios))
