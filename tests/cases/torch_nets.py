"""Networks of PyTorch as people write them, at sizes for tests; with PyTorch's random weights of a seed."""

from collections.abc import Callable

import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(6, 5), nn.Linear(5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.tanh(self.first(x)))


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(inplace=True))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(2, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.pool(self.features(x)), 1))


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU(inplace=True)
        self.down = nn.Sequential()
        if stride != 1 or before != after:
            self.down = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.down(x)
        return self.relu(out)


class ResNet20(nn.Module):
    """As usually written, with changes in place."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.layer1 = nn.Sequential(*(Block(width, width, 1) for _ in range(3)))
        self.layer2 = nn.Sequential(Block(width, 2 * width, 2), *(Block(2 * width, 2 * width, 1) for _ in range(2)))
        self.layer3 = nn.Sequential(Block(2 * width, 4 * width, 2), *(Block(4 * width, 4 * width, 1) for _ in range(2)))
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(4 * width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu_(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(self.pool(x), 1))


def made(kind: Callable[..., nn.Module], seed: int = 0, *args: object, **options: object) -> nn.Module:
    """A network in evaluation mode, whose batch norms have statistics as after training."""
    torch.manual_seed(seed)
    module = kind(*args, **options)
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(0, 0.2)
            part.running_var.uniform_(0.5, 2)
    return module.eval()


class LeNet5(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2, self.pool = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5), nn.AvgPool2d(2)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.tanh(self.conv1(x)))
        x = self.pool(torch.tanh(self.conv2(x))).flatten(1)
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


class Recurrent(nn.Module):
    """The last state of a recurrent layer, or of a cell carried over time, and a classifier."""

    def __init__(self, kind: str = "LSTM", **options: object) -> None:
        super().__init__()
        self.cell = "Cell" in kind
        self.layer = getattr(nn, kind)(3, 4, **options)
        self.head = nn.Linear(8 if options.get("bidirectional") else 4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.cell:
            return self.head(self.layer(x)[0][-1])
        state = None
        for part in x:
            state = self.layer(part, state)
        return self.head(state[0] if isinstance(state, tuple) else state)


def bert_block() -> nn.Module:
    """A layer of an encoder as BERT has it: attention, GELU, norms after the sums."""
    return nn.TransformerEncoderLayer(16, 2, 32, activation="gelu", batch_first=True)


class Whiles(nn.Module):
    """A loop that counts on a public number."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def goes_on(i: torch.Tensor, _y: torch.Tensor) -> torch.Tensor:
            return i < 4

        def turn(i: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return i + 1, torch.tanh(self.layer(y)) * i

        return while_loop(goes_on, turn, (torch.tensor(1), x))[1]


class Scans(nn.Module):
    """A loop over the rows of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def turn(carry: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            after = torch.tanh(self.layer(carry) + row)
            return after, after * 2

        return scan(turn, torch.zeros(3, dtype=x.dtype), x, dim=0)
