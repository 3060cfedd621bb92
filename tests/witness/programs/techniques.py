"""The same program with techniques left out, and circuits with more or less effort."""

import numpy as np
from cases import SMALL, case, one, uniform

import latticework as lw


@lw.program
def network(x: lw.Secret[4, 8], w1, b1, w2):
    p = x @ w1
    h = np.square(p + b1) + p * np.roll(p, 1, axis=1)
    return h @ w2 + h.mean(axis=1, keepdims=True)


def without(*names):
    weights = uniform((8, 6), 1), uniform(6, 2), uniform((6, 4), 3)
    techniques = lw.Techniques(**dict.fromkeys(names, False))
    model = lw.compile(network, weights=weights, calibrate=uniform((16, 8)), techniques=techniques, **SMALL)
    return one(model, uniform((4, 8), 4))


@case
def with_everything():
    return without()


@case
def without_search_of_layouts():
    return without("layout_search", "client_copies", "rolls")


@case
def without_baby_steps():
    return without("baby_steps", "spread_sums", "measured_costs")


@case
def without_hoisting():
    return without("hoisting", "tuned_widths", "complex_packing")


@case
def without_sharing():
    return without("shared_babies", "shared_giants", "merged_maps")


@case
def without_laziness():
    return without("lazy_relinearization", "lazy_rescaling")
