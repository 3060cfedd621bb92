"""Networks for the tests of `lw.torch.prepare`."""

import torch
from torch import nn
from torch.nn import functional


class Mixed(nn.Module):
    """Functions called in all ways there are: of modules, by name, as methods, in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)
        self.relu, self.bounded = nn.ReLU(inplace=True), nn.Hardtanh(-1.0, 1.0, inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.relu(self.first(x))
        h = functional.gelu(h - 0.25).tanh() + torch.sigmoid(h)
        torch.relu_(h)
        self.bounded(h)
        h += functional.leaky_relu(h - 0.5, 0.1)
        return self.last(functional.silu(h))


MIXED = ("relu", "gelu", "tanh", "sigmoid", "relu", "clamp", "leaky_relu", "silu")


class Trained(nn.Module):
    """Rows are normalised and dropped in training; the owner has the softmax at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop, self.last = (
            nn.Linear(6, 5),
            nn.BatchNorm1d(5),
            nn.Dropout(0.5),
            nn.Linear(5, 3),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.drop(torch.tanh(self.norm(self.first(x))))
        return torch.softmax(self.last(h), dim=-1)


class Pools(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.pool = nn.Conv2d(1, 2, 3), nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = functional.max_pool2d(self.pool(torch.relu(self.conv(x))), 3, stride=1, padding=1)
        return functional.adaptive_max_pool2d(h, 1).flatten(1)


class Means(Pools):
    """The same with means."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = functional.avg_pool2d(torch.relu(self.conv(x)), 2)
        h = functional.avg_pool2d(h, 3, stride=1, padding=1, count_include_pad=False)
        return functional.adaptive_avg_pool2d(h, 1).flatten(1)


class Unfit(nn.Module):
    """Two functions that no polynomial stands for, between two that one does."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inner, self.last = nn.LayerNorm(6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.relu(self.norm(x))
        h = torch.softmax(self.inner(h), dim=-1)
        return self.last(torch.relu(0.0 * h))


class Fickle(nn.Module):
    """Calls one function less in training."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.first(x))
        return self.last(h if self.training else torch.relu(h))
