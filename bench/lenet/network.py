"""LeNet-5 with squares as activations: two convolutions with pooling, three dense layers.

After Y. LeCun et al., Gradient-based learning applied to document recognition (1998), without its padding. Every
quadratic activation is a square up to shifts of its argument and result, which the biases hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import latticework as lw

SIDE, CLASSES = 28, 10
# Name -> shape, in the order of the program's weights.
SHAPES: dict[str, tuple[int, ...]] = {
    "kernels1": (6, 1, 5, 5), "bias1": (6,), "kernels2": (16, 6, 5, 5), "bias2": (16,),
    "dense3": (256, 120), "bias3": (120,), "dense4": (120, 84), "bias4": (84,), "dense5": (84, CLASSES),
    "bias5": (CLASSES,),
}  # fmt: skip


def lenet(
    image: lw.Secret[1, SIDE, SIDE], kernels1: Any, bias1: Any, kernels2: Any, bias2: Any, dense3: Any, bias3: Any,
    dense4: Any, bias4: Any, dense5: Any, bias5: Any,
) -> Any:  # fmt: skip
    """Scores of the ten digits for one image, of numbers in [0, 1]."""
    maps = lw.avg_pool2d(lw.square(lw.conv2d(image, kernels1, bias1)), 2)  # (6, 12, 12)
    maps = lw.avg_pool2d(lw.square(lw.conv2d(maps, kernels2, bias2)), 2)  # (16, 4, 4)
    hidden = lw.square(np.reshape(maps, (256,)) @ dense3 + bias3)
    hidden = lw.square(hidden @ dense4 + bias4)
    return hidden @ dense5 + bias5


PROGRAM = lw.program(lenet)
