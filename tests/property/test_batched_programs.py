"""Random programs for batches: every row is what the program makes of it, whatever lies in the others."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_programs import check, programs


def rows_for(program, rows, rng):
    """Inputs of many rows: zeros, both ends of the range, next to nothing, the sample, and by chance."""
    found = []
    for sample in program.samples:
        kinds = [0 * sample, 0 * sample + 1, 0 * sample - 1, 1e-9 * sample, sample]
        found.append(np.stack([*kinds, *rng.uniform(-1, 1, (rows - len(kinds), *sample.shape))]))
    return found


def check_rows(program, model, results, inputs):
    """Each row by itself."""
    for row in range(len(inputs[0])):
        check(program, model, [result[row] for result in results], [x[row] for x in inputs])


def seconds_a_row(model):
    """Predicted time of a run, for each row."""
    return model.costs().later_run_seconds / model.plan.client.rows


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs(), batch=st.sampled_from([2, 4, "fill"]))
def test_simulated_rows_are_numpys(program, batch):
    one, model = (program.compiled(4096, batch=b) for b in (1, batch))
    assert seconds_a_row(model) <= 1.02 * seconds_a_row(one)
    spec = model.plan.client
    assert spec.rows == (model.plan.chain.slots // one.plan.client.outputs[0].pack.slots if batch == "fill" else batch)
    inputs = rows_for(program, 11, np.random.default_rng(1))
    for noise in (None, np.random.default_rng(0)):
        check_rows(program, model, model.simulate(*inputs, noise=noise), inputs)
    for got, want in zip(model.plaintext(*inputs), one.plaintext(*inputs), strict=True):
        np.testing.assert_array_equal(got, want)


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=programs(), batch=st.sampled_from([4, "fill"]))
def test_encrypted_rows_are_numpys(program, batch):
    model = program.compiled(4096, batch=batch)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    inputs = rows_for(program, 7, np.random.default_rng(1))
    results = client.decrypt(server(client.encrypt(*inputs)))
    check_rows(program, model, [r.reveal() for r in results], inputs)
