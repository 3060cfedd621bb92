"""Modules of PyTorch that cannot be programs, each with what is said about it."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:  # here
            return x
        return -x


class Item(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * x.sum().item()  # here


class ChoosesSecretly(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0].sum()  # here


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.add_(x.sum(0))
        return x * 2


class Draws(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.randn(3)  # here


class ByNumPy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.from_numpy(x.numpy())  # here


class Places(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.max(1).indices.float()  # here


class Nearest(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.argmin(1)  # here


class Rounds(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.long() * x  # here


class Complex(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.fft(x).real  # here


class Broken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3, 3)
        self.last.weight.data[0, 0] = torch.nan

    def forward(self, x: Tensor) -> Tensor:
        return self.last(x)


class ComplexWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.phases = nn.Parameter(torch.zeros(3, dtype=torch.complex64))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.phases.real


class Constant(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ones(3)


class Nothing(nn.Module):
    def forward(self, x: Tensor) -> None:
        return None


class DropsAlways(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, 0.5, training=True)  # here


class Fails(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise ValueError("this model is not finished. Ask its author")  # here


class FillsFar(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.masked_fill(torch.eye(3) > 0, -torch.inf) ** 2  # here


REFUSED: dict[type[nn.Module], str] = {
    Branches: "depends on the values of an input",
    Item: "its value is secret",
    ChoosesSecretly: r"greater of secrets: .*lw\.greater\(.*without run_decompositions",
    Counts: "forward changes seen, and programs keep nothing",
    Draws: "draws random numbers",
    ByNumPy: "converted to NumPy",
    Places: "lw.argmax",
    Nearest: "lw.argmax",
    Rounds: "a secret as int64: rounding is a step",
    Complex: "fft",
    Broken: "1 of the 9 numbers of last.weight are NaN",
    ComplexWeights: "phases is of torch.complex64",
    Constant: "depends on no input",
    Nothing: "returns no tensor",
    DropsAlways: "call module.eval()",
    Fails: "ValueError: this model is not finished\\); write",
    FillsFar: "only a softmax takes",
}
