"""Key switches, diagonal sums and mod_down on GPUs as they go through caches: rows of a tile and of two passes, and batches
of limbs of every size, against `ref`."""

from collections import Counter

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import BACKENDS, DEVICES, DRIVEN, with_sizes

from latticework import _core

GPUS = [backend for backend in BACKENDS if backend.id in DEVICES]
STARTS = {"fp64": (2**49, 2**50 - 2**25, 2**47, 2**29, 2**48), "u64": (2**59, 2**50 - 2**25, 2**47, 2**29, 2**58)}
Q, P = [0, 2, 3], [1, 4]
TARGET = [*P, *Q]
DIGITS = {"two": [[0, 2], [3]], "one": [[0, 2, 3]]}
WORD = 8  # bytes of a word


def rings(backend, degree):
    starts = STARTS["u64" if "u64" in backend else "fp64"]
    primes = oracle.find_primes(starts, degree)
    return [_core.Ring(degree, primes, backend=name, threads=1) for name in (backend, "ref")]


def residues(ring, limbs, polys, rng):
    return oracle.random_residues([ring.primes[limb] for limb in limbs], ring.degree, polys, rng)


def made_keys(ring, digits, elements, rng):
    order = list(range(len(digits)))[::-1]
    return [(*(residues(ring, TARGET, len(digits), rng) for _ in "ba"), TARGET, order, g) for g in elements]


def kernels_of(backend, work):
    """What work() gives, and launches of each kernel, without the name of the arithmetic; None on a driver's devices,
    where nobody counts."""
    if backend.startswith(DRIVEN):
        return work(), None
    device = _core.SimulatedDevice(backend)
    device.reset_counters()
    result = work()
    return result, Counter({name.split("_", 1)[1]: n for name, n in device.counters()["launches"].items()})


@pytest.mark.parametrize(("backend", "degree"), with_sizes(GPUS, [4096, 8192], 8192))
@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
def test_key_switches_by_batches(backend, degree, digits, rng):
    """Two keys, one of them turned: all limbs at once, and one after the other."""
    ring, ref = rings(backend, degree)
    x, keys = residues(ring, Q, 1, rng), made_keys(ring, digits, [5, 2 * degree - 1], rng)
    expected = ref.key_switch(x, x, digits, P, Q, keys)
    lifts, columns = ("base_convert_ntt_radix8_full", 0) if degree == 4096 else ("base_convert_limbs", 1)
    for limbs, window, batches in ((5, 0, [5]), (2, 3, [2, 1, 2]), (1, 0, [1] * 5)):
        ring.cache_bytes = limbs * len(digits) * degree * WORD
        found, kernels = kernels_of(backend, lambda w=window: ring.key_switch(x, x, digits, P, Q, keys, False, w))
        np.testing.assert_array_equal(found, expected)
        if kernels is None:
            continue
        # A digit of all limbs is lifted to P alone, whose limbs come first.
        lifted = batches if len(digits) > 1 else batches[: 2 if limbs == 1 else 1]
        assert (kernels[lifts], kernels["ntt_columns"], kernels["base_convert"]) == (
            len(lifted),
            columns * len(lifted),
            0,
        )
        assert kernels["key_product"] == len(batches)


@pytest.mark.parametrize(("backend", "degree"), with_sizes(GPUS, [1 << 16], 0))
def test_columns_of_two_passes(backend, degree, rng):
    """One digit of one limb, which is lifted to the limb of P; and the way back."""
    ring, ref = rings(backend, degree)
    x, key = residues(ring, [0], 1, rng), [*(residues(ring, [1, 0], 1, rng) for _ in "ba"), [1, 0], [0], 5]
    switched = ref.key_switch(x, x, [[0]], [1], [0], [key])
    np.testing.assert_array_equal(ring.key_switch(x, x, [[0]], [1], [0], [key]), switched)
    operands = (
        switched[0][:1, 1:].copy(),
        switched[0][:1, :1].copy(),
        [pow(ring.primes[1], -1, ring.primes[0])],
        [1],
        [0],
    )
    np.testing.assert_array_equal(ring.mod_down(*operands), ref.mod_down(*operands))


@pytest.mark.parametrize(("backend", "degree"), with_sizes(GPUS, [4096, 1 << 13], 4096))
def test_diag_sums_by_batches(backend, degree, rng):
    ring, ref = rings(backend, degree)
    digits = DIGITS["two"]
    operand, keys = residues(ring, Q, 2, rng), made_keys(ring, digits, [5, 25], rng)
    terms = [(baby, giant, residues(ring, TARGET, 1, rng)) for baby, giant in ((0, 0), (1, 0), (2, 1), (1, 1))]
    expected = ref.diag_sums(operand, digits, P, Q, keys, terms, 2)
    for rows in (4 * 5, 4 * 2, 1):
        ring.cache_bytes = 2 * rows * degree * WORD
        np.testing.assert_array_equal(ring.diag_sums(operand, digits, P, Q, keys, terms, 2), expected)


@pytest.mark.parametrize(("backend", "degree"), with_sizes(GPUS, [4096, 1 << 13], 8192))
@pytest.mark.parametrize("removed", [[4], [1, 4]], ids=str)
def test_mod_downs_by_batches(backend, degree, removed, rng):
    ring, ref = rings(backend, degree)
    x, rest = residues(ring, Q, 2, rng), residues(ring, removed, 2, rng)
    product = int(np.prod([ring.primes[i] for i in removed], dtype=object))
    inverse = [pow(product, -1, ring.primes[limb]) for limb in Q]
    expected = ref.mod_down(x, rest, inverse, removed, Q)
    for limbs in (3, 2, 1):
        ring.cache_bytes = limbs * 2 * degree * WORD
        np.testing.assert_array_equal(ring.mod_down(x, rest, inverse, removed, Q), expected)


@pytest.mark.parametrize(("backend", "degree"), with_sizes(GPUS, [64], 64))
@pytest.mark.parametrize(("bits", "sources"), [(45, n) for n in (1, 4, 5, 8, 9, 10, 11)] + [(50, 7), (50, 9)])
def test_base_conversion_from_many_limbs(backend, degree, bits, sources, rng):
    """From as many as a thread keeps in registers, and from more; and where sums take fewer products than there are."""
    primes = oracle.find_primes([2**bits - (i + 1) * 2 ** (bits - 9) for i in range(sources + 3)], degree)
    ring, ref = (_core.Ring(degree, primes, backend=name, threads=1) for name in (backend, "ref"))
    limbs, targets = list(range(sources)), list(range(sources, sources + 3))
    x = residues(ring, limbs, 2, rng)
    found, kernels = kernels_of(backend, lambda: ring.base_convert(x, limbs, targets))
    np.testing.assert_array_equal(found, ref.base_convert(x, limbs, targets))
    if kernels is not None:
        is_short = sources <= 10 and not (bits == 50 and sources == 9 and "u64" not in backend)
        assert (kernels["base_convert_limbs"], kernels["base_convert"]) == (is_short, not is_short)
