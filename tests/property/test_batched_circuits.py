"""Random circuits for batches: each row is what Python computes, exactly under BFV, whatever lies in the others."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_circuits import random_circuits

import latticework as lw

ROWS = 7
RELAXED = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
SMALL = {"ring_degree": 4096, "insecure": True, "effort": "fast"}
BATCHES = st.sampled_from([2, 4, 64, "fill"])


def stacked(rows):
    """Values of every row by name, as stacks."""
    return {name: np.stack([np.asarray(row[name]) for row in rows]) for name in rows[0]}


def rows_of(random, rng, draw):
    """Rows of zeros, of the ends of the range and by chance."""
    shapes = {name: kind.shape for name, kind in random.inputs.items()}
    ends = [{name: np.full(shape, number) for name, shape in shapes.items()} for number in (0, 3, -3)]
    return [*ends, *(draw(rng) for _ in range(ROWS - len(ends)))]


def encrypted(model, values):
    client = model.client(threads=1)
    return client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(**values)))


def check_bfv(random, seed, batch, *, encrypt):
    circuit = random.circuit
    model = lw.compile(circuit, scheme="bfv", plain_bits=20, batch=batch, **SMALL)
    assert model.plan.client.rows == batch or (batch == "fill" and model.plan.client.rows > 1)
    rows = rows_of(random, np.random.default_rng(seed), lambda rng: random.values(rng, 3))
    modulus = model.plan.chain.plain_modulus
    want = [
        [(int(x) + modulus // 2) % modulus - modulus // 2 for x in circuit(**{n: np.asarray(v).astype(object) for n, v in row.items()})]
        for row in rows
    ]  # fmt: skip
    values = {name: array.astype(np.int64) for name, array in stacked(rows).items()}
    assert model.simulate(**values).tolist() == model.plaintext(**values).tolist() == want
    if encrypt:
        assert encrypted(model, values).reveal().tolist() == want


def check_ckks(random, seed, batch, *, encrypt):
    circuit = random.circuit
    model = lw.compile(circuit, precision_bits=10, batch=batch, **SMALL)
    shapes = {name: kind.shape for name, kind in random.inputs.items()}
    rows = rows_of(
        random, np.random.default_rng(seed), lambda rng: {n: rng.uniform(-1, 1, s) for n, s in shapes.items()}
    )
    rows = [{name: np.clip(array, -1, 1) for name, array in row.items()} for row in rows]
    want = np.array([circuit(**row) for row in rows], dtype=float)
    values = stacked(rows)
    assert np.allclose(model.simulate(**values), want, atol=1e-6) and np.allclose(model.plaintext(**values), want)
    if encrypt:
        got = encrypted(model, values)
        assert np.all(np.abs(got.reveal() - want) <= got.error_bound + 1e-9)


@pytest.mark.filterwarnings("ignore::latticework.RangeWarning")
@settings(max_examples=6, **RELAXED)
@given(random_circuits(15, 2), st.integers(0, 99), BATCHES)
def test_simulated_rows_are_exactly_what_python_computes(random, seed, batch):
    check_bfv(random, seed, batch, encrypt=False)


@pytest.mark.filterwarnings("ignore::latticework.RangeWarning")
@settings(max_examples=3, **RELAXED)
@given(random_circuits(15, 2), st.integers(0, 99), BATCHES)
def test_rows_decrypt_to_exactly_what_python_computes(random, seed, batch):
    check_bfv(random, seed, batch, encrypt=True)


@settings(max_examples=6, **RELAXED)
@given(random_circuits(15, 2), st.integers(0, 99), BATCHES)
def test_ckks_rows_are_what_python_computes(random, seed, batch):
    check_ckks(random, seed, batch, encrypt=seed % 2 == 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::latticework.RangeWarning")
@settings(max_examples=60, **RELAXED)
@given(random_circuits(60, 3), st.integers(0, 99), BATCHES)
def test_rows_are_what_python_computes_often(random, seed, batch):
    check_bfv(random, seed, batch, encrypt=True)
    check_ckks(random, seed, batch, encrypt=True)
