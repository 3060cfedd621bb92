"""The paper's five routines: one product or rotation at a time, N = 32K with 8 limbs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.reports import Row
from bench.xehe.bounds import Switch
from bench.xehe.pairs import Pair, Run, compared, described
from bench.xehe.place import Place
from bench.xehe.published import SOURCE, TABLES
from bench.xehe.rates import ring_of
from latticework import _core, ckks

LIMBS, SPECIAL, DIGITS = 8, 2, 4
LOG_DEGREE, SMALL = 15, 12  # SMALL: on a simulation
BATCH = 32  # transforms at a time, of which one's time is taken
ROUTINES = ("MulLin", "MulLinRS", "SqrLinRS", "MulLinRSModSwAdd", "Rotate")
DROPPED = {"MulLinRS": 1, "SqrLinRS": 1, "MulLinRSModSwAdd": 1}  # limbs, in the division that ends a key switch


def routines(evaluator: ckks.Evaluator, a: ckks.Ciphertext, b: ckks.Ciphertext) -> dict[str, Run]:
    """By name."""

    def product() -> ckks.Ciphertext:
        return evaluator.mul_relin(a, b, rescale=True)

    low = evaluator.mod_switch(product())
    return {
        "MulLin": lambda: evaluator.mul_relin(a, b),
        "MulLinRS": product,
        "SqrLinRS": lambda: evaluator.relinearize(evaluator.square(a), rescale=True),
        "MulLinRSModSwAdd": lambda: evaluator.add(evaluator.mod_switch(product()), low),
        "Rotate": lambda: evaluator.rotate(a, 1),
    }


def moved(switch: Switch, name: str) -> list[float]:
    """Bytes at least, and with digits and sums."""
    if name == "Rotate":
        return switch.rotation()
    return switch.product(operands=1 if name == "SqrLinRS" else 2, dropped=DROPPED.get(name, 0))


def share_of_transforms(place: Place, case: str, switch: Switch, name: str, time_us: float) -> Row:
    """Transforms of a routine, each as long as one of a batch, over its time."""
    ring = ring_of(place.backend, switch.log_degree, LIMBS)
    loop = _core.TransformLoop(ring, list(range(LIMBS)), BATCH // LIMBS)
    one = place.seconds(loop.run, calls=16) / BATCH
    count = switch.transforms(DROPPED.get(name, 0))
    published = TABLES["routines"]["share_of_transforms_best"]
    return Row(case, "share of transforms", "", count * one * 1e6 / time_us, published, SOURCE,
               note=f"{count} transforms of one limb at {1e6 * one:.3g} us, as in batches of {BATCH}",
               details={"published, naive": TABLES["routines"]["share_of_transforms_naive"]})  # fmt: skip


def rows(place: Place) -> Iterator[Row]:
    """Each of them, and what part of it are transforms."""
    log_degree = LOG_DEGREE if place.is_timed else SMALL
    parameters = ckks.Parameters(
        1 << log_degree, [45, *[40] * (LIMBS - 1)], scale_bits=40, num_special=SPECIAL, num_digits=DIGITS,
        insecure=not place.is_timed,
    )  # fmt: skip
    pair = Pair.make(ckks, parameters, place, relin=True, steps=[1])
    random = np.random.default_rng(0)
    (a, host_a), (b, host_b) = (pair.encrypt(random.uniform(-1, 1, parameters.slots)) for _ in range(2))
    ours, theirs = routines(pair.device, a, b), routines(pair.host, host_a, host_b)
    switch = Switch(log_degree, LIMBS, SPECIAL, DIGITS)
    note = None if place.is_timed else f"N = 2^{log_degree} in place of 2^{LOG_DEGREE}"
    for name in ROUTINES:
        case = f"{name}, N = 2^{log_degree}, {LIMBS} limbs"
        row = compared(
            place, case, ours[name], theirs[name], moved(switch, name), note=note,
            transforms=switch.transforms(DROPPED.get(name, 0)),
            published={"speed-up over naive, devices 1 and 2": TABLES["routines"]["speedup_over_naive"]},
            **described(parameters),
        )  # fmt: skip
        yield row
        if row.ours and place.is_timed:
            yield share_of_transforms(place, case, switch, name, row.ours)
