"""Fused key switches, diagonal sums and mod_down: the composition of the single kernels of `ref`, exactly."""

import functools

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import DEVICES
from ring_oracles import NUM_LIMBS

from latticework import _core

Q, P = [0, 1, 3], [4, 2]  # limb 4 before 2: rows are in the order of the list, not of the numbers
TARGET = [*P, *Q]
DIGITS = {"one": [[0, 1, 3]], "uneven": [[0, 1], [3]], "single": [[0], [1], [3]]}
WINDOWS = [1, 2, 3, 4]  # target limbs a call, which have nothing to do with the degree
LONG = 1024  # where one window is enough
KEY_LIMBS = [2, 4, 0, 1, 3]  # a key may hold its rows in another order


@functools.cache
def ring_of(degree, primes):
    return _core.Ring(degree, list(primes), backend="ref", threads=1)


def definition(ring):
    """The same ring on `ref`, which is quick where single kernels of a simulated device are not."""
    return ring_of(ring.degree, tuple(ring.primes))


def windows(ring):
    return WINDOWS if ring.degree < LONG else WINDOWS[1:2]


def residues(ring, limbs, polys, rng):
    return oracle.random_residues([ring.primes[limb] for limb in limbs], ring.degree, polys, rng)


def random_keys(ring, digits, elements, rng):
    """Keys with one poly too many, digits in reverse order."""
    count = len(digits)
    order = list(range(count, 0, -1))
    return [(*(residues(ring, KEY_LIMBS, count + 1, rng) for _ in "ba"), KEY_LIMBS, order, g) for g in elements]


def composed_key_switch(ring, x, rest, digits, key):
    """The definition, kernel by kernel."""
    b, a, limbs, digit_poly, element = key
    coefficients = ring.intt(x, Q)
    extended = []
    for digit in digits:
        rows = [Q.index(limb) for limb in digit]
        lifted = ring.base_convert(
            np.ascontiguousarray(coefficients[:, rows]), digit, TARGET
        )  # the identity on the digit
        extended.append(ring.ntt(lifted, TARGET))
    rows = [limbs.index(limb) for limb in TARGET]
    polys = [
        ring.dot(extended, [np.ascontiguousarray(half[[d]][:, rows]) for d in digit_poly], TARGET) for half in (b, a)
    ]
    total = np.concatenate(polys)
    if rest is not None and rest.shape[1] == len(TARGET):
        total[: len(rest)] = ring.add(np.ascontiguousarray(total[: len(rest)]), rest, TARGET)
    elif rest is not None:
        special = int(np.prod([ring.primes[limb] for limb in P], dtype=object))
        scaled = ring.mul_scalar(rest, [special % ring.primes[limb] for limb in Q], Q)
        kept = slice(0, len(rest))
        total[kept, len(P) :] = ring.add(np.ascontiguousarray(total[kept, len(P) :]), scaled, Q)
    return ring.automorphism(total, element, TARGET)


@pytest.mark.parametrize("extended", [False, True], ids=["extended in the kernel", "stored"])
@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
def test_key_switch_is_its_composition(ring, rng, digits, extended):
    keys = random_keys(ring, digits, [1, 5, 2 * ring.degree - 1], rng)
    for rest_polys, over in ((0, Q), (1, Q), (2, Q), (1, TARGET)):
        x = residues(ring, Q, 1, rng)
        rest = residues(ring, over, rest_polys, rng) if rest_polys else None
        results = ring.key_switch(x, rest, digits, P, Q, keys, extended)
        assert len(results) == len(keys)
        for key, result in zip(keys, results, strict=True):
            expected = composed_key_switch(definition(ring), x, rest, digits, key)
            np.testing.assert_array_equal(result, expected, err_msg=f"{rest_polys} polys beside it")
        for window in windows(ring):
            again = ring.key_switch(x, rest, digits, P, Q, keys, extended, window)
            np.testing.assert_array_equal(again, results, err_msg=f"{rest_polys} polys beside it, window {window}")


def test_key_switch_of_extreme_residues(make_ring, rng):
    ring = make_ring(64)
    patterns = oracle.residue_patterns([ring.primes[limb] for limb in Q], 64, rng)
    keys = random_keys(ring, DIGITS["uneven"], [5], rng)
    largest = [np.array([ring.primes[limb] - 1 for limb in KEY_LIMBS], dtype=np.uint64)[None, :, None]]
    keys.append((*(np.broadcast_to(largest[0], (3, 5, 64)).copy() for _ in "ba"), KEY_LIMBS, [0, 1], 1))
    for name, x in patterns.items():
        results = ring.key_switch(x, x, DIGITS["uneven"], P, Q, keys)
        for key, result in zip(keys, results, strict=True):
            expected = composed_key_switch(definition(ring), x, x, DIGITS["uneven"], key)
            np.testing.assert_array_equal(result, expected, err_msg=name)


@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
@pytest.mark.parametrize("extended", [False, True], ids=["extended in the kernel", "stored"])
def test_diag_sums_are_their_composition(ring, rng, digits, extended):
    operand = residues(ring, Q, 2, rng)
    keys = random_keys(ring, digits, [5, 1, 25, 2 * ring.degree - 1], rng)
    pairs = [
        (0, 0),
        (1, 0),
        (2, 2),
        (3, 2),
        (0, 2),
        (4, 0),
        (1, 2),
        (1, 0),
    ]  # giant 1 has no term, one pair comes twice
    terms = [(baby, giant, residues(ring, TARGET, 1, rng)) for baby, giant in pairs]
    results = ring.diag_sums(operand, digits, P, Q, keys, terms, 3, extended)

    special = int(np.prod([ring.primes[limb] for limb in P], dtype=object))
    own = np.zeros((2, len(TARGET), ring.degree), dtype=np.uint64)
    ref = definition(ring)
    own[:, len(P) :] = ref.mul_scalar(operand, [special % ring.primes[limb] for limb in Q], Q)
    babies = [own, *(composed_key_switch(ref, operand[1:], operand[:1], digits, key) for key in keys)]
    for giant, result in enumerate(results):
        expected = np.zeros_like(own)
        for baby, target, plain in terms:
            if target == giant:
                expected = ref.mul_add(expected, babies[baby], plain, TARGET)
        np.testing.assert_array_equal(result, expected)
    for window in windows(ring):
        again = ring.diag_sums(operand, digits, P, Q, keys, terms, 3, extended, window)
        np.testing.assert_array_equal(again, results, err_msg=f"window {window}")


def mirrored(values):
    """Coefficients as those of real slots: number N - i is minus number i."""
    half = len(values) // 2
    values = np.concatenate([values[:half], [0], -values[1:half][::-1]])
    return values.astype(np.int64)


@pytest.mark.parametrize("extended", [False, True], ids=["extended in the kernel", "stored"])
def test_diag_sums_transform_coefficients(ring, rng, extended):
    """More of them than at once, of every form, among plaintexts that are transformed already."""
    n, bound = ring.degree, 1 << 61
    operand, keys = residues(ring, Q, 2, rng), random_keys(ring, DIGITS["uneven"], [5, 2 * n - 1], rng)
    forms = [
        rng.integers(-bound, bound, n),
        mirrored(rng.integers(-bound, bound, n)),
        rng.integers(-(1 << 31), 1 << 31, n),
        mirrored(rng.integers(-9, 9, n)),
        rng.integers(-bound, bound, n // 4),
        mirrored(rng.integers(-bound, bound, n // 8)),
        np.array([-bound]),
        np.zeros(n, dtype=np.int64),
    ]
    coefficients = [forms[i % len(forms)] for i in range(22)]
    lifted = [ring.ntt_integers(each, TARGET) for each in coefficients]
    places = [(int(rng.integers(3)), (0, 2, 2, 3)[i % 4]) for i in range(22)]  # giant 1 has no term
    terms, expected = (
        [(*place, each) for place, each in zip(places, plains, strict=True)] for plains in (coefficients, lifted)
    )
    wanted = ring.diag_sums(operand, DIGITS["uneven"], P, Q, keys, expected, 4, extended)
    if ring.backend not in ("ref", *(name for name, _ in _core.backend_variants("cpu"))):
        with pytest.raises(ValueError, match="coefficients are for the host"):
            ring.diag_sums(operand, DIGITS["uneven"], P, Q, keys, terms, 4, extended)
        return
    some = [late if i % 3 else early for i, (late, early) in enumerate(zip(terms, expected, strict=True))]
    for given in (terms, some, terms[:8] + expected[8:]):
        for window in (0, *windows(ring)):
            found = ring.diag_sums(operand, DIGITS["uneven"], P, Q, keys, given, 4, extended, window)
            np.testing.assert_array_equal(found, wanted, err_msg=f"window {window}")


@pytest.mark.parametrize("removed", [[4], [0], [1, 4], [0, 1, 4]], ids=str)
def test_mod_down_is_its_composition(ring, rng, removed):
    kept = [limb for limb in range(NUM_LIMBS) if limb not in removed][::-1]
    inverse = [
        pow(int(np.prod([ring.primes[i] for i in removed], dtype=object)), -1, ring.primes[limb]) for limb in kept
    ]
    ref = definition(ring)
    for polys in (1, 2, 3):
        x, rest = residues(ring, kept, polys, rng), residues(ring, removed, polys, rng)
        expected = ref.sub_scale(x, ref.ntt(ref.base_convert(rest, removed, kept), kept), inverse, kept)
        found = ring.mod_down(x, rest, inverse, removed, kept)
        np.testing.assert_array_equal(found, expected, err_msg=f"{polys} polys")


def test_threads_are_as_asked_for(make_ring):
    one, three = make_ring(16, threads=1), make_ring(16, threads=3)
    assert (one.threads, three.threads) == (1, 1 if one.backend in DEVICES else 3)


def test_many_digits_and_results_that_no_cache_holds(rng):
    """Vectors that are lines of the caches load rows in runs and write results past the caches; others do neither."""
    degree, (*q, p) = 1 << 14, range(6)
    primes = _core.primes_near(2.0**48, 2 * degree, 6)
    digits, x = [[limb] for limb in q], oracle.random_residues(primes[:5], degree, 1, rng)
    halves = [oracle.random_residues(primes, degree, 5, rng) for _ in "ba"]
    keys = [(*halves, [*q, p], list(range(5)), pow(5, k, 2 * degree)) for k in range(9)]  # results of 14 MB
    rest = oracle.random_residues(primes[:5], degree, 1, rng)
    expected, found = (
        _core.Ring(degree, primes, backend=backend, threads=1).key_switch(x, rest, digits, [p], q, keys, False)
        for backend in ("ref", "cpu")
    )
    np.testing.assert_array_equal(found, expected)
