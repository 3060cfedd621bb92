"""LeNet-5 on encrypted handwritten digits: train it with PyTorch, import it, compile it and run it.

    python examples/models/lenet5.py mnist.npz [--tuned]

The file holds images (n, 28, 28) of bytes and labels (n,), under any two names; the last thousand images are held out.
With --tuned it is trained on with parabolas in the place of ReLU, which is several times as quick encrypted.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import latticework as lw

SEED, HELD_OUT, CALIBRATED, ENCRYPTED = 0, 1000, 1000, 8


class LeNet5(nn.Module):
    """Scores of the ten digits, (rows, 1, 28, 28) -> (rows, 10): two convolutions with pools, three dense layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.dense3, self.dense4, self.dense5 = nn.Linear(256, 120), nn.Linear(120, 84), nn.Linear(84, 10)
        self.pool = nn.AvgPool2d(2)

    def forward(self, image):
        maps = self.pool(torch.relu(self.conv1(image)))
        maps = self.pool(torch.relu(self.conv2(maps)))
        hidden = torch.relu(self.dense3(torch.flatten(maps, 1)))
        hidden = torch.relu(self.dense4(hidden))
        return self.dense5(hidden)


def load(path):
    """Images (n, 1, 28, 28) in [0, 1] and labels (n,), as tensors: those to train with, and those held out."""
    with np.load(path) as file:
        arrays = [file[name] for name in file.files]
    images = next(array for array in arrays if array.shape[1:] == (28, 28))[:, None] / 255.0
    labels = next(array for array in arrays if array.ndim == 1)
    images, labels = torch.tensor(images, dtype=torch.float32), torch.tensor(labels.astype(np.int64))
    return (images[:-HELD_OUT], labels[:-HELD_OUT]), (images[-HELD_OUT:], labels[-HELD_OUT:])


def train(network, images, labels, epochs, rate, loss_of):
    """Adam on a loss of (network, images, labels); in every epoch each image is moved by up to two pixels."""
    generator, batch = torch.Generator().manual_seed(SEED), 64
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * -(-len(images) // batch))
    framed = functional.pad(images, (2, 2, 2, 2))
    network.train()
    for _ in range(epochs):
        moves = torch.randint(0, 5, (len(images), 2), generator=generator).tolist()
        for chosen in torch.randperm(len(images), generator=generator).split(batch):
            moved = [framed[i, :, r : r + 28, c : c + 28] for i, (r, c) in ((i, moves[i]) for i in chosen.tolist())]
            loss = loss_of(network, torch.stack(moved), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 2.0)
            optimizer.step()
            schedule.step()
    return network.eval()


def trained(images, labels, epochs=12):
    """LeNet-5 with ReLU, by the cross entropy."""
    torch.manual_seed(SEED)
    return train(LeNet5(), images, labels, epochs, 2e-3, lambda n, x, y: functional.cross_entropy(n(x), y))


def tuned(network, images, labels, epochs=10):
    """The same, trained on with polynomials of degree 2 in the place of ReLU, to give the scores that it gave."""
    prepared = lw.torch.prepare(network, images[:1], images[:CALIBRATED], degree=2)

    def loss_of(learning, moved, classes):
        with torch.no_grad():
            chances = functional.softmax(network(moved) / 2, dim=1)
        found = learning(moved)
        likeness = 4 * functional.cross_entropy(found / 2, chances)
        return functional.cross_entropy(found, classes) + likeness + 0.01 * lw.torch.range_loss(learning)

    train(prepared, images, labels, epochs, 2e-3, loss_of)
    lw.torch.recalibrate(prepared, images)
    return prepared


def accuracy(network, images, labels):
    """Share of the images whose digit has the largest score."""
    with torch.no_grad():
        return float((network(images).argmax(1) == labels).double().mean())


def main():
    """Train, import, compile and run; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="an .npz of images and labels, such as MNIST")
    parser.add_argument("--tuned", action="store_true", help="train on with polynomials in the place of ReLU")
    given = parser.parse_args()
    (images, labels), (held_out, classes) = load(given.file)
    learnt = images[CALIBRATED:], labels[CALIBRATED:]  # images that it has not seen tell what new ones need
    network = trained(*learnt)
    print(f"LeNet-5 with ReLU: {accuracy(network, held_out, classes):.1%} of {HELD_OUT} images held out")
    options = {"agreement": 0.995}
    if given.tuned:
        network, options = tuned(network, *learnt), {"precision_bits": 8}
        print(f"trained on with parabolas: {accuracy(network, held_out, classes):.1%}")
    program = lw.from_torch(network, images[:1])
    model = lw.compile(program, calibrate=images[:CALIBRATED].numpy(), **options)
    costs = model.costs()
    print(f"{model.plan.chain.main.top} levels, {costs.later_run_seconds:.2f} s a run predicted")
    report = model.accuracy(held_out.numpy(), classes.numpy(), encrypted=ENCRYPTED)
    print(report)
    encrypted = report.columns[-1]
    return 0 if encrypted.agreement == 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
