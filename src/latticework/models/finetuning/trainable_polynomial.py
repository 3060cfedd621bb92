"""One function as a polynomial with coefficients to train: an operator of its own, so that graphs show it as one node.

`latticework::polynomial(x, coefficients, interval)` is the sum of coefficients[k] T_k(t), where t is x moved from the
interval to [-1, 1]; the importer reads exactly that.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from latticework.values.packing.packed_constants import IntervalPolynomial


@torch.library.custom_op("latticework::polynomial", mutates_args=())
def chebyshev(x: Tensor, coefficients: Tensor, interval: Tensor) -> Tensor:
    """The polynomial elementwise, by Clenshaw's recurrence, in numbers of x's kind."""
    t = on_unit(x, interval)
    first, *others = coefficients.to(x.dtype).unbind()
    last, before = torch.zeros_like(t), torch.zeros_like(t)
    for c in reversed(others):
        last, before = torch.addcmul(c - before, t, last, value=2.0), last
    return torch.addcmul(first - before, t, last)


@chebyshev.register_fake
def _shape(x: Tensor, coefficients: Tensor, interval: Tensor) -> Tensor:
    return torch.empty_like(x)


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _slopes(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None]:
    """Derivatives by x and by the coefficients: T_k' = k U_(k-1), both by their recurrences."""
    x, coefficients, interval = ctx.saved_tensors
    t, low_high = on_unit(x, interval), interval.to(x.dtype)
    first, second = torch.ones_like(t), t  # T_(k-1), T_k
    lower, upper = torch.zeros_like(t), torch.ones_like(t)  # U_(k-2), U_(k-1)
    by_t, by_each = torch.zeros_like(t), [slope.sum()]
    for k, c in enumerate(coefficients.to(x.dtype).unbind()[1:], start=1):
        by_each.append((slope * second).sum())
        by_t = torch.addcmul(by_t, upper, c, value=float(k))
        first, second = second, 2.0 * t * second - first
        lower, upper = upper, 2.0 * t * upper - lower
    by_x = slope * by_t * (2.0 / (low_high[1] - low_high[0]))
    return by_x, torch.stack(by_each).to(coefficients.dtype), None


chebyshev.register_autograd(_slopes, setup_context=_keep)


def on_unit(x: Tensor, interval: Tensor) -> Tensor:
    """x moved from the interval to [-1, 1]."""
    low, high = interval.to(x.dtype).unbind()
    return (2.0 * x - (low + high)) / (high - low)


class PolynomialFunction(nn.Module):
    """A polynomial of one number on an interval, elementwise.

    name          of the function that it stands for
    coefficients  of Chebyshev polynomials, the lowest degree first: trained, unless they require no gradient
    interval      its two ends, a buffer
    """

    def __init__(self, name: str, polynomial: IntervalPolynomial, *, trainable: bool = True) -> None:
        super().__init__()
        self.name = name
        exact = {"dtype": torch.float64}
        self.coefficients = nn.Parameter(torch.tensor(polynomial.coefficients, **exact), requires_grad=trainable)
        self.register_buffer("interval", torch.tensor(polynomial.interval, **exact))
        self._given: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        """The polynomial of every element."""
        if torch.is_grad_enabled() and not torch.compiler.is_exporting():
            self._given = x
        return chebyshev(x, self.coefficients, self.interval)

    def excess(self, reach: float) -> Tensor | None:
        """The squared distance of the last arguments beyond `reach` of the interval (1: its end), summed over a row.

        The mean over rows, in units of half the interval; None before the first forward with gradients.
        """
        if self._given is None:
            return None
        beyond = (on_unit(self._given, self.interval).abs() - reach).clamp_min(0.0)
        return beyond.square().sum() / max(1, beyond.shape[0] if beyond.dim() else 1)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the last arguments, which belong to a graph of gradients."""
        return self.__dict__ | {"_given": None}

    def extra_repr(self) -> str:
        """The text that PyTorch shows for this module."""
        low, high = self.interval.tolist()
        return f"{self.name}, degree {len(self.coefficients) - 1} on [{low:.4g}, {high:.4g}]"
