"""Random programs with loops that bootstrap, for rows of a batch: each row is what NumPy makes of it by itself."""

import numpy as np
import pytest
from bootstrapped_programs import LIMIT, ROWS, programs
from hypothesis import HealthCheck, assume, given, seed, settings
from hypothesis import strategies as st

import latticework as lw
from latticework.errors import PrecisionError

USUAL = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


def check_rows(random, batch, count):
    """Compile for a batch, and compare each row with the program on it, within bounds."""
    try:
        model = lw.compile(random.program, weights=(random.rates,), calibrate=random.data, batch=batch,
                           bootstrap_set="T11", insecure=True, precision_bits=6)  # fmt: skip
    except PrecisionError as error:  # small values in between: it says how many bits were reached
        assert "is not reached with bootstraps" in str(error)
        return
    assume(model.plan.bootstraps)
    client = model.client(threads=1, allow_insecure=True)
    server = model.server(client.keygen().public(), threads=1)
    rng = np.random.default_rng(5)
    rows = [i for i in rng.integers(0, 12, count)]
    given_rows = {name: random.data[name][rows] for name in ("x", "xs")}
    names = {spec.name for spec in model.plan.client.secret_inputs}
    for n, m in ((LIMIT, ROWS), (2, 1)):
        counts = {name: value for name, value in (("n", n), ("m", m)) if name in model.plan.client.given_names}
        sent = client.encrypt(**{name: value for name, value in given_rows.items() if name in names}, **counts)
        found = client.decrypt(server(sent))
        found = found if isinstance(found, tuple) else (found,)
        for row in range(count):
            wanted = random(given_rows["x"][row], given_rows["xs"][row], random.rates, n, m)
            for got, want in zip(found, wanted, strict=True):
                assert np.max(np.abs(got.reveal()[row] - want)) <= got.error_bound < np.inf


@settings(max_examples=3, derandomize=True, **USUAL)
@given(random=programs(), batch=st.sampled_from([2, 16, "fill"]))
def test_rows_of_random_programs_are_numpys(random, batch):
    check_rows(random, batch, 5)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_rows_of_eighty_random_programs_are_numpys(part):
    @seed(part)
    @settings(max_examples=10, **USUAL)
    @given(random=programs(), batch=st.sampled_from([2, 16, 64, "fill"]))
    def run(random, batch):
        check_rows(random, batch, 5)

    run()
