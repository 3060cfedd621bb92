"""Keys of a file by name, against the Galois elements of rotations."""

import pytest

from latticework.report.stored_keys import stored_key_names
from latticework.values.packing.key_manifest import conjugation_element, galois_element


def names(*keys):
    return [key["name"] for key in stored_key_names([[*key, 0, 7, bytes(32), 0] for key in keys])]


def test_each_kind_has_words():
    assert names((0, 0), (2, 0), (3, 0)) == ["relinearisation", "to the sparse secret", "from the sparse secret"]
    assert stored_key_names([[0, 0, 0, 4, bytes(32), 0]]) == [{"name": "relinearisation", "level": 4}]


@pytest.mark.parametrize("ring_degree", [1024, 8192, 65536])
def test_rotations_have_their_steps_where_a_conjugation_tells_the_ring(ring_degree):
    steps = [1, 2, 100, -1, -100, ring_degree // 4]
    keys = [(1, galois_element(step, ring_degree)) for step in steps]
    found = names(*keys, (1, conjugation_element(ring_degree)))
    assert found == [*(f"rotation {step:+d}" for step in steps), "conjugation"]


def test_rotations_without_one_are_known_while_their_element_is_a_power():
    ring_degree = 4096
    found = names(*((1, galois_element(step, ring_degree)) for step in (1, 2, 5, 6, -1)))
    elements = [galois_element(step, ring_degree) for step in (6, -1)]
    assert found == ["rotation +1", "rotation +2", "rotation +5", *(f"rotation (Galois element {g})" for g in elements)]


@pytest.mark.parametrize("stored", [None, 3, [1], [[9, 1, 0, 4]], [["relin", 0, 0, 4]], [[1, -5, 0, 4]], [[0, 0, 0]]])
def test_what_is_no_list_of_keys_is_not_named(stored):
    assert stored_key_names(stored) == []
