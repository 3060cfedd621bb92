"""Transforms, products, rotations and keys of a ring of bootstraps, each beside the host and its bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.reports import Row
from bench.xehe.bounds import Switch, bounded, transform_bytes
from bench.xehe.ladder import is_right
from bench.xehe.pairs import Pair, compared, described
from bench.xehe.place import Place, counted, host_seconds
from bench.xehe.rates import ring_of
from latticework import _core, ckks

LARGE, SMALL = Switch(16, 28, 7, 4), Switch(11, 4, 2, 2)  # SMALL: on a simulation
STEPS = [1, 2, 3, 4, 5]
CALLS = 16
FROM_MEMORY, FROM_L2 = 128, 24  # limbs


def transforms(place: Place) -> Iterator[Row]:
    """Of many limbs, which come from memory, and of few, which stay in the device's cache."""
    log_degree = LARGE.log_degree if place.is_timed else SMALL.log_degree
    for name, count, bandwidth in (("transform", FROM_MEMORY, "copy"), ("transform in L2", FROM_L2, "read")):
        limbs = count if place.is_timed else 2
        chosen = list(range(limbs))
        ring = ring_of(place.backend, log_degree, limbs)
        loop, checked = _core.TransformLoop(ring, chosen), is_right(ring)
        case = f"{name}, one of {limbs} limbs, N = 2^{log_degree}"
        if not place.is_timed:
            yield counted(case, place.counts(loop.run), checked=checked)
            continue
        host = host_seconds(_core.TransformLoop(ring_of("auto", log_degree, limbs), chosen).run) / limbs
        seconds = place.seconds(partial(loop.run, CALLS)) / (CALLS * limbs)
        yield bounded(place, case, seconds, [transform_bytes(log_degree, 2)], name=name, bandwidth=bandwidth, host=host,
                      checked=checked)  # fmt: skip


def key_upload(place: Place, pair: Pair) -> Row:
    """All keys of the evaluator from the host's memory to the device's."""
    keys, context = pair.host.keys, pair.device.parameters.context
    case = f"upload of {len(keys.specs)} keys, {keys.num_bytes / 1e6:.4g} MB"

    def run() -> _core.EvaluationKeys:
        return _core.move(keys.core, context)

    if not place.is_timed:
        return counted(case, place.counts(run))
    seconds = place.seconds(run, repeats=3)
    return Row(case, "time", "ms", 1e3 * seconds, note=f"{keys.num_bytes / seconds / 1e9:.3g} GB/s")


def rows(place: Place) -> Iterator[Row]:
    """Product, rotation, and one more rotation of the same ciphertext, as the difference of five and one."""
    yield from transforms(place)
    switch = LARGE if place.is_timed else SMALL
    sizes = [49, *[45] * (switch.limbs - 1)] if place.is_timed else [45, *[40] * (switch.limbs - 1)]
    parameters = ckks.Parameters(
        1 << switch.log_degree, sizes, scale_bits=sizes[-1], num_special=switch.special, num_digits=switch.digits,
        insecure=not place.is_timed,
    )  # fmt: skip
    pair = Pair.make(ckks, parameters, place, relin=True, steps=STEPS)
    random = np.random.default_rng(0)
    (x, host_x), (y, host_y) = (pair.encrypt(random.uniform(-1, 1, parameters.slots)) for _ in range(2))
    size = f"N = 2^{switch.log_degree}, {switch.limbs} + {switch.special} limbs in {switch.digits} digits"
    note = None if place.is_timed else "a small ring for a simulated device"
    facts = {"note": note, **described(parameters)}
    yield compared(
        place, f"product, relinearised and rescaled, {size}", lambda: pair.device.mul_relin(x, y, rescale=True),
        lambda: pair.host.mul_relin(host_x, host_y, rescale=True), switch.product(), name="product", **facts,
    )  # fmt: skip
    yield compared(place, f"rotation, {size}", lambda: pair.device.rotate(x, 1), lambda: pair.host.rotate(host_x, 1),
                   switch.rotation(), name="rotation", **facts)  # fmt: skip
    yield one_more(place, pair, x, host_x, switch, f"one more rotation, hoisted, {size}")
    yield key_upload(place, pair)


def one_more(place: Place, pair: Pair, x: ckks.Ciphertext, host_x: ckks.Ciphertext, switch: Switch, case: str) -> Row:
    """A fourth of what five rotations take more than one."""

    def run(evaluator: ckks.Evaluator, of: ckks.Ciphertext, count: int) -> list[ckks.Ciphertext]:
        return evaluator.rotate_many(of, STEPS[:count])

    def ours(count: int) -> list[ckks.Ciphertext]:
        return run(pair.device, x, count)

    def theirs(count: int) -> list[ckks.Ciphertext]:
        return run(pair.host, host_x, count)

    every = len(STEPS)
    checked = [y.to_bytes() for y in ours(every)] == [y.to_bytes() for y in theirs(every)]
    if not place.is_timed:
        one, five = (place.counts(partial(ours, count)) for count in (1, every))
        more = {name: (five[name] - one[name]) // (every - 1) for name in five if name != "kernels"}
        return counted(case, more, checked=checked, note=f"a fourth of what {every} rotations take more than one")
    seconds, at_home = (
        (time(partial(side, every)) - time(partial(side, 1))) / (every - 1)
        for time, side in ((partial(place.seconds, calls=CALLS), ours), (host_seconds, theirs))
    )
    return bounded(place, case, seconds, switch.one_more(), name="one more rotation", host=at_home, checked=checked)
