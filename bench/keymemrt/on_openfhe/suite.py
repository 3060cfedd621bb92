"""`latticework bench keymemrt-openfhe`: rotation keys as values on OpenFHE, in four modes beside one another.

Networks have the sizes of the recorded models and seeded weights: keys and time do not depend on them.
"""

from __future__ import annotations

import json as jsons
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.compile_cases import lenet
from bench.keymemrt.on_openfhe import modes
from bench.keymemrt.on_openfhe.dialect_text import DialectLines
from bench.keymemrt.small import LOLA_SHAPES, MLP_SHAPES, lola, mlp
from bench.peers.environments import PEERS, environment, variables
from bench.peers.process import WORKERS
from bench.rows import Row, report, show
from latticework.frontend.heir.keys import place_keys
from latticework.frontend.heir.parse import parse
from latticework.model import check_inputs
from latticework.plan.analysis.simulate import simulate
from latticework.plan.export.lift_plan import lift_plan
from latticework.plan.export.product_depth import count_depth
from latticework.plan.schema.schema import Plan
from latticework.values.inputs.reading_budget import ReadingLimits
from latticework.values.packing.slot_arrays import as_vectors

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
OPENFHE = next(peer for peer in PEERS if peer.name == "openfhe")
REAL = lw.Techniques(complex_packing=False)
SCALE_BITS, BOOTSTRAP_SCALE_BITS = 50, 59
LEVEL_BUDGET = (3, 3)  # of a bootstrap's transforms
OF_ALL, OF_LOW = 0.5, 0.9  # memory of ours over that with all keys, and over that by KeyMemRT's low-memory rule
AHEAD = 4  # keys that KeyMemRT's balanced mode may hold beyond what low memory does
LIMITS = ReadingLimits(work=1 << 30, memory_bytes=1 << 31)
NEAR = 1e-4


@dataclass(frozen=True)
class Placed:
    """A program in one mode: its lines, and the names of its results."""

    mode: str
    lines: list[modes.Line]
    ends: list[str]

    @property
    def counts(self) -> tuple[int, int]:
        """Loads, and keys held at once."""
        return modes.count_loads(self.lines)


def _digits(program: Any, shapes: dict[str, tuple[int, ...]]) -> lw.Model:
    rng = np.random.default_rng(5)
    inner = [1e2 if len(s) == 1 else np.prod(s[1:]) if len(s) == 4 else s[0] for s in shapes.values()]
    weights = [rng.normal(scale=n**-0.5, size=s) for n, s in zip(inner, shapes.values(), strict=True)]
    return lw.compile(
        program, weights=weights, calibrate=rng.uniform(0, 1, (16, 1, 28, 28)), precision_bits=8, techniques=REAL
    )


def _bootstrapped() -> lw.Model:
    """Products with a sum of rotated slots on the way and one bootstrap of all slots; small and INSECURE."""
    slots = 1 << 11

    @lw.program
    def halves(x: lw.Secret[slots]) -> Any:  # type: ignore[valid-type]
        y = 0.5 * x + 0.25 * (np.roll(x, 1) + np.roll(x, 5))
        for _ in range(10):
            y = 0.5 * (y * y + x)
        return y + 0.1 * np.roll(y, 7)

    data = np.random.default_rng(1).uniform(-1, 1, (8, slots))
    options: dict[str, Any] = {"bootstrap_set": "T12", "insecure": True, "techniques": REAL}
    return lw.compile(halves, calibrate=data, precision_bits=8, **options)


MODELS: dict[str, Callable[[], lw.Model]] = {
    "mlp": lambda: _digits(mlp, MLP_SHAPES),
    "lola": lambda: _digits(lola, LOLA_SHAPES),
    "lenet": lambda: lw.compile(**lenet(), techniques=REAL),
    "bootstrap": _bootstrapped,
}


@app.command()
def main(
    models: Annotated[str, typer.Option(help=f"by comma, of {', '.join(MODELS)}")] = "mlp,lola,lenet",
    budgets: Annotated[
        str,
        typer.Option(help="keys that ours may hold, by comma; if not given, those of low memory, a quarter"),
    ] = "",
    rounds: Annotated[int, typer.Option(help="runs of each mode, in turns")] = 3,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Measure memory and time with all keys, by KeyMemRT's two modes, and with keys placed by ours."""
    python, rows = environment(OPENFHE), list[Row]()
    for name in models.split(","):
        with err.status(name), tempfile.TemporaryDirectory(prefix="latticework-keys-") as folder:
            rows += measure(name, Path(folder), python, [int(b) for b in budgets.split(",") if b], rounds)
    conditions = {
        "library": OPENFHE.requirements[0], "threads": 1, "rounds": f"{rounds}, in turns, a process each",
        "memory": "most that the process of a run had resident, Python and the library included; it has no secret key",
        "time": "processor time of the run, loads of keys included, median",
        "keys": "each is a file, a map of one key when loaded; EvalAutomorphism takes it, and OpenFHE's own list is "
        "empty, since the package clears that as a whole only",
    }  # fmt: skip
    show(report("keymemrt-openfhe", rows, conditions), json)


def measure(name: str, folder: Path, python: Path, budgets: list[int], rounds: int) -> Iterator[Row]:
    """Rows of one model."""
    model = MODELS[name]()
    plan = model.plan
    program = lift_plan(plan)
    text = DialectLines(program)
    (folder / "program.mlir").write_text(text.write())
    inputs = given(model)
    about: dict[str, Any] = {
        "slots": program.slots, "depth": max(1, count_depth(program)) + 1, "inner": (), "insecure_ring": 0,
        "level_budget": (), "scale_bits": SCALE_BITS,
    }  # fmt: skip
    if program.has("bootstrap"):
        about |= {
            "level_budget": LEVEL_BUDGET, "insecure_ring": 2 * program.slots, "scale_bits": BOOTSTRAP_SCALE_BITS,
        }  # fmt: skip
        (folder / "about.json").write_text(jsons.dumps(about))
        about["inner"] = _ask(python, "inner", folder)["inner"]
    inner = tuple(about["inner"])
    keyed = {b: _placed(folder, b, len(inputs), inner) for b in budgets or [None]}
    first, ends = next(iter(keyed.values()))
    steps = sorted({key for line in first for key in line.keys})
    low = Placed("low-memory rule", modes.low_memory(first), ends)
    if not budgets:
        keyed = {
            b: _placed(folder, b, len(inputs), inner) for b in (low.counts[1], max(low.counts[1] + 1, len(steps) // 4))
        }
    all_modes = [
        Placed("all", modes.without_keys(first), ends), low,
        Placed("balanced rule", modes.balanced(first, low.counts[1] + AHEAD), ends),
        *(Placed(f"ours, {b} keys", lines, own) for b, (lines, own) in keyed.items()),
    ]  # fmt: skip
    for each in all_modes:
        (folder / f"{_file(each)}.py").write_text(modes.source_of(each.lines, each.ends))
    about |= {"steps": steps, "inputs": len(inputs), "outputs": len(ends)}
    (folder / "about.json").write_text(jsons.dumps(about))
    np.save(folder / "inputs.npy", np.stack([np.tile(v, program.slots // len(v)) for v in inputs]))
    np.stack(text.plaintexts).tofile(folder / "plaintexts.bin")
    made = _ask(python, "make", folder)
    found: dict[str, list[dict[str, float]]] = {each.mode: [] for each in all_modes}
    errors = {}
    for _ in range(rounds):
        for each in all_modes:
            found[each.mode].append(_ask(python, "run", folder, _file(each)))
            if each.mode not in errors:
                _ask(python, "open", folder)
                errors[each.mode] = difference(plan, program.slots, program.factors, folder, model)
    yield from rows_of(name, all_modes, found, errors, {**about, **made})


def _file(placed: Placed) -> str:
    return placed.mode.replace(",", "").replace(" ", "_")


def _placed(
    folder: Path, budget: int | None, inputs: int, inner: tuple[int, ...]
) -> tuple[list[modes.Line], list[str]]:
    """The lines of the text with keys for a budget, and its results."""
    keyed = place_keys(folder / "program.mlir", budget=budget, function="main", limits=LIMITS, boot_keys=inner)
    return modes.lines_of(parse(keyed.text, "program.mlir"), inputs, inner)


def given(model: lw.Model) -> list[Any]:
    """Slot vectors of one input drawn by chance."""
    return [v for i, value in _values(model) for v in as_vectors(i.pack_values(value))]


def _values(model: lw.Model) -> list[tuple[Any, Any]]:
    secret = model.plan.client.secret_inputs
    drawn = {i.name: np.random.default_rng(6).uniform(0, 1, i.shape) for i in secret}
    values, _ = check_inputs(model.plan.client, (), drawn)
    return list(zip(secret, values, strict=True))


def difference(plan: Plan, slots: int, factors: tuple[float, ...], folder: Path, model: lw.Model) -> float:
    """How far decrypted results are off the plan's, run in the clear."""
    vectors, worst = list(np.load(folder / "result.npy")), 0.0
    wanted = simulate(plan, [value for _, value in _values(model)])
    for output, factor, exact in zip(plan.client.outputs, factors, wanted, strict=True):
        joined = np.concatenate([vectors.pop(0)[: output.pack.slots] for _ in range(output.pack.count)])
        found = factor * joined[output.pack.first_places()]
        worst = max(worst, float(np.max(np.abs(found - np.reshape(exact, -1)))))
    return worst


def rows_of(
    name: str,
    placed: list[Placed],
    found: dict[str, list[dict[str, float]]],
    errors: dict[str, float],
    facts: dict[str, Any],
) -> Iterator[Row]:  # fmt: skip
    """Peak of the process and time of each mode; ours beside all keys and beside the low-memory rule."""
    peak = {mode: median(run["peak_bytes"] for run in runs) / 1e6 for mode, runs in found.items()}
    time = {mode: median(run["cpu"] for run in runs) for mode, runs in found.items()}
    shown = {key: facts[key] for key in ("ring_degree", "key_bytes", "depth", "slots")}
    for each in placed:
        loads, held = each.counts
        details = {**shown, "keys": len(facts["steps"]), "loads": loads, "held": held, "error": errors[each.mode],
                   "wall": median(run["wall"] for run in found[each.mode])}  # fmt: skip
        right = errors[each.mode] <= NEAR
        case = f"{name}, {each.mode}"
        ours = each.mode.startswith("ours")
        yield Row(case, "peak of the process", "MB", peak[each.mode], peak["all"], "all keys",
                  OF_ALL * peak["all"] if ours else None, checked=right, details=details, required=ours)  # fmt: skip
        yield Row(case, "run", "s", time[each.mode], time["all"], "all keys", checked=right)
        if ours:
            low = "low-memory rule"
            yield Row(case, "peak of the process", "MB", peak[each.mode], peak[low], low, OF_LOW * peak[low],
                      checked=right, required=True)  # fmt: skip
            yield Row(case, "run", "s", time[each.mode], time[low], low, time[low], checked=right, required=True)


def _ask(python: Path, *words: str | Path) -> dict[str, Any]:
    command = [str(python), str(WORKERS / "openfhe_keys_worker.py"), *map(str, words)]
    environment_ = variables() | {"OMP_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment_)
    if done.returncode:
        raise lw.UserError(f"bench keymemrt-openfhe: {' '.join(map(str, words))}: {done.stderr.strip()[-300:]}")
    answer: dict[str, Any] = jsons.loads(done.stdout.strip().splitlines()[-1])
    return answer
