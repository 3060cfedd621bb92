"""Long sums of products at the limits of exactness: many terms, primes just below powers of two, extreme residues."""

from itertools import accumulate

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import DEVICES

from latticework import _core

DEGREE = 64
BITS = (30, 40, 49, 50)
PATTERNS = ("largest", "half", "above half", "random")


def primes_below(bits, count, degree=DEGREE):
    """The largest primes of the ring below 2^bits."""
    candidates = range(2**bits // (2 * degree) * 2 * degree + 1, 0, -2 * degree)
    return [p for p in candidates[: 400 * count] if p < 2**bits and _core.is_prime(p)][:count]


@pytest.fixture(params=BITS)
def mixed_ring(request, backend):
    """12 primes of one size, then 6 others just below 2^49 and just above 2^24."""
    primes = primes_below(request.param, 12)
    others = [*primes_below(49, 15), *primes_below(25, 3)]
    primes += [p for p in others if p not in primes][-6:]
    return _core.Ring(DEGREE, primes, backend=backend, threads=1)


def pattern(ring, limbs, name, rng):
    return oracle.residue_patterns([ring.primes[limb] for limb in limbs], ring.degree, rng)[name]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("num_terms", [1, 5, 6, 14, 17, 70, 300])
def test_dot_of_many_terms(mixed_ring, rng, num_terms, name):
    limbs = [0, 11, 12, 17]
    q = oracle.column([mixed_ring.primes[limb] for limb in limbs])
    left = [pattern(mixed_ring, limbs, name, rng) for _ in range(num_terms)]
    right = [pattern(mixed_ring, limbs, name if i % 3 else "random", rng) for i in range(num_terms)]
    expected = sum(oracle.exact(a) * oracle.exact(b) for a, b in zip(left, right, strict=True)) % q
    np.testing.assert_array_equal(mixed_ring.dot(left, right, limbs), expected.astype(np.uint64))


def lifted(ring, x, sources, targets):
    """The lift of poly 0, as integers modulo each target."""
    order = sorted(range(len(sources)), key=lambda i: sources[i])
    primes = [ring.primes[sources[i]] for i in order]
    values = [oracle.lift([int(x[0, i, k]) for i in order], primes) for k in range(ring.degree)]
    return np.array([[[v % ring.primes[t] for v in values] for t in targets]], dtype=np.uint64)


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("num_sources", [1, 2, 8, 9, 16, 17])
def test_lift_of_many_limbs(mixed_ring, rng, num_sources, name):
    sources, targets = list(range(num_sources)), [17, 0, 12, 11, 14]
    x = pattern(mixed_ring, sources, name, rng)
    np.testing.assert_array_equal(mixed_ring.lift(x, sources, targets), lifted(mixed_ring, x, sources, targets))


@pytest.mark.parametrize("name", ["largest", "half", "random"])
def test_lift_of_a_whole_ring(backend, rng, name):
    ring = _core.Ring(16, primes_below(50, 239, 16) + primes_below(20, 1, 16), backend=backend, threads=2)
    sources, targets = list(range(239)), [239, 0, 238]
    x = pattern(ring, sources, name, rng)
    np.testing.assert_array_equal(ring.lift(x, sources, targets), lifted(ring, x, sources, targets))


def cut(limbs, sizes):
    ends = list(accumulate(sizes))
    return [limbs[end - size : end] for end, size in zip(ends, sizes, strict=True)]


SPLITS = {"by one": [1] * 14, "growing": [1, 2, 3, 4, 4], "one of ten": [10, 4], "skewed": [4, 10]}


def expected_switch(ring, x, rest, digits, special, targets, key):
    """Sums of lifted digits times key rows in Python's integers; transforms and automorphism by their own kernels."""
    b, a, limbs, digit_poly, element = key
    q_limbs = targets[len(special) :]
    coefficients = ring.intt(x, q_limbs)
    extended = [
        ring.ntt(lifted(ring, coefficients[:, [q_limbs.index(i) for i in digit]], digit, targets), targets)
        for digit in digits
    ]
    q = oracle.column([ring.primes[t] for t in targets])
    rows = [limbs.index(t) for t in targets]
    total = [
        sum(oracle.exact(e[0]) * oracle.exact(half[d][rows]) for e, d in zip(extended, digit_poly, strict=True))
        for half in (b, a)
    ]
    product = int(np.prod([ring.primes[p] for p in special], dtype=object))
    for half in range(len(rest)):
        total[half][len(special) :] += product * oracle.exact(rest[half])
    return ring.automorphism(np.array([t % q for t in total]).astype(np.uint64), element, targets)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", ["largest", "above half", "random"])
@pytest.mark.parametrize("sizes", SPLITS.values(), ids=SPLITS)
def test_key_switch_of_many_digits(mixed_ring, rng, sizes, name, threads):
    ring = _core.Ring(DEGREE, mixed_ring.primes, backend=mixed_ring.backend, threads=threads)
    q_limbs, special, spare = [*range(12), 13, 15], [16, 12], 17  # limbs 14 and 17 are not targets
    digits, targets = cut(q_limbs, sizes), [*special, *q_limbs]
    held = [spare, *sorted(targets, reverse=True)]
    keys = []
    for element in (1, 5, 2 * DEGREE - 1):
        halves = [np.repeat(pattern(ring, held, name, rng), len(digits), axis=0) for _ in "ba"]
        keys.append((*halves, held, list(range(len(digits)))[::-1], element))
    x = pattern(ring, q_limbs, name, rng)
    results = ring.key_switch(x, x, digits, special, q_limbs, keys)
    for key, result in zip(keys, results, strict=True):
        np.testing.assert_array_equal(result, expected_switch(ring, x, x, digits, special, targets, key))


@pytest.mark.parametrize("bits", BITS)
def test_fused_kernels_answer_like_the_reference(backend, rng, bits):
    """A degree of several tiles, more diagonals than one sum holds, giants in any order."""
    primes = primes_below(bits, 7, 4096)
    q_limbs, special, degree = [0, 1, 2, 3, 4], [5, 6], 4096
    targets, digits = [*special, *q_limbs], [[0, 1], [2, 3], [4]]
    operand = oracle.random_residues([primes[i] for i in q_limbs], degree, 2, rng)
    removed = oracle.random_residues([primes[i] for i in special], degree, 2, rng)
    target_primes = [primes[t] for t in targets]
    halves = [[oracle.random_residues(target_primes, degree, 3, rng) for _ in "ba"] for _ in range(2)]
    keys = [(*pair, targets, [2, 0, 1], g) for pair, g in zip(halves, (5, 4095), strict=True)]
    plains = [oracle.random_residues(target_primes, degree, 1, rng) for _ in range(3)]
    terms = [(i % 3, 0, plains[i % 2]) for i in range(70)] + [(0, 2, plains[2]), (2, 0, plains[2]), (1, 2, plains[0])]
    inverse = [pow(primes[5] * primes[6], -1, primes[i]) for i in q_limbs]

    def answers(ring):
        yield from ring.key_switch(operand[1:], operand[:1], digits, special, q_limbs, keys)
        yield from ring.diag_sums(operand, digits, special, q_limbs, keys, terms, 3)
        yield ring.mod_down(operand, removed, inverse, special, q_limbs)
        yield ring.mod_down(operand, removed[:, :1].copy(), inverse, special[:1], q_limbs)

    reference = list(answers(_core.Ring(degree, primes, backend="ref", threads=2)))
    for threads in (1,) if backend in DEVICES else (1, 2, 3):
        for expected, answer in zip(
            reference, answers(_core.Ring(degree, primes, backend=backend, threads=threads)), strict=True
        ):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("width", [20, 31, 40, 49, 50, 57, 58, 63, 64])
def test_packing_of_every_width(backend, rng, width):
    """Against bits cut from one long integer, for the shortest and for long rows."""
    prime = primes_below(min(width, 50), 1, 1024)[0]
    for degree in (16, 128, 1024):
        ring = _core.Ring(degree, [prime], backend=backend)
        x = rng.integers(0, prime, (2, 1, degree), dtype=np.uint64)
        x[0, 0, ::3], x[0, 0, 1::3] = prime - 1, prime // 2
        packed = b"".join(
            sum(int(v) << (i * width) for i, v in enumerate(row)).to_bytes(degree * width // 8, "little")
            for row in x[:, 0]
        )
        assert ring.export_residues(x, [width], [0]) == packed
        np.testing.assert_array_equal(ring.import_residues(packed, [width], [0], 2), x)
        wrong = bytearray(packed)
        wrong[-(width // 8) :] = b"\xff" * (width // 8)
        if prime < 2 ** (width // 8 * 8) - 1:
            with pytest.raises(ValueError, match="not below the prime"):
                ring.import_residues(bytes(wrong), [width], [0], 2)


@pytest.mark.parametrize("n", [2, 4, 8, 512, 2048, 4096])
def test_embedding_has_the_bits_of_the_reference(backend, rng, n):
    primes = primes_below(30, 1, 8192)
    rings = [_core.Ring(8192, primes, backend=name) for name in (backend, "ref")]
    values = (rng.standard_normal(n) + 1j * rng.standard_normal(n)) * np.exp(rng.uniform(-300, 300, n))
    for transform in (_core.Ring.embed, _core.Ring.unembed):
        answer, expected = (transform(ring, values) for ring in rings)
        assert answer.tobytes() == expected.tobytes()
