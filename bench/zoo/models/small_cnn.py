"""A small convolutional network on scikit-learn's digits, with average and with max pools: 1,797 images of 8 x 8."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel

TRAINED, EPOCHS, BATCH, RATE = 1200, 40, 64, 1e-2


def _trained(pool: str) -> Any:
    import torch
    from sklearn.datasets import load_digits
    from torch import nn

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    pixels, labels = load_digits(return_X_y=True)
    images = torch.tensor(pixels.reshape(-1, 1, 8, 8) / 16, dtype=torch.float32)
    classes = torch.tensor(labels)
    make_pool = getattr(nn, pool)
    network = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), make_pool(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), make_pool(2),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters(), RATE)
    for _ in range(EPOCHS):
        for first in range(0, TRAINED, BATCH):
            batch = slice(first, min(first + BATCH, TRAINED))
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[batch]), classes[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return network.eval(), images.numpy().astype(np.float64), labels


def _imported(prepared: Any, bits: int) -> ZooModel:
    network, images, labels = prepared
    program = lw.from_torch(network, images[:1].astype(np.float32))
    return ZooModel(program, images[:TRAINED, None], images[TRAINED:, None], labels[TRAINED:], {"precision_bits": bits})


ENTRIES = {
    "cnn-average": ZooEntry(
        "two convolutions with ReLU and average pools on digits of 8 x 8", partial(_trained, "AvgPool2d"),
        partial(_imported, bits=6), rows=256,
    ),
    "cnn-max": ZooEntry(
        "the same with max-pools", partial(_trained, "MaxPool2d"), partial(_imported, bits=5), rows=64, memory="8GB",
    ),
}  # fmt: skip
