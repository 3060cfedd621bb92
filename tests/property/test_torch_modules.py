"""Random small modules: PyTorch, the imported program in NumPy, and compiled on the simulator agree."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import latticework as lw
from latticework.plan.analysis.simulate import simulate

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402

SMOOTH = (nn.Tanh, nn.Sigmoid)
ALL = (*SMOOTH, nn.ReLU, nn.SiLU, nn.GELU, nn.ELU, nn.LeakyReLU, nn.Hardswish)
QUIET = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


class Residual(nn.Module):
    def __init__(self, inner: nn.Module, in_place: bool) -> None:
        super().__init__()
        self.inner, self.in_place = inner, in_place

    def forward(self, x: Tensor) -> Tensor:
        y = self.inner(x)
        if self.in_place:
            y += x
            return y
        return x + y


class Both(nn.Module):
    """Two parts side by side along the channels."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.first(x), self.second(x)], dim=1)


def convolution(draw: st.DrawFn, before: int, after: int) -> nn.Module:
    kernel = draw(st.sampled_from((1, 3)))
    groups = draw(st.sampled_from([g for g in (1, 2) if before % g == 0 and after % g == 0]))
    return nn.Conv2d(before, after, kernel, padding=kernel // 2, groups=groups, bias=draw(st.booleans()))


def normalisation(draw: st.DrawFn, channels: int, smooth: bool) -> nn.Module:
    kinds = [nn.BatchNorm2d(channels), nn.Identity(), nn.Dropout()]
    return draw(st.sampled_from(kinds if smooth else [*kinds, nn.GroupNorm(1, channels), nn.InstanceNorm2d(channels)]))


@st.composite
def images(draw: st.DrawFn, smooth: bool = False) -> nn.Sequential:
    """Of (1, 2, 6, 6): convolutions, norms, activations, sums, joined branches, pools, and a classifier."""
    torch.manual_seed(draw(st.integers(0, 999)))
    parts: list[nn.Module] = []
    channels, size, activations = 2, 6, SMOOTH if smooth else ALL
    for _ in range(draw(st.integers(1, 1 if smooth else 3))):
        kind = draw(st.sampled_from(("plain", "residual", "both")))
        if kind == "residual":
            parts.append(Residual(convolution(draw, channels, channels), draw(st.booleans())))
        elif kind == "both":
            parts.append(Both(convolution(draw, channels, 2), convolution(draw, channels, 2)))
            channels = 4
        else:
            parts.append(convolution(draw, channels, 3))
            channels = 3
        parts += [normalisation(draw, channels, smooth), draw(st.sampled_from(activations))()]
        if size > 3 and draw(st.booleans()):
            parts.append(draw(st.sampled_from((nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(3)))))
            size = 3
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(channels * size * size, 3))


@st.composite
def vectors(draw: st.DrawFn, smooth: bool = False) -> nn.Sequential:
    """Of (1, 6): linear layers, norms, activations, sums and joined branches."""
    torch.manual_seed(draw(st.integers(0, 999)))
    parts: list[nn.Module] = []
    width, activations = 6, SMOOTH if smooth else ALL
    for _ in range(draw(st.integers(1, 1 if smooth else 4))):
        kind = draw(st.sampled_from(("plain", "residual", "both")))
        if kind == "residual":
            parts.append(Residual(nn.Linear(width, width), draw(st.booleans())))
        elif kind == "both":
            parts.append(Both(nn.Linear(width, 3), nn.Linear(width, 4)))
            width = 7
        else:
            parts.append(nn.Linear(width, 5))
            width = 5
        if not smooth and draw(st.booleans()):
            parts.append(draw(st.sampled_from((nn.LayerNorm(width), nn.RMSNorm(width)))))
        parts.append(draw(st.sampled_from(activations))())
    return nn.Sequential(*parts, nn.Linear(width, 2))


def check(module: nn.Module, seed: int, simulated: bool = False) -> None:
    rng = np.random.default_rng(seed)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
    module = module.double().eval()
    shape = (2, 6, 6) if isinstance(module[-2], nn.Flatten) else (6,)
    x = rng.normal(size=(1, *shape))
    program, exact = lw.from_torch(module, x), module(torch.from_numpy(x)).detach().numpy()
    size = max(float(np.abs(exact).max()), 1.0)
    np.testing.assert_allclose(program(x), exact, rtol=0, atol=1e-12 * size)
    if simulated:
        data = rng.normal(size=(20, *shape))
        model = lw.compile(program, calibrate=data, precision_bits=6, ring_degree=2048, insecure=True)
        (found,) = simulate(model.plan, [data[:1]])
        assert (
            np.abs(found - program(data[:1])).max() < 2**-6 * np.abs(np.vstack([program(d[None]) for d in data])).max()
        )


@settings(max_examples=8, **QUIET)
@given(module=images(), seed=st.integers(0, 999))
def test_images(module: nn.Module, seed: int) -> None:
    check(module, seed)


@settings(max_examples=8, **QUIET)
@given(module=vectors(), seed=st.integers(0, 999))
def test_vectors(module: nn.Module, seed: int) -> None:
    check(module, seed)


@settings(max_examples=2, **QUIET)
@given(module=vectors(smooth=True), seed=st.integers(0, 999))
def test_vectors_on_the_simulator(module: nn.Module, seed: int) -> None:
    check(module, seed, simulated=True)


@pytest.mark.slow
@settings(max_examples=300, **QUIET)
@given(module=st.one_of(images(), vectors()), seed=st.integers(0, 999))
def test_many(module: nn.Module, seed: int) -> None:
    check(module, seed)


@pytest.mark.slow
@settings(max_examples=20, **QUIET)
@given(module=st.one_of(images(smooth=True), vectors(smooth=True)), seed=st.integers(0, 999))
def test_many_on_the_simulator(module: nn.Module, seed: int) -> None:
    check(module, seed, simulated=True)
