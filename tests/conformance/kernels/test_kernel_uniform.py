"""Uniform polynomials: the residues of every (seed, domain, object, digit, limb), against plain Python ciphers."""

import numpy as np
import pytest
import stream_oracle as oracle
from backends_here import EXCEPT_REF, ONE_ORDER
from ring_oracles import NUM_LIMBS, PRIME_SETS, find_prime

from latticework import _core

SEED = bytes(range(32))


def test_oracles_reproduce_published_vectors():
    stream = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"  # RFC 8439, appendix A.1, vector 1
    assert oracle.chacha20_block(bytes(32), 0).hex().startswith(stream)
    key = b"whats the Elvish word for friend"  # key of the official BLAKE3 vectors
    expected = "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26"
    assert oracle.blake3_keyed(key, b"").hex() == expected


@pytest.mark.parametrize("limb", range(NUM_LIMBS))
def test_expansion_equals_its_definition(ring, limb):
    degree = min(ring.degree, 256) if limb != 4 else ring.degree
    expected, _ = oracle.uniform_row(SEED, 2, 2**40 + 7, 3, limb, ring.primes[limb], degree)
    residues = ring.expand_uniform(SEED, 2, 2**40 + 7, 3, [limb])
    assert residues[0, 0, :degree].tolist() == expected


def test_rejected_words_are_drawn_again_in_place():
    prime = PRIME_SETS["wide"][4]
    _, rounds = oracle.uniform_row(SEED, 2, 2**40 + 7, 3, 4, prime, 1024)
    assert rounds >= 2  # so that the case above covers second and third draws


@pytest.mark.parametrize("backend", [backend for backend in EXCEPT_REF if backend in ONE_ORDER])
def test_long_rows_with_rejected_words_are_those_of_ref(backend):
    """Close to 2^50 one word in 2^14 is drawn again, wherever it is in a row."""
    degree, primes = 1 << 15, []
    for _ in range(12):
        primes.append(find_prime(primes[-1] + 1 if primes else 2**50 - 2**26, 2 << 15))
    assert max(primes) < 2**50
    fast, ref = (_core.Ring(degree, primes, backend=name) for name in (backend, "ref"))
    name = (SEED, 2, 5, 1, list(range(len(primes))))
    np.testing.assert_array_equal(fast.expand_uniform(*name), ref.expand_uniform(*name))


@pytest.mark.parametrize("degree", [16, 32, 64, 128, 256])
def test_small_primes_are_expanded_as_defined(backend, degree):
    """Quotients of words by them are the largest."""
    starts = (2, 2**12, 2**16 - 2, 2**16 + 2 * degree, 2**17, 2**31, 2**45)
    primes = sorted({find_prime(start, 2 * degree) for start in starts})
    found = _core.Ring(degree, primes, backend=backend).expand_uniform(SEED, 2, 1, 0, list(range(len(primes))))
    for limb, prime in enumerate(primes):
        assert found[0, limb].tolist() == oracle.uniform_row(SEED, 2, 1, 0, limb, prime, degree)[0], prime


def test_seeded_rows_are_those_of_both_kernels(make_ring, rng):
    """At every width that a prime can be stored at, and where packed rows are too short for vectors."""
    limbs = list(range(NUM_LIMBS))
    for degree in (16, 64, 128, 1024):
        ring = make_ring(degree)
        x = np.stack([[rng.integers(0, q, degree, dtype=np.uint64) for q in ring.primes]])
        expanded = ring.expand_uniform(SEED, 2, 2**40 + 7, 3, limbs)
        for extra_bits in range(0, 45, 1 if degree < 1024 else 11):
            widths = [min(64, q.bit_length() + extra_bits) for q in ring.primes]
            packed = ring.export_residues(x, widths, limbs)
            found = ring.import_seeded(packed, widths, limbs, SEED, 2, 2**40 + 7, 3)
            np.testing.assert_array_equal(found, np.concatenate([x, expanded]))


def test_seeded_rows_with_a_residue_that_is_not_reduced_are_refused(make_ring):
    for degree in (16, 256):
        ring = make_ring(degree)
        for limb, q in enumerate(ring.primes):
            for place in (0, 9, degree // 2 + 3, degree - 1):
                for value in (q, 2 ** q.bit_length() - 1):
                    number = value << place * q.bit_length()
                    row = number.to_bytes(degree * q.bit_length() // 8, "little")
                    with pytest.raises(ValueError, match="not below the prime"):
                        ring.import_seeded(row, [q.bit_length()], [limb], SEED, 2, 0, 0)


def test_every_part_of_the_name_matters(make_ring):
    ring = make_ring(16)
    names = [(SEED, 1, 0, 0), (bytes(32), 1, 0, 0), (SEED, 2, 0, 0), (SEED, 1, 1, 0), (SEED, 1, 0, 1)]
    rows = {ring.expand_uniform(*name, [1]).tobytes() for name in names}
    rows.add(ring.expand_uniform(SEED, 1, 0, 0, [2]).tobytes())
    assert len(rows) == 6


def test_seed_has_32_bytes(make_ring):
    with pytest.raises(ValueError, match="32 bytes"):
        make_ring(16).expand_uniform(b"short", 1, 0, 0, [0])
