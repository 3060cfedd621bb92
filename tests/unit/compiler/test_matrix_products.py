"""Products of two encrypted matrices of any shape run encrypted as NumPy computes them, and within the proved bound."""

import numpy as np
import pytest

import latticework as lw

RNG = np.random.default_rng(23)
SHAPES = {
    "one row": ((1, 16), (16, 32)),
    "one column": ((32, 16), (16, 1)),
    "one number": ((1, 1), (1, 1)),
    "dot": ((1, 64), (64, 1)),
    "outer": ((24, 1), (1, 20)),
    "ragged": ((7, 13), (13, 5)),
    "odd sums": ((32, 15), (15, 33)),
    "many vectors": ((48, 48), (48, 48)),
    "heads": ((3, 9, 8), (3, 8, 9)),
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
def test_products_are_numpys(shapes):
    """Of random numbers, of numbers at their bounds whose products do not cancel, and with rows and columns of zeros."""

    def product(a: lw.Secret[shapes[0]], b: lw.Secret[shapes[1]]):
        return a @ b

    rows = {name: RNG.uniform(-1, 1, (2, *shape)) for name, shape in zip("ab", shapes, strict=True)}
    for array in rows.values():
        array.reshape(-1)[:2] = -1.0, 1.0  # what clients accept
    made = lw.compile(lw.program(product), calibrate=rows, ring_degree=1024, insecure=True)
    client = made.client()
    server = made.server(client.keygen().public())
    a, b = rows["a"][1], rows["b"][1]
    signs = np.where(np.arange(shapes[0][-1]) % 3 == 0, -1.0, 1.0)
    masked = np.where(np.arange(shapes[0][-2]) % 3 == 1, 0.0, 1.0)[:, None] * a
    ends = signs * np.ones(shapes[0]), signs[:, None] * np.ones(shapes[1])
    for left, right in ((a, b), ends, (masked, b * (np.arange(shapes[1][-1]) % 2))):
        found = client.decrypt(server(client.encrypt(left, right)))
        (simulated,) = made.simulate(left, right)
        for result in (found.reveal(), simulated):
            assert np.max(np.abs(result - left @ right)) <= found.error_bound
        assert found.error_bound < 0.25
