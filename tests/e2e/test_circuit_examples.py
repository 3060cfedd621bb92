"""The example programs made of circuits: what they compute encrypted is what they compute in the clear."""

import numpy as np
import pytest
from e2e_cases import example


@pytest.fixture(scope="module")
def forest():
    return example("forest")


def test_trees_are_those_of_the_forest(forest):
    trees, thresholds, x, labels, fitted = forest.train()
    bits = forest.exceeded(x, thresholds).reshape(len(x), -1)
    votes = [forest.votes(row, trees) for row in bits]
    grid = forest.levels(x, thresholds)
    assert votes == sum(tree.predict(grid) for tree in fitted.estimators_).astype(int).tolist()
    assert np.mean((np.array(votes) > forest.TREES / 2) == labels) > 0.9


def test_patients_get_the_same_votes_encrypted(forest):
    _, found, expected, _, _ = forest.run(patients=3)
    assert found == expected


def test_a_target_is_tracked():
    _, _, _, found, expected, _ = example("kalman").run(steps=4)
    assert np.abs(found - expected).max() < 1e-3


def test_rays_meet_triangles_where_numpy_says():
    ray = example("ray")
    _, found, expected, _ = ray.run(rays=6)
    assert ray.agree(found, expected)
    assert any(x is not None for x in found) and None in found


def test_the_rays_tests_are_right_about_many():
    ray = example("ray")
    met = 0
    for origin, direction, triangle in ray.scenes(200):
        distance = ray.where(**{name: int(x) for name, x in ray.intersect(origin, direction, triangle).items()})
        assert ray.agree([distance], [ray.in_numpy(origin, direction, triangle)])
        met += distance is not None
    assert 50 < met < 150


@pytest.mark.slow
@pytest.mark.parametrize("name", ["auction", "membership", "secret_membership", "credit", "distance"])
def test_whole_numbers_are_compared_as_in_python(name):
    got = getattr(example("integers"), f"run_{name}")()
    assert got.found == got.expected
    assert got.model.plan.chain.ring_degree <= 32768


def test_the_examples_on_whole_numbers_are_right_in_plain_python():
    integers, rng = example("integers"), np.random.default_rng(0)
    for _ in range(20):
        bids = rng.integers(0, 50, integers.BIDDERS).tolist()
        assert integers.auction(bids) == {"price": max(bids), "winner": bids.index(max(bids))}
        a, b = rng.integers(0, 1 << 48, 2).tolist()
        assert integers.distance(a, b) == (bin(a ^ b).count("1"), bin(a).count("1"))
        assert integers.is_member(bids[0], bids) and not integers.is_secret_member(60, [*bids, *range(12)])
