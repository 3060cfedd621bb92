"""What is run: a program, deployed to a folder once, from which each run of it starts in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import latticework as lw
from bench.keymemrt import small
from bench.keymemrt.others import unseeded_bytes
from bench.keymemrt.residual import pictures, residual_network
from bench.lenet import suite as lenet_suite
from bench.lenet.train import HELD_OUT, Network, load, scores, trained
from latticework.errors import UserError
from latticework.plan.parameters import BOOTSTRAP_SETS

Made = tuple[Any, list[Any], Any]  # a model, inputs, and what the program makes of them in the clear
Maker = Callable[[Path | None, lw.Techniques], Made]
DIGITS = ("mlp", "lola", "lenet")  # trained on --data


@dataclass(frozen=True)
class Deployed:
    """What is known of a deployed program; bytes of keys.

    unseeded  all keys at the top level of the chain, both halves stored: what libraries keep that neither derive halves
              from seeds nor cut keys to the level of their use
    """

    name: str
    keys: int
    stored: int
    resident: int
    unseeded: int
    bootstraps: int


def deploy(name: str, folder: Path, data: Path | None, techniques: lw.Techniques | None = None) -> Deployed:
    """Compile, make keys, encrypt inputs; what is there already stays.

    raises  UserError for a model that there is not, or without the digits that it is trained on
    """
    if name not in MODELS:
        raise UserError(f"{name!r} is none of the models {', '.join(MODELS)}")
    if name in DIGITS and data is None:
        raise UserError(f"{name} is trained on digits: --data names an .npz of images and labels, such as MNIST")
    about = folder / "about.json"
    if about.exists():
        return Deployed(**json.loads(about.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    model, inputs, expected = MODELS[name](data, techniques or lw.Techniques())
    client = model.client()
    client.keygen(folder / "keys")
    model.save(folder / "model.lwplan")
    client.encrypt(*inputs).save(folder / "in.lwct")
    np.save(folder / "expected.npy", expected)
    plan = model.plan
    stored = sum(file.stat().st_size for file in (folder / "keys").glob("evaluation*"))
    resident, bootstraps = plan.client.manifest.total_resident_bytes, len(list(plan.bootstraps))
    made = Deployed(name, len(plan.keys), stored, resident, unseeded_bytes(plan), bootstraps)
    about.write_text(json.dumps(asdict(made)))
    return made


def error_of(folder: Path) -> tuple[float, float]:
    """The largest error of the result that a server wrote, against the program in the clear, and the stated one."""
    model = lw.Model.load(folder / "model.lwplan", allow_insecure=True)
    client = model.client()
    client.load_keys(folder / "keys")
    result = client.decrypt(client.load_encrypted(folder / "out.lwct"))
    error = np.max(np.abs(np.asarray(result.reveal()) - np.load(folder / "expected.npy")))
    return float(error), float(result.usual_error)


def _lenet(data: Path | None, techniques: lw.Techniques) -> Made:
    assert data is not None
    pixels = _pixels(data)
    model = lw.compile(**lenet_suite.options(data), techniques=techniques)
    return model, [pixels], scores(trained(data), pixels)[0]


def _small(network: Network, program: Any) -> Maker:
    def make(data: Path | None, techniques: lw.Techniques) -> Made:
        assert data is not None
        weights = trained(data, network=network)
        pixels = _pixels(data)
        options = lenet_suite.options(data) | {"program": program, "weights": weights}
        return lw.compile(**options, techniques=techniques), [pixels], small.scores(weights, pixels)[0]

    return make


def _pixels(data: Path) -> Any:
    """One image that was held out, (1, 28, 28)."""
    return np.asarray(load(data)[-HELD_OUT:].images[:1], dtype=np.float64)


def _bootstrapped(number: int, bootstrap_set: str) -> Maker:
    """A chain of products that needs so many bootstraps of full ciphertexts."""

    def make(_data: Path | None, techniques: lw.Techniques) -> Made:
        found = BOOTSTRAP_SETS[bootstrap_set]
        slots, steps = 1 << (found.log2_degree - 1), number * found.residual + 2

        @lw.program
        def halves(x: lw.Secret[slots]) -> Any:
            y = x
            for _ in range(steps):
                y = 0.5 * (y * y + x)
            return y

        x = np.random.default_rng(1).uniform(-1, 1, (8, slots))
        options: dict[str, Any] = {"bootstrap_set": found, "insecure": found.insecure, "techniques": techniques}
        model = lw.compile(halves, calibrate=x, precision_bits=8, **options)
        return model, [x[0]], halves(x[0])

    return make


def _residual(*blocks: int) -> Maker:
    def make(_data: Path | None, techniques: lw.Techniques) -> Made:
        inputs, network = pictures(16), residual_network(blocks)
        options: dict[str, Any] = {"bootstrap_set": "A14", "techniques": techniques}
        model = lw.compile(network, calibrate=inputs, precision_bits=2, **options)
        return model, [inputs[0]], network(inputs[0])

    return make


MODELS: dict[str, Maker] = {
    "mlp": _small(small.MLP, small.mlp),
    "lola": _small(small.LOLA, small.lola),
    "lenet": _lenet,
    "bootstrap-t12": _bootstrapped(2, "T12"),
    "bootstrap-a14": _bootstrapped(1, "A14"),
    "bootstraps-a14": _bootstrapped(3, "A14"),
    "residual-block": _residual(1),
    "residual-8": _residual(1, 1, 1),
    "residual-10": _residual(1, 1, 1, 1),
    "residual-20": _residual(3, 3, 3),
}
