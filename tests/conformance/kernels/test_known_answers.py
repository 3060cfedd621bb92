"""Answers written down once: every backend, and the definitions themselves, still give them bit for bit."""

import json
from pathlib import Path

import known_answers as known
import numpy as np
import pytest
import ring_oracles as oracle
from known_answers import DEGREE, DIGITS, ELEMENT, PRIMES, SCALE_BITS, SEED, SLOTS, P, Q, fixed

from latticework import _core

RECORD = json.loads(Path(__file__).with_name("known_answers.json").read_text())
EVERY = [*Q, *P]


def check(name, polys):
    """An array (polys, limbs, degree), or the same as lists, against the record."""
    case = RECORD["cases"][name]
    words = np.array(polys, dtype="<u8")
    assert words[0, 0, :4].tolist() == case["first"], name
    assert words[-1, -1, -1] == case["last"], name
    assert _core.blake3(words.tobytes()).hex() == case["blake3"], name


def words(rows):
    return np.array([rows], dtype=np.uint64)


@pytest.fixture
def ring(backend):
    return _core.Ring(DEGREE, PRIMES, backend=backend, threads=1)


def test_definitions_give_the_recorded_answers():
    assert RECORD["primes"] == PRIMES
    assert RECORD["primes"] == [oracle.find_prime(2**bits, 2 * DEGREE) for bits in (19, 29, 39, 44, 48)]
    found = dict(known.answers())
    assert found.keys() == RECORD["cases"].keys()
    for name, polys in found.items():
        check(name, polys)
    assert known.encoded() == RECORD["encoded"]


def test_transforms(ring):
    x, y = words(fixed(1, EVERY)), words(fixed(2, EVERY))
    check("ntt", ring.ntt(x, EVERY))
    check("intt", ring.intt(x, EVERY))
    check("negacyclic product", ring.intt(ring.mul(ring.ntt(x, EVERY), ring.ntt(y, EVERY), EVERY), EVERY))


@pytest.mark.parametrize("element", [5, 25, 2 * DEGREE - 1])
def test_automorphisms(ring, element):
    x = ring.ntt(words(fixed(1, EVERY)), EVERY)
    check(f"automorphism {element}", ring.intt(ring.automorphism(x, element, EVERY), EVERY))


@pytest.mark.parametrize(("sources", "targets"), [([0], P), (Q, P), (P, Q)])
def test_base_conversions(ring, sources, targets):
    check(f"lift {sources} to {targets}", ring.base_convert(words(fixed(3, sources)), sources, targets))


def test_uniform_polynomials(ring):
    check("uniform", ring.expand_uniform(SEED, 2, 7, 3, EVERY))


@pytest.mark.parametrize("extended", [False, True])
def test_a_key_switch_of_imported_residues(ring, extended):
    b, a = (np.array(half, dtype=np.uint64) for half in known.key_halves())
    key = (b, a, [*P, *Q], list(range(len(DIGITS))), ELEMENT)
    (found,) = ring.key_switch(words(fixed(4, Q)), words(fixed(5, Q)), DIGITS, P, Q, [key], extended)
    check("key switch", found)
    special = PRIMES[P[0]] * PRIMES[P[1]]
    inverse = [pow(special, -1, PRIMES[i]) for i in Q]
    top, low = np.ascontiguousarray(found[:, len(P) :]), ring.intt(np.ascontiguousarray(found[:, : len(P)]), P)
    check("key switch divided by P", ring.mod_down(top, low, inverse, P, Q))


def test_a_rescale(ring):
    removed, *kept = fixed(6, [2, 0, 1])
    inverse = [pow(PRIMES[2], -1, PRIMES[i]) for i in (0, 1)]
    check("rescale", ring.mod_down(words(kept), ring.intt(words([removed]), [2]), inverse, [2], [0, 1]))


def test_encoding_rounds_to_the_nearest_integer(backend):
    """A vector at scale 2^40: each coefficient is the integer nearest to the exact one, computed to 70 digits."""
    degree = 1024
    first, *others = _core.primes_near(2.0**48, 2 * degree, 3)
    track = {"groups": [[0]], "scales": [2.0**SCALE_BITS]}
    parameters = _core.Parameters(degree, [first], others, [[0]], [track], insecure=True)
    context = _core.Context(parameters, backend, 1)
    values = np.array([(real + 1j * imaginary) / 16 for real, imaginary in known.slots()])
    plain = _core.Encoder(context).encode(values, (0, 0), 2.0**SCALE_BITS)
    secret = _core.KeyGenerator(context).secret_key()  # a trivial encryption opens under every key
    found = _core.Decryptor(context, secret).coefficients(_core.Evaluator(context).trivial(plain))
    step = found.size // (2 * SLOTS)
    assert found[::step].tolist() == RECORD["encoded"]
    assert np.count_nonzero(found) <= 2 * SLOTS
