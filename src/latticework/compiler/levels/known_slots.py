"""Find slots whose numbers are known to lie within [-1, 1], as clients check them, by running a module.

Slots of linear maps of inputs, and numbers that are known, are affine functions of inputs. Two of them that agree at a
few inputs drawn by chance agree everywhere, up to the rounding of constants: where they differ, they agree on a plane,
which no draw hits. So nothing has to be known of where the compiler put what, and slots beside it are never mistaken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass

Array = npt.NDArray[np.float64]

NEAR = 1e-6  # of a number, or of 1: constants are rounded
WITHIN = 1.0 - 1e-5  # of [-1, 1]: what is known keeps twice as far from its ends, so that rounding takes none beyond


@dataclass(frozen=True)
class Draw:
    """One input drawn by chance.

    inputs   its slots, each as the lowest and the highest, or a run-time integer
    known    numbers within [-1, 1] for inputs that clients accept, and  owners  what each is about
    """

    inputs: Sequence[Any]
    known: Array
    owners: npt.NDArray[np.int64]


def owners_of(slots: Sequence[Array], draws: Sequence[Draw]) -> npt.NDArray[np.int64]:
    """The thing that every slot's number is about, if all draws agree; -1: it holds none of them.

    slots  (count, slots), in each draw
    """
    order = np.argsort(draws[0].known, kind="stable")
    known = np.stack([draw.known[order] for draw in draws])
    held = np.stack([array.reshape(-1) for array in slots])
    after = np.searchsorted(known[0], held[0])
    owners = np.full(held.shape[1], -1, dtype=np.int64)
    for place in (after - 1, after):
        at = np.clip(place, 0, known.shape[1] - 1)
        is_same = np.all(np.abs(held - known[:, at]) <= NEAR * np.maximum(1.0, np.abs(held)), axis=0)
        owners = np.where(is_same, draws[0].owners[order][at], owners)
    return owners.reshape(slots[0].shape)
