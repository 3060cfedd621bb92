"""Without our techniques the compiler needs no more operations than Rotom's public code, at its sizes."""

import numpy as np
import pytest

import latticework as lw
from bench.rotom.baselines import ROTOM
from bench.rotom.workloads import SLOTS, workloads
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel

WORKLOADS = {workload.name: workload for workload in workloads(SLOTS[0])}
MODEL = CostModel.load()
slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "rotations", "products"),
    [
        ("distance", 13, 1),
        ("matmul", 21, 128),
        ("convolution", 8, 9),  # the public code: 11 and 18
        ("convolution to 8 channels", 15, 72),
        pytest.param("logistic regression", None, None, marks=slow),
        pytest.param("double matmul", None, None, marks=slow),
    ],
)
def test_counts_of_the_public_code(name, rotations, products):
    workload = WORKLOADS[name]
    model = lw.compile(
        workload.program,
        weights=tuple(workload.weights.values()),
        calibrate={name: array[None] for name, array in workload.inputs.items()},
        precision_bits=10,
        ring_degree=2 * SLOTS[0],
        techniques=ROTOM,
    )
    counts = estimate(model.plan, MODEL).counts
    if rotations is not None:
        assert (counts.rotations, counts.plaintext_products) == (rotations, products)
    assert counts.hoists == 0
    golden = workload.measured
    assert counts.rotations <= golden["rotations"]
    products = counts.plaintext_products + counts.ciphertext_products
    price = 4 * golden["rotations"] + 10 * (golden["pt products"] + golden.get("ct products", 0))
    assert 4 * counts.rotations + 10 * products <= price  # what Rotom minimises
    assert counts.ciphertext_products == golden.get("ct products", 0)
    assert sum(i.pack.count for i in model.plan.client.secret_inputs) == golden["ciphertexts"]
    expected = workload.expected()
    (found,) = model.simulate(**workload.inputs)
    np.testing.assert_allclose(found, expected, atol=2.0**-10 * np.abs(expected).max())
