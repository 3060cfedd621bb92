"""LeNet-5 on the images of --digits: with ReLU, trained on with parabolas, and with the squares of `bench lenet`."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

import latticework as lw
from bench.lenet.network import PROGRAM
from bench.lenet.train import HELD_OUT, load
from bench.lenet.train import trained as trained_squares
from bench.zoo.entry import ZooEntry, ZooModel
from latticework.commands.benchmarks import ROOT

CALIBRATED = 1000
SQUARES_BITS = 8


def _example() -> Any:
    """`examples/models/lenet5.py`, whose network and training these are."""
    spec = importlib.util.spec_from_file_location("lenet5_example", ROOT / "examples" / "models" / "lenet5.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def _relu(data: Path) -> Any:
    example = _example()
    known, held_out = example.load(data)
    return example.trained(*_learnt(known)), known, held_out


def _tuned(data: Path) -> Any:
    network, known, held_out = _relu(data)
    return _example().tuned(network, *_learnt(known)), known, held_out


def _learnt(known: Any) -> Any:
    """Without the images to calibrate by: those that a network has learnt say little of what others need."""
    return tuple(each[CALIBRATED:] for each in known)


def _squares(data: Path) -> Any:
    return trained_squares(data), load(data)


def _imported(options: dict[str, Any]) -> Any:
    def made(prepared: Any) -> ZooModel:
        network, (images, _), (held_out, classes) = prepared
        program = lw.from_torch(network, images[:1])
        return ZooModel(program, images[:CALIBRATED].numpy(), held_out.numpy(), classes.numpy(), options)

    return made


def _with_squares(prepared: Any) -> ZooModel:
    weights, digits = prepared
    images = np.asarray(digits.images[:, None], dtype=np.float64)
    options = {"weights": weights, "precision_bits": SQUARES_BITS}
    return ZooModel(PROGRAM, images[:64], images[-HELD_OUT:], digits.labels[-HELD_OUT:], options)


ENTRIES = {
    "lenet-squares": ZooEntry(
        "LeNet-5 with squares, as `bench lenet` trains it", _squares, _with_squares, rows=HELD_OUT, of_digits=True
    ),
    "lenet-relu": ZooEntry(
        "LeNet-5 with ReLU, trained with PyTorch, degrees by agreement", _relu, _imported({"agreement": 0.995}),
        rows=HELD_OUT, of_digits=True,
    ),
    "lenet-relu-15": ZooEntry(
        "LeNet-5 with ReLU, trained with PyTorch, degrees 15, 15, 7, 7", _relu, _imported({"degree": [15, 15, 7, 7]}),
        rows=HELD_OUT, of_digits=True,
    ),
    "lenet-tuned": ZooEntry(
        "LeNet-5 with ReLU, trained on with polynomials of degree 2", _tuned,
        _imported({"precision_bits": SQUARES_BITS}), rows=HELD_OUT, of_digits=True,
    ),
}  # fmt: skip
