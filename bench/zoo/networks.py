"""Networks whose weights others published as state dicts: their shapes in PyTorch, and where their weights lie."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bench.zoo.packages import member

FloatArray = npt.NDArray[np.float64]

SITES = 20_318
ROWS = 272


class AltumAge(nn.Module):
    """Age in years from methylation at 20318 sites, each between 0 and 1, which are scaled first.

    After L. P. de Lima Camillo et al., A pan-tissue DNA-methylation epigenetic clock based on deep learning (2022).
    """

    def __init__(self, center: FloatArray, scale: FloatArray) -> None:
        super().__init__()
        self.register_buffer("center", torch.tensor(center))
        self.register_buffer("scale", torch.tensor(scale))
        widths = [SITES, 32, 32, 32, 32, 32, 1]
        for number in range(1, 7):
            setattr(self, f"bn{number}", nn.BatchNorm1d(widths[number - 1], eps=1e-3))
            setattr(self, f"linear{number}", nn.Linear(widths[number - 1], widths[number]))

    def forward(self, x: Any) -> Any:
        """(rows, 20318) -> (rows, 1)."""
        x = (x - self.center) / self.scale
        for number in range(1, 6):
            x = torch.selu(getattr(self, f"linear{number}")(getattr(self, f"bn{number}")(x)))
        return self.linear6(self.bn6(x))


def altum_age() -> tuple[AltumAge, FloatArray]:
    """The network with its published weights, and rows around the published centres of the sites, (ROWS, 1, 20318)."""
    text = io.StringIO(member("biolearn", "biolearn/data/AltumAge.csv").decode())
    rows = list(csv.DictReader(text))
    center, scale = (np.array([float(row[name]) for row in rows]) for name in ("center", "scale"))
    network = AltumAge(center, scale + 1e-8)
    _fill(network, member("biolearn", "biolearn/data/AltumAge.pt"))
    spread = scale / 1.35 * np.random.default_rng(0).normal(size=(ROWS, 1, SITES))
    return network, np.clip(center + spread, 0.0, 1.0)


class Curves(nn.Module):
    """Three convolutions over 100 points, with steep leaks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 128, (1, 3), padding=(0, 1))
        self.conv2 = nn.Conv2d(128, 256, (1, 3), padding=(0, 1))
        self.conv3 = nn.Conv2d(256, 1, (1, 3), padding=(0, 1))

    def forward(self, x: Any) -> Any:
        """(rows, 1, 1, 100) -> the same."""
        for conv in (self.conv1, self.conv2, self.conv3):
            x = nn.functional.leaky_relu(conv(x), 0.2)
        return x


class Scalp(nn.Module):
    """Three convolutions over a map of 32 x 32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 128, 4, stride=2, padding=1)
        self.conv2 = nn.Conv2d(128, 256, 4, stride=2, padding=1)
        self.conv3 = nn.Conv2d(256, 512, 4, stride=2, padding=1)

    def forward(self, x: Any) -> Any:
        """(rows, 1, 32, 32) -> (rows, 512, 4, 4)."""
        for conv in (self.conv1, self.conv2, self.conv3):
            x = nn.functional.leaky_relu(conv(x), 0.2)
        return x


class ICLabel(nn.Module):
    """Scores of seven kinds of EEG components, of one map and two curves.

    After L. Pion-Tonachini et al., ICLabel (2019), without its softmax and its mean over four mirrored maps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.img_conv, self.psds_conv, self.autocorr_conv = Scalp(), Curves(), Curves()
        self.conv = nn.Conv2d(712, 7, 4)

    def forward(self, image: Any, spectrum: Any, correlation: Any) -> Any:
        """(1, 1, 32, 32), (1, 1, 1, 100), (1, 1, 1, 100) -> (1, 7)."""
        scalp = self.img_conv(image)
        curves = [net(x) for net, x in ((self.psds_conv, spectrum), (self.autocorr_conv, correlation))]
        wide = [curve.permute(0, 3, 1, 2).expand(1, 100, 4, 4) for curve in curves]
        return self.conv(torch.cat([scalp, *wide], 1)).reshape(1, 7)


ICLABEL_FOLDER = "mne_icalabel/iclabel/network/assets/"


def icalabel() -> ICLabel:
    """The network with its published weights."""
    network = ICLabel()
    _fill(network, member("mne-icalabel", f"{ICLABEL_FOLDER}ICLabelNet.pt"))
    return network


def components(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Maps, spectra and autocorrelations like those of components, one a row, in [-1, 1]: of two smooth sources."""
    rng = np.random.default_rng(0)
    line = np.linspace(-1.0, 1.0, 32)
    across, along = np.meshgrid(line, line)
    maps = np.zeros((count, 32, 32))
    for _ in range(2):
        x, y = rng.uniform(-0.8, 0.8, (2, count, 1, 1))
        width, sign = rng.uniform(0.2, 0.9, (count, 1, 1)), rng.choice([-1.0, 1.0], (count, 1, 1))
        maps += sign * np.exp(-((across - x) ** 2 + (along - y) ** 2) / (2 * width**2))
    maps *= across**2 + along**2 <= 1.0
    frequency = np.arange(1, 101)
    slope, peak = rng.uniform(0.3, 2.0, (count, 1)), rng.uniform(5, 40, (count, 1))
    spectra = -slope * np.log(frequency) + rng.uniform(0, 3, (count, 1)) * np.exp(-(((frequency - peak) / 3) ** 2))
    delays = np.arange(100) / 100
    turns, decay = rng.uniform(1, 20, (count, 1)), rng.uniform(1, 10, (count, 1))
    correlations = np.cos(2 * np.pi * turns * delays) * np.exp(-decay * delays)
    scaled = [0.99 * each / np.abs(each).max(axis=tuple(range(1, each.ndim)), keepdims=True) for each in (
        maps, spectra, correlations)]  # fmt: skip
    return scaled[0][:, None, None], scaled[1][:, None, None, None], scaled[2][:, None, None, None]


def _fill(network: nn.Module, file: bytes) -> None:
    """Weights of a state dict, which is read without executing anything in it; float64, ready to be used."""
    stored = torch.load(io.BytesIO(file), weights_only=True)
    wanted = network.state_dict()
    network.load_state_dict({name: stored.get(name, wanted[name]) for name in wanted})
    missing = [name for name in wanted if name not in stored and name not in ("center", "scale")]
    assert not missing, f"the file lacks {', '.join(missing)}"
    network.double().eval()
