"""ResNet-20 on handwritten digits: trained with PyTorch, a few minutes on two cores, and kept as a state dict.

python examples/models/resnet20.py digits.npz --weights resnet20.pt

The file of digits holds `images` (n, 28, 28) of bytes and `labels` (n,). The network is the one for small pictures in
K. He et al., Deep residual learning for image recognition (2016), section 4.2, as usually written: ReLU, batch norms,
three stages of three blocks with 16, 32 and 64 channels, convolutions of single pixels beside the blocks that halve
the picture, and the mean of whole maps before the last layer. Digits are framed to 32 x 32, in three equal channels.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import nn

SIDE, CHANNELS, CLASSES = 32, 3, 10
HELD_OUT = 2000  # digits, the last ones, on which nothing is trained
BATCH, RATE, SHIFT = 64, 0.05, 2


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Sequential()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inside = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(inside)) + self.shortcut(x))


class ResNet20(nn.Module):
    """(rows, 3, 32, 32) -> scores (rows, 10)."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(CHANNELS, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.stage1 = stage(width, width, 1)
        self.stage2 = stage(width, 2 * width, 2)
        self.stage3 = stage(2 * width, 4 * width, 2)
        self.pool, self.dense = nn.AdaptiveAvgPool2d(1), nn.Linear(4 * width, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.bn(self.conv(x)))
        x = self.stage3(self.stage2(self.stage1(x)))
        return self.dense(torch.flatten(self.pool(x), 1))


def stage(before: int, after: int, stride: int) -> nn.Sequential:
    """Three blocks, of which the first may halve the picture."""
    return nn.Sequential(Block(before, after, stride), Block(after, after, 1), Block(after, after, 1))


def digits(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n, 3, 32, 32) of numbers in [0, 1], and their classes (n,)."""
    with np.load(path) as file:
        images, labels = file["images"], file["labels"].astype(np.int64)
    frame = (SIDE - images.shape[1]) // 2
    framed = np.pad(images.astype(np.float32) / 255, ((0, 0), (frame, frame), (frame, frame)))
    return np.repeat(framed[:, None], CHANNELS, axis=1), labels


def loaded(weights: Path) -> ResNet20:
    """The network with the weights of a state dict, ready to be imported; nothing in the file is executed."""
    network = ResNet20()
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network.eval()


def train(pictures: np.ndarray, labels: np.ndarray, epochs: int, seed: int, say=print) -> ResNet20:
    """A network trained on pictures that are moved by up to two pixels, differently in every epoch."""
    torch.manual_seed(seed)
    network = ResNet20()
    steps = epochs * -(-len(pictures) // BATCH)
    optimiser = torch.optim.SGD(network.parameters(), RATE, momentum=0.9, nesterov=True, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    x, y = torch.from_numpy(pictures), torch.from_numpy(labels)
    for epoch in range(epochs):
        network.train()
        losses = []
        for chosen in torch.randperm(len(x)).split(BATCH):
            moved = torch.roll(x[chosen], tuple(torch.randint(-SHIFT, SHIFT + 1, (2,)).tolist()), (2, 3))
            loss = nn.functional.cross_entropy(network(moved), y[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        say(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}")
    return network.eval()


def accuracy(network: ResNet20, pictures: np.ndarray, labels: np.ndarray) -> float:
    """Share of the pictures whose class has the largest score."""
    with torch.no_grad():
        scores = torch.cat([network(part) for part in torch.from_numpy(pictures).split(200)])
    return float((scores.argmax(1).numpy() == labels).mean())


def main() -> None:
    """Train, keep the weights, and say how many of the digits held out are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("digits", type=Path, help="an .npz of images and labels")
    parser.add_argument("--weights", type=Path, default=Path("resnet20.pt"), help="where the state dict goes")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    pictures, labels = digits(asked.digits)
    network = train(pictures[:-HELD_OUT], labels[:-HELD_OUT], asked.epochs, asked.seed)
    torch.save(network.state_dict(), asked.weights)
    right = accuracy(network, pictures[-HELD_OUT:], labels[-HELD_OUT:])
    print(f"{right:.2%} of {HELD_OUT} digits held out are right; weights in {asked.weights}")


if __name__ == "__main__":
    main()
