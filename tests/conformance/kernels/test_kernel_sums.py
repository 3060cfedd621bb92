"""Long sums of products at the limits of exactness: many terms, primes just below powers of two, extreme residues."""

import functools
from itertools import accumulate

import numpy as np
import pytest
import ring_oracles as oracle
from backends_here import BACKENDS, DEVICES, ONE_ORDER

from latticework import _core

DEGREE = 64
BITS = (30, 40, 49, 50)
PATTERNS = ("largest", "half", "above half", "random")


def primes_below(bits, count, degree=DEGREE):
    """The largest primes of the ring below 2^bits."""
    candidates = range(2**bits // (2 * degree) * 2 * degree + 1, 0, -2 * degree)
    return [p for p in candidates[: 400 * count] if p < 2**bits and _core.is_prime(p)][:count]


ARITHMETIC = [  # what is exact does not depend on the order of blocks and threads: there, one size
    pytest.param((backend.values[0], bits), id=f"{backend.id}-{bits}", marks=backend.marks)
    for backend in BACKENDS
    for bits in (BITS if backend in ONE_ORDER else BITS[-1:])
]


class Case:
    """A backend with primes of a size. What it is to compute is known for these primes, whichever backend is asked."""

    def __init__(self, backend, bits):
        self.backend, self.bits = backend, bits

    def ring(self, threads=1):
        return ring_of(self.backend, self.bits, threads)


@functools.cache
def ring_of(backend, bits, threads=1):
    """12 primes of one size, then 6 others just below 2^49 and just above 2^24."""
    primes = primes_below(bits, 12)
    others = [*primes_below(49, 15), *primes_below(25, 3)]
    primes += [p for p in others if p not in primes][-6:]
    return _core.Ring(DEGREE, primes, backend=backend, threads=threads)


@pytest.fixture(params=ARITHMETIC)
def case(request):
    return Case(*request.param)


def generator():
    return np.random.default_rng(20240811)


def pattern(ring, limbs, name, rng):
    return oracle.residue_patterns([ring.primes[limb] for limb in limbs], ring.degree, rng)[name]


@functools.cache
def sums_of_products(bits, num_terms):
    """{pattern: (left, right, the sum in Python's integers)}."""
    ring, rng, limbs, found = ring_of("ref", bits), generator(), [0, 11, 12, 17], {}
    q = oracle.column([ring.primes[limb] for limb in limbs])
    for name in PATTERNS:
        left = [pattern(ring, limbs, name, rng) for _ in range(num_terms)]
        right = [pattern(ring, limbs, name if i % 3 else "random", rng) for i in range(num_terms)]
        expected = sum(oracle.exact(a) * oracle.exact(b) for a, b in zip(left, right, strict=True)) % q
        found[name] = left, right, expected.astype(np.uint64)
    return limbs, found


@pytest.mark.parametrize("num_terms", [1, 5, 6, 14, 17, 70, 300])
def test_dot_of_many_terms(case, num_terms):
    limbs, sums = sums_of_products(case.bits, num_terms)
    for name, (left, right, expected) in sums.items():
        np.testing.assert_array_equal(case.ring().dot(left, right, limbs), expected, err_msg=name)


def converted(ring, x, sources, targets):
    """Poly 0 converted, as integers modulo each target."""
    order = sorted(range(len(sources)), key=lambda i: sources[i])
    primes = [ring.primes[sources[i]] for i in order]
    values = [oracle.base_convert([int(x[0, i, k]) for i in order], primes) for k in range(ring.degree)]
    return np.array([[[v % ring.primes[t] for v in values] for t in targets]], dtype=np.uint64)


@functools.cache
def conversions(bits, num_sources):
    """Sources, targets, {pattern: (residues, their conversion)}."""
    ring, rng = ring_of("ref", bits), generator()
    sources, targets = list(range(num_sources)), [17, 0, 12, 11, 14]
    given = {name: pattern(ring, sources, name, rng) for name in PATTERNS}
    return sources, targets, {name: (x, converted(ring, x, sources, targets)) for name, x in given.items()}


@pytest.mark.parametrize("num_sources", [1, 2, 8, 9, 16, 17])
def test_base_conversion_of_many_limbs(case, num_sources):
    sources, targets, found = conversions(case.bits, num_sources)
    for name, (x, expected) in found.items():
        np.testing.assert_array_equal(case.ring().base_convert(x, sources, targets), expected, err_msg=name)


@functools.cache
def conversions_of_a_whole_ring():
    """Primes, sources, targets, {pattern: (residues, their conversion)}."""
    primes, rng = primes_below(50, 239, 16) + primes_below(20, 1, 16), generator()
    ring = _core.Ring(16, primes, backend="ref")
    sources, targets = list(range(239)), [239, 0, 238]
    given = {name: pattern(ring, sources, name, rng) for name in ("largest", "half", "random")}
    return primes, sources, targets, {name: (x, converted(ring, x, sources, targets)) for name, x in given.items()}


def test_base_conversion_of_a_whole_ring(backend):
    primes, sources, targets, found = conversions_of_a_whole_ring()
    ring = _core.Ring(16, primes, backend=backend, threads=2)
    for name, (x, expected) in found.items():
        np.testing.assert_array_equal(ring.base_convert(x, sources, targets), expected, err_msg=name)


def cut(limbs, sizes):
    ends = list(accumulate(sizes))
    return [limbs[end - size : end] for end, size in zip(ends, sizes, strict=True)]


SPLITS = {"by one": [1] * 14, "growing": [1, 2, 3, 4, 4], "one of ten": [10, 4], "skewed": [4, 10]}


def expected_switch(ring, x, rest, digits, special, targets, key):
    """Sums of extended digits times key rows in Python's integers; transforms and automorphism by the kernels of `ref`."""
    b, a, limbs, digit_poly, element = key
    q_limbs = targets[len(special) :]
    coefficients = ring.intt(x, q_limbs)
    extended = [
        ring.ntt(converted(ring, coefficients[:, [q_limbs.index(i) for i in digit]], digit, targets), targets)
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


@functools.cache
def switches(bits, split):
    """What a key switch is given besides its operand, {pattern: (operand, keys, results)}."""
    ring, rng, sizes, found = ring_of("ref", bits), generator(), SPLITS[split], {}
    q_limbs, special, spare = [*range(12), 13, 15], [16, 12], 17  # limbs 14 and 17 are not targets
    digits, targets = cut(q_limbs, sizes), [*special, *q_limbs]
    held = [spare, *sorted(targets, reverse=True)]
    for name in ("largest", "above half", "random"):
        keys = []
        for element in (1, 5, 2 * DEGREE - 1):
            halves = [np.repeat(pattern(ring, held, name, rng), len(digits), axis=0) for _ in "ba"]
            keys.append((*halves, held, list(range(len(digits)))[::-1], element))
        x = pattern(ring, q_limbs, name, rng)
        found[name] = x, keys, [expected_switch(ring, x, x, digits, special, targets, key) for key in keys]
    return (digits, special, q_limbs), found


@pytest.mark.parametrize("split", SPLITS)
def test_key_switch_of_many_digits(case, split):
    limbs, found = switches(case.bits, split)
    for threads in (1,) if case.backend in DEVICES else (1, 3):
        for name, (x, keys, expected) in found.items():
            results = case.ring(threads).key_switch(x, x, *limbs, keys)
            np.testing.assert_array_equal(results, expected, err_msg=f"{name}, {threads} threads")


def test_fused_kernels_answer_like_the_reference(case, rng):
    """A degree of several tiles of a host, more diagonals than one sum holds, giants in any order."""
    backend, bits = case.backend, case.bits
    degree = 128 if backend.startswith("sim") else 4096
    primes = primes_below(bits, 7, degree)
    q_limbs, special = [0, 1, 2, 3, 4], [5, 6]
    targets, digits = [*special, *q_limbs], [[0, 1], [2, 3], [4]]
    operand = oracle.random_residues([primes[i] for i in q_limbs], degree, 2, rng)
    removed = oracle.random_residues([primes[i] for i in special], degree, 2, rng)
    target_primes = [primes[t] for t in targets]
    halves = [[oracle.random_residues(target_primes, degree, 3, rng) for _ in "ba"] for _ in range(2)]
    keys = [(*pair, targets, [2, 0, 1], g) for pair, g in zip(halves, (5, degree - 1), strict=True)]
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
