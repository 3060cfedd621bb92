"""ResNet-20 on handwritten digits, trained here."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel
from bench.zoo.packages import cache_folder

EPOCHS = 2
VERSION = 1  # of the training; counts up when its result changes
CALIBRATED, ROWS = 1000, 1000


def _prepared(digits: Path) -> Any:
    """The trained network, from the cache if it was trained before, with pictures and labels."""
    from examples.models import resnet20

    found = hashlib.sha256(digits.read_bytes() + repr((VERSION, EPOCHS, SEED)).encode()).hexdigest()[:16]
    kept = cache_folder() / f"resnet20-{found}.pt"
    pictures, labels = resnet20.digits(digits)
    if not kept.exists():
        import torch

        held = resnet20.HELD_OUT
        network = resnet20.train(pictures[:-held], labels[:-held], EPOCHS, SEED, say=lambda text: None)
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}.pt")
        torch.save(network.state_dict(), partial)
        partial.replace(kept)
    return resnet20.loaded(kept), pictures[:, None].astype(float), labels


def _made(prepared: Any) -> ZooModel:
    import numpy as np

    from examples.models import resnet20

    network, pictures, labels = prepared
    program = lw.from_torch(network, np.zeros(pictures.shape[1:]))
    options = {"agreement": 0.995, "precision_bits": 4, "bootstrap_set": "A14"}
    new, rows = pictures[-resnet20.HELD_OUT :], slice(-ROWS, None)  # what it has learnt says little of what others need
    return ZooModel(program, new[:CALIBRATED], pictures[rows], labels[rows], options)


ENTRIES = {
    "resnet20": ZooEntry(
        "ResNet-20 of examples/models, 3 x 32 x 32, trained on digits", _prepared, _made, 150.0,
        (1454.0, "ANT-ACE, CIFAR-10, its own log: 19 bootstraps, 34 GB of keys"), ROWS, of_digits=True, memory="7GB",
    ),
}  # fmt: skip
