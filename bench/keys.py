"""`latticework bench keys`: how many keys, how many bytes of them, and the time, by strategy and by price of a key."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import latticework as lw
from bench.lenet.suite import HELD_OUT, load, options, scores, trained
from bench.rows import Row, report, show
from latticework.commands.machine.bootstrap_timing import EncryptedBootstrap
from latticework.compiler.codegen.bootstrap_plans import bits_of, bootstrap_plan, precision
from latticework.compiler.options.techniques import ALL, ALONE, Techniques
from latticework.plan.analysis.estimate import estimate
from latticework.plan.analysis.simulate import simulate_slots
from latticework.plan.cost import CostModel
from latticework.plan.cost.block_maps import block_prices
from latticework.plan.parameters import BOOTSTRAP_SETS, ModulusChain, bootstrap_chain
from latticework.plan.schema.schema import Plan

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
err = Console(stderr=True, highlight=False)
OWN = "a key for each step"
PRICES = "0,0.05,0.1,0.2,0.5,1,2,5,20"
ROOM_BITS = 1.0  # by which a bootstrap may be less precise than the model of its set says


@dataclass(frozen=True)
class Strategy:
    """How rotations get their keys: what is left out of the techniques, and the price of a gigabyte in seconds."""

    changes: Mapping[str, Any]
    price: float = 0.0

    def techniques(self, base: Techniques) -> Techniques:
        return replace(base, **self.changes)


def strategies(prices: str) -> dict[str, Strategy]:
    """By name, what others are compared with first."""
    priced = {f"key_price={price}": Strategy({}, float(price)) for price in prices.split(",")}
    return {
        OWN: Strategy({"horner_giants": False, "shared_keys": False}),
        **priced,
        "iterated (Min-KS)": Strategy({"rotation_keys": "iterated"}),
        "signed powers of two": Strategy({"rotation_keys": "powers-of-two"}),
    }


@app.command()
def keys(
    sets: Annotated[str, typer.Option(help=f"Bootstraps of these, by comma: {', '.join(BOOTSTRAP_SETS)}")] = "T12,A14",
    data: Annotated[Path | None, typer.Option(help="LeNet-5 too, trained on this .npz of images and labels.")] = None,
    prices: Annotated[str, typer.Option(help="Seconds of a run that a gigabyte less is worth, by comma.")] = PRICES,
    run: Annotated[int, typer.Option(min=0, help="Timed runs of each, encrypted; 0: predicted and simulated.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Keys, their bytes and times; results, simulated with noise or decrypted, are compared with what they should."""
    rows: list[Row] = []
    for name in filter(None, sets.split(",")):
        with err.status(name):
            rows += rows_of_set(name, prices, run)
    if data is not None:
        with err.status("LeNet-5"):
            rows += rows_of_lenet(data, prices, run)
    conditions = {"reference": OWN, "time": "one thread; measured is processor time, median", "runs": run}
    show(report("keys", rows, conditions), json)


def rows_of_set(name: str, prices: str, run: int) -> Iterator[Row]:
    """Of one bootstrap to the highest level."""
    chain = bootstrap_chain(name)
    plans = {label: bootstrap_by(chain, strategy) for label, strategy in strategies(prices).items()}
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, chain.slots) + 1j * rng.uniform(-1, 1, chain.slots)
    found, seconds = {}, {}
    for label, plan in plans.items():
        if run:
            case = EncryptedBootstrap(chain, plan, threads=1)
            sent = case.encrypt(x)
            found[label] = precision(case.decrypt(case.run(sent)), x).rms_bits
            seconds[label] = timed(lambda: case.run(sent), run)  # noqa: B023
        else:
            found[label] = precision(simulate_slots(plan, [x], noise=rng)[0], x).rms_bits
    wanted = bits_of(chain).rms_bits - ROOM_BITS
    right = {label: bits >= wanted for label, bits in found.items()}
    yield from rows_of_plans(f"bootstrap {name}", plans, right, seconds)
    for label, bits in found.items():
        yield Row(f"bootstrap {name}, {label}", "precision rms", "bits", bits, found[OWN], OWN, wanted, "higher", True)


def bootstrap_by(chain: ModulusChain, strategy: Strategy) -> Plan:
    """The plan of a bootstrap: by the cost table if keys have a price, else with the widths of its set."""
    costs = CostModel.load().with_key_price(strategy.price)
    prices = (lambda at: block_prices(costs, chain, at.index, at.track)) if strategy.price else None
    return bootstrap_plan(chain, chain.slots, top(chain), prices=prices, techniques=strategy.techniques(ALONE))


def top(chain: ModulusChain) -> int:
    """The highest level that bootstraps leave."""
    return chain.main.top - chain.floor


def rows_of_lenet(data: Path, prices: str, run: int) -> Iterator[Row]:
    """Of one image; the file of its keys is as large as the manifest says."""
    given, image = options(data), np.asarray(load(data)[-HELD_OUT:].images[:1, None], dtype=np.float64)
    expected = scores(trained(data), image[:, 0])
    plans, right, seconds = {}, {}, {}
    for label, strategy in strategies(prices).items():
        model = lw.compile(**given, techniques=strategy.techniques(ALL), key_price=strategy.price)
        plans[label] = model.plan
        if run:
            client = model.client()
            made = client.keygen()
            with tempfile.TemporaryDirectory() as folder:
                made.public().save(folder)
                stored = (Path(folder) / "evaluation.lwkeys").stat().st_size
            server, sent = model.server(made.public(), threads=1), client.encrypt(image[0])
            result = np.asarray(client.decrypt(server(sent)).reveal())
            seconds[label] = timed(lambda: server(sent), run)  # noqa: B023
            predicted = model.plan.client.manifest.total_stored_bytes
            is_stored = 0 <= stored - predicted <= 0.01 * predicted  # heads of sections, and their hashes
        else:
            result, is_stored = np.asarray(model.simulate(image[0])), True
        error = np.max(np.abs(result.reshape(-1) - expected.reshape(-1))) / np.max(np.abs(expected))
        right[label] = bool(error <= 2.0 ** -given["precision_bits"]) and is_stored
    yield from rows_of_plans("LeNet-5", plans, right, seconds)


def rows_of_plans(
    case: str, plans: Mapping[str, Plan], right: Mapping[str, bool], seconds: Mapping[str, float]
) -> Iterator[Row]:
    """Keys, bytes and times of each strategy beside those of a key for each step."""
    costs = CostModel.load()
    metrics: dict[str, tuple[str, Callable[[str], float]]] = {
        "keys": ("", lambda label: len(plans[label].keys)),
        "keys stored": ("MB", lambda label: plans[label].client.manifest.total_stored_bytes / 1e6),
        "predicted": ("s", lambda label: estimate(plans[label], costs).warm_seconds),
    }
    if seconds:
        metrics["measured"] = ("s", lambda label: seconds[label])
    for label in plans:
        for metric, (unit, value) in metrics.items():
            yield Row(f"{case}, {label}", metric, unit, value(label), value(OWN), OWN, checked=right[label])


def timed(work: Callable[[], object], runs: int) -> float:
    """Median processor time."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return statistics.median(found)
