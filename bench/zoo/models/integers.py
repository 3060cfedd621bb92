"""An integer circuit: the highest of eight encrypted bids of 16 bits, exactly."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

import numpy as np

import latticework as lw
from bench.zoo.entry import SEED, ZooEntry, ZooModel

BIDDERS, WIDTH, ROWS = 8, 16, 64


@lw.circuit
def highest_bid(bids: lw.bits(WIDTH, BIDDERS, replicate=True)) -> Any:  # type: ignore[valid-type]
    """The highest bid; every pair is compared, so that no comparison waits for another."""
    total = 0
    for i, bid in enumerate(bids):
        beats = [bid > other if j < i else bid >= other for j, other in enumerate(bids) if j != i]
        total = total + reduce(and_, beats) * bid
    return total


def _bids() -> Any:
    return np.random.default_rng(SEED).integers(0, 1 << WIDTH, (ROWS, BIDDERS))


def _auction(bids: Any) -> ZooModel:
    return ZooModel(
        highest_bid, None, bids, None, {"scheme": "bfv", "effort": "fast", "plain_bits": 21},
        itself=lambda rows: np.max(rows, axis=1), encode=np.asarray, finish=np.asarray, encrypted_as="bids",
    )  # fmt: skip


ENTRIES = {"highest-bid": ZooEntry("the highest of 8 encrypted bids of 16 bits, exact", _bids, _auction)}
