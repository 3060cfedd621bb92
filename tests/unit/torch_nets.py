"""Networks of PyTorch as people write them, at sizes for tests; with PyTorch's random weights of a seed."""

import torch
from torch import nn


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


def made(kind: type[nn.Module], seed: int = 0, *args: int) -> nn.Module:
    """A network in evaluation mode, whose batch norms have statistics as after training."""
    torch.manual_seed(seed)
    module = kind(*args)
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(0, 0.2)
            part.running_var.uniform_(0.5, 2)
    return module.eval()
