"""The network: 784 pixels, 128 units whose activation is a square, ten scores."""

from __future__ import annotations

import numpy as np

import latticework as lw


@lw.program
def scores(x: lw.Secret[784], w1, b1, w2, b2):  # type: ignore[no-untyped-def]
    """Scores of one image, whose pixels are numbers from 0 to 1."""
    return np.square(x @ w1 + b1) @ w2 + b2
