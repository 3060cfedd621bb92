"""Programs whose layouts are not searched: every tensor in order, products in the box of all loops in order."""

import numpy as np
import pytest

import latticework as lw
from bench.rotom.baselines import ROW_MAJOR
from latticework.errors import LayoutError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

RNG = np.random.default_rng(0)
MATRIX, FILTERS, POINTS = RNG.normal(size=(16, 8)), RNG.normal(size=(2, 4, 3, 3)), RNG.normal(size=(16, 4))


def by_matrix(x: lw.Secret[8, 16]):
    return x @ MATRIX


def by_two(x: lw.Secret[5, 16]):
    return np.square(x @ MATRIX) @ MATRIX.T


def from_the_left(x: lw.Secret[8, 3]):
    return MATRIX @ x


def of_vectors(x: lw.Secret[16]):
    return (MATRIX.T @ x + 1.0) @ MATRIX.T


def of_secrets(x: lw.Secret[8, 16], y: lw.Secret[16, 8], z: lw.Secret[8, 16]):
    return (x @ y) @ z


def stacks(x: lw.Secret[2, 4, 8], y: lw.Secret[2, 8, 4]):
    return x @ y


def turned(x: lw.Secret[4, 8], y: lw.Secret[4, 8]):
    return x.T @ y + 0.5


def distances(x: lw.Secret[4]):
    return ((x - POINTS) ** 2).sum(axis=1)


def reshaped(x: lw.Secret[8, 16]):
    return np.reshape(x @ MATRIX, (16, 4)).sum(axis=0)


def convolution(x: lw.Secret[4, 8, 8]):
    return lw.avg_pool2d(lw.conv2d(x, FILTERS, padding="same"), 2)


@pytest.mark.parametrize(
    "function",
    [by_matrix, by_two, from_the_left, of_vectors, of_secrets, stacks, turned, distances, reshaped, convolution],
)
def test_programs_mean_the_same(function):
    program = lw.program(function)
    model = lw.compile(program, ring_degree=2048, insecure=True, techniques=ROW_MAJOR)
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(-1, 1, i.shape) for i in model.plan.client.inputs]
    (found,) = model.simulate(*inputs)
    np.testing.assert_allclose(found, program(*inputs), atol=2.0**-12 * model.plan.client.outputs[0].magnitude)
    for name, _, layout in model.plan.layouts:
        assert "Roll" not in layout, (name, layout)
    for spec in model.plan.client.inputs:
        walked = [dim.axis for dim in spec.pack.dims if dim.axis >= 0]
        assert walked == sorted(walked)


def test_a_product_is_rotated_and_added():
    """8 x 16 by 16 x 8 in 1024 slots: the loops of rows and columns and the summed one fill a vector."""
    model = lw.compile(lw.program(by_matrix), ring_degree=2048, insecure=True, techniques=ROW_MAJOR)
    counts = estimate(model.plan, CostModel.load()).counts
    assert counts.hoists == 0
    assert model.plan.client.outputs[0].pack.dims[-1].extent == 16  # where sums were, a gap is left


def test_a_product_encrypted():
    program = lw.program(by_matrix)
    model = lw.compile(program, ring_degree=2048, insecure=True, techniques=ROW_MAJOR)
    x = np.random.default_rng(2).uniform(-1, 1, (8, 16))
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(x))).reveal()
    np.testing.assert_allclose(found, program(x), atol=2.0**-12 * np.abs(program(x)).max())


def test_loops_that_are_too_many_are_refused():
    def program(x: lw.Secret[512, 512]):
        return x @ np.ones((512, 512))

    with pytest.raises(LayoutError, match=r"\(512, 512\) @ \(512, 512\) take 131072 vectors of 1024 slots"):
        lw.compile(lw.program(program), ring_degree=2048, insecure=True, techniques=ROW_MAJOR)
