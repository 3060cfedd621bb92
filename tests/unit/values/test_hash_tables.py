"""Tables by hashes: places of their own for keys, bins for sets, and how often these do not suffice."""

from math import comb, log2

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from latticework.values.packing.cuckoo_tables import TABLES, bins_of, fill_bins, log2_of_failure
from latticework.values.packing.number_hashes import hash_numbers
from latticework.values.packing.perfect_hash import find_perfect_hash


@pytest.mark.parametrize(("count", "places"), [(1, 1), (1, 8), (3, 3), (40, 45), (700, 800)])
def test_keys_have_places_of_their_own(count, places):
    keys = np.random.default_rng(count).choice(1 << 50, count, replace=False)
    hashed = find_perfect_hash(keys, places)
    own = hashed.places_of(keys)
    assert len(set(own.tolist())) == count and own.min() >= 0 and own.max() < places
    assert (hashed.places_of(keys[::-1])[::-1] == own).all()
    others = hashed.places_of(np.arange(1 << 51, (1 << 51) + 100))
    assert others.min() >= 0 and others.max() < places


def test_keys_that_are_alike_have_no_perfect_hash():
    with pytest.raises(ValueError, match="no perfect hash of 2 keys on 5 places"):
        find_perfect_hash([7, 7], 5)


def test_words_of_hashes_depend_on_number_and_key():
    words = hash_numbers([0, 1, (1 << 63) - 1], 3)
    assert words.shape == (3, 3) and len(np.unique(words)) == 9 and words.min() >= 0
    assert (words[1:2] == hash_numbers([1], 3)).all() and (words != hash_numbers([0, 1, 2], 3, b"k")).all()


@pytest.mark.parametrize("width", [2, 3, 20])
def test_sets_find_bins_wherever_there_are_any(width):
    rng, outcomes = np.random.default_rng(width), set()
    for _ in range(60):
        numbers = rng.choice(1 << 40, int(rng.integers(1, TABLES * width + 2)), replace=False)
        bins = bins_of(numbers, width)
        assert (bins // width == np.arange(TABLES)).all()
        size = len(numbers)
        graph = csr_array(
            (np.ones(TABLES * size), bins.reshape(-1), TABLES * np.arange(size + 1)), (size, TABLES * width)
        )
        is_possible = (maximum_bipartite_matching(graph, perm_type="column") >= 0).all()
        found = fill_bins(numbers, width)
        assert (found is not None) == is_possible
        outcomes.add(bool(is_possible))
        if found is not None:
            held = np.flatnonzero(found >= 0)
            assert sorted(found[held].tolist()) == list(range(size))
            assert all(place in bins[found[place]] for place in held)
    assert outcomes == {True, False}


def test_failures_are_rarer_than_the_bound():
    """The bound adds up triples that Hall's condition names, and is no less than they give one by one."""
    for size, width in ((6, 3), (9, 12), (12, 40)):
        whole = 0.0
        for count in range(4, size + 1):
            splits = [(a, b, count - 1 - a - b) for a in range(1, count) for b in range(1, count - 1 - a)]
            whole += comb(size, count) * sum(
                comb(width, a) * comb(width, b) * comb(width, c) * (a * b * c / width**3) ** count for a, b, c in splits
            )
        assert min(1.0, whole) <= 2 ** log2_of_failure(size, width) * (1 + 1e-9)
    rng = np.random.default_rng(0)
    failed = sum(fill_bins(rng.choice(1 << 40, 4, replace=False), 2) is None for _ in range(3000))
    assert log2_of_failure(4, 2) == pytest.approx(-9.0) and 0 < failed < 3 * 3000 / 2**9  # 4 of 4 in the same bins
    assert log2_of_failure(3, 1) < -1000 and log2_of_failure(4, 1) == 0.0
    assert log2_of_failure(1000, 1365) < -40 < log2_of_failure(3200, 1365)
    assert log2_of_failure(4, 100) == pytest.approx(log2(100.0**3 / 100.0**12))
