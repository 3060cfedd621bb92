"""Uniform polynomials: the residues of every (seed, domain, object, digit, limb), against plain Python ciphers."""

import pytest
import stream_oracle as oracle
from ring_oracles import NUM_LIMBS, PRIME_SETS

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


def test_every_part_of_the_name_matters(make_ring):
    ring = make_ring(16)
    names = [(SEED, 1, 0, 0), (bytes(32), 1, 0, 0), (SEED, 2, 0, 0), (SEED, 1, 1, 0), (SEED, 1, 0, 1)]
    rows = {ring.expand_uniform(*name, [1]).tobytes() for name in names}
    rows.add(ring.expand_uniform(SEED, 1, 0, 0, [2]).tobytes())
    assert len(rows) == 6


def test_seed_has_32_bytes(make_ring):
    with pytest.raises(ValueError, match="32 bytes"):
        make_ring(16).expand_uniform(b"short", 1, 0, 0, [0])
