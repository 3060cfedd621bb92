"""Samples that calibration kept of a function's arguments, channel by channel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from latticework.functions.approximation.chebyshev import FloatArray, Interval
from latticework.lazy_dataclass import dataclass

NARROW = 0.9  # of the range of all: channels on average at most so wide are worth polynomials of their own
MARGIN = 0.1  # of the range seen, by which that of a function reaches further on each side, if nothing else is asked
LEAST_SAMPLES = 64  # fewer say too little about the range of a channel
MOST_CHANNELS = 1 << 12
QUANTILES = 33


@dataclass(frozen=True)
class ChannelSamples:
    """Samples of each channel along one axis of a tensor.

    axis     counted from the end: -1 is the last
    samples  by place along it, numbers that the argument takes there, in order: the first and the last are the ends
    margin   of the range of a channel, by which it is to reach further on each side
    as_parabolas  whether polynomials are parabolas, whose constants public maps beside them take in
    """

    axis: int
    samples: tuple[tuple[float, ...], ...]
    margin: float = MARGIN
    as_parabolas: bool = False

    def attribute_text(self) -> str:
        """Return the text of the attribute in the IR."""
        kind = ", parabolas" if self.as_parabolas else ""
        return f'"{len(self.samples)} channels along axis {self.axis}{kind}"'

    @property
    def ranges(self) -> list[Interval]:
        """Least and largest argument seen of each channel."""
        return [(row[0], row[-1]) for row in self.samples]


def telling_axis(low: FloatArray, high: FloatArray, samples: int, rows: int | None) -> int | None:
    """The axis, from the end, along which ranges differ most; None where they hardly do, or too little is known.

    low, high  of every element of a tensor, over so many samples
    rows       axis along which the rows of a batch lie, which are no channels
    """
    whole = float(high.max() - low.min())
    if samples < LEAST_SAMPLES or not whole > 0.0:
        return None
    candidates = []
    for axis, extent in enumerate(low.shape):
        if 1 < extent <= MOST_CHANNELS and axis != rows:
            others = tuple(other for other in range(low.ndim) if other != axis)
            candidates.append((float(np.mean(high.max(others) - low.min(others))) / whole, axis - low.ndim))
    narrowest = min(candidates, default=(1.0, 0))
    return narrowest[1] if narrowest[0] <= NARROW else None


def channel_samples(
    axis: int, low: FloatArray, high: FloatArray, values: FloatArray, places: npt.NDArray[np.int64],
    margin: float = MARGIN,
) -> ChannelSamples:  # fmt: skip
    """Build the samples of a tensor of which some elements were kept.

    low, high  of every element
    values     those that were kept, and  places  their numbers in C order
    """
    place = low.ndim + axis
    channels = places // int(np.prod(low.shape[place + 1 :], dtype=np.int64)) % low.shape[place]
    others = tuple(other for other in range(low.ndim) if other != place)
    rows = []
    for channel, ends in enumerate(zip(low.min(others).tolist(), high.max(others).tolist(), strict=True)):
        seen = np.clip(np.append(values[channels == channel], ends), *ends)
        rows.append((ends[0], *np.quantile(seen, np.linspace(0.0, 1.0, QUANTILES))[1:-1].tolist(), ends[1]))
    return ChannelSamples(axis, tuple(rows), margin)
