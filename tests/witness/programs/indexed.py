"""Parts of arrays by a number known at run time."""

import numpy as np
from cases import SMALL, case, one, uniform

import latticework as lw


@lw.program
def steps(x: lw.Secret[4], xs: lw.Secret[3, 4], n: lw.Index, table):
    return lw.for_loop(n, lambda i, w: w + xs[2 - i] - table[i], x)


@case
def parts_of_secret_and_public_arrays():
    model = lw.compile(steps, weights=(uniform((3, 4), 1),), **SMALL)
    return one(model, uniform(4, 2), uniform((3, 4), 3), 2)


@lw.program
def scanned(x: lw.Secret[4], xs: lw.Secret[3, 4]):
    return lw.scan(lambda carry, part: (carry + part, np.sum(carry)), x, xs)


@case
def results_of_all_iterations():
    return one(lw.compile(scanned, **SMALL), uniform(4, 1), uniform((3, 4), 2))
