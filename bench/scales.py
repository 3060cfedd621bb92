"""`latticework bench scales`: when values come down to lower levels, by three rules, predicted and measured."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console

import latticework as lw
from bench.rows import Row, report, show
from latticework.compiler.options.techniques import LEAST_TIME, Rescaling
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
RNG = np.random.default_rng(0)
QUERY, VALUE = RNG.normal(size=(2, 64, 64)) / 8
Inputs = tuple[npt.NDArray[np.float64], ...]


@lw.program
def gated(x: lw.Secret[64]):  # type: ignore[no-untyped-def]
    """A linear unit with a gate."""
    return (x @ VALUE) * lw.polynomial(x, [0.5, 0.25, 0.0, -0.02, 0.0, 0.002, 0.0, -0.0002])


@lw.program
def attention(x: lw.Secret[8, 64]):  # type: ignore[no-untyped-def]
    """Scores of rows by rows, and sums of what is made of rows."""
    scores = lw.polynomial((x @ QUERY) @ x.T, [0.5, 0.25, 0.1])
    return scores @ (x @ VALUE)


@lw.program
def moments(x: lw.Secret[1024]):  # type: ignore[no-untyped-def]
    """Mean, variance and a fourth moment, of which the first two are ready early."""
    mean = np.mean(x)
    apart = x - mean
    square = apart * apart
    return mean, np.mean(square), np.mean(square * square)


@lw.program
def newton(a: lw.Secret[256], x: lw.Secret[256]):  # type: ignore[no-untyped-def]
    """Three steps to an inverse, applied to something else."""
    y = 2.0 - a
    for _ in range(3):
        y = y * (2.0 - a * y)
    return y * (x * x + a)


@lw.program
def smoothed(x: lw.Secret[1024]):  # type: ignore[no-untyped-def]
    """A moving average, weighted by a polynomial."""
    smooth = x + np.roll(x, 1) + np.roll(x, 2) + np.roll(x, 3)
    return smooth * lw.polynomial(x, [0.1, 0.4, 0.0, -0.05, 0.02])


SHAPES: dict[str, list[tuple[int, ...]]] = {"attention": [(8, 64)], "gated": [(64,)], "newton": [(256,), (256,)]}
PROGRAMS = {p.name: p for p in (gated, attention, moments, newton, smoothed)}


def example(program: Any) -> Inputs:
    """Inputs of a program."""
    rng = np.random.default_rng(1)
    low = 0.6 if program is newton else -0.5
    return tuple(rng.uniform(low, low + 0.8, shape) for shape in SHAPES.get(program.name, [(1024,)]))


@app.command()
def scales(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, by turns; the median is shown.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compile programs by each rule, run them encrypted, by turns, and compare the results with NumPy."""
    rows: list[Row] = []
    for name, program in PROGRAMS.items():
        with err.status(name):
            rows += program_rows(program, example(program), runs, CostModel.load())
    conditions = {
        "security": "128 bits; 12 bits of precision; one thread; processor time",
        "ratio": "how many times more the rule takes than coming down where that takes less",
    }
    show(report("scales", rows, conditions), json)


def program_rows(program: Any, inputs: Inputs, runs: int, costs: CostModel) -> list[Row]:
    """Predicted and measured seconds of each rule beside those of ours."""
    rules: Sequence[Rescaling] = get_args(Rescaling)
    names = (parameter.name for parameter in program.parameters)
    calibration = {name: np.stack([x] * 2) for name, x in zip(names, inputs, strict=True)}
    models = {
        rule: lw.compile(program, calibrate=calibration, techniques=lw.Techniques(rescaling=rule)) for rule in rules
    }
    predicted = {rule: estimate(model.plan, costs).warm_seconds for rule, model in models.items()}
    measured, errors = measure(models, inputs, program(*inputs), runs)
    rows = []
    for rule in rules:
        if rule == LEAST_TIME:
            continue
        for metric, seconds in (("predicted", predicted), ("measured", measured)):
            rows.append(
                Row(
                    program.name, f"{metric}, beside {rule}", "s", seconds[LEAST_TIME], seconds[rule], rule,
                    checked=all(error <= 1.0 for error in errors.values()),
                    details={"largest error by its bound": {r: round(e, 4) for r, e in errors.items()}},
                )
            )  # fmt: skip
    return rows


def measure(
    models: Mapping[Rescaling, Any], inputs: Inputs, expected: Any, runs: int
) -> tuple[dict[Rescaling, float], dict[Rescaling, float]]:
    """Median processor seconds of encrypted runs by turns, and the largest error over its bound, of each model."""
    run: dict[Rescaling, Callable[[], Any]] = {}
    errors = {}
    for rule, model in models.items():
        client = model.client()
        server, sent = model.server(client.keygen().public()), client.encrypt(*inputs)
        run[rule] = lambda server=server, sent=sent: server(sent)  # type: ignore[misc]
        found, wanted = client.decrypt(run[rule]()), expected if isinstance(expected, tuple) else (expected,)
        results = found if isinstance(found, tuple) else (found,)
        errors[rule] = max(
            float(np.abs(result.reveal() - want).max()) / result.error_bound
            for result, want in zip(results, wanted, strict=True)
        )
    seconds: dict[Rescaling, list[float]] = {rule: [] for rule in models}
    for _ in range(runs):
        for rule, once in run.items():
            start = time.process_time()
            once()
            seconds[rule].append(time.process_time() - start)
    return {rule: statistics.median(each) for rule, each in seconds.items()}, errors
