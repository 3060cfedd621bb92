"""Inputs, outputs, plans and client files whose headers say something else, hashes right: typed errors through every door.

Ciphertexts under the key make a result whatever is said of them, so nothing is asked of those that are accepted.
"""

import random
from collections import Counter

import numpy as np
import pytest
from altered_headers import header_of, rebuilt, replaced

import latticework as lw
from latticework.errors import UserError

COUNTS = [30, pytest.param(1000, marks=pytest.mark.slow)]


@lw.program
def total(x: lw.Secret[6, 4], n: lw.Index):
    return lw.for_loop(n, lambda i, s: s + x[i], x[0])


@lw.circuit
def exact(a: lw.vector(4, low=-9, high=9), b: lw.scalar(low=0, high=3)):
    return {"p": a * b, "q": [a[0] + 1, b]}


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def session(request):
    """(model, client, server, inputs)."""
    options = {"ring_degree": 2048, "insecure": True}
    if request.param == "bfv":
        model, given = (
            lw.compile(exact, scheme="bfv", plain_bits=17, effort="fast", **options),
            ([[1, 2, 3, 4]] * 3, [1, 2, 3]),
        )
    else:
        data = {"x": np.ones((3, 6, 4)), "n": 6}
        model, given = lw.compile(total, calibrate=data, precision_bits=8, **options), (np.ones((6, 4)), 5)
    client = model.client(threads=1)
    server = model.server(client.keygen().public(), threads=1)
    return model, client, server, client.encrypt(*given)


def outcomes(data, use, count, *, only=None):
    """What became of copies with one leaf of the header altered, by the name of the error."""
    rng, header, counted = random.Random(0), header_of(data), Counter()
    while counted.total() < count:
        changed = header | {only: replaced(header[only], rng)} if only else replaced(header, rng)
        try:
            mutant = rebuilt(data, changed)
        except UserError:  # no header of a container
            continue
        if mutant == data:
            continue
        try:
            use(mutant)
            counted["accepted"] += 1
        except UserError as error:
            counted[type(error).__name__] += 1
    return counted


@pytest.mark.parametrize("count", COUNTS)
def test_inputs(session, count):
    _, _, server, inputs = session
    for only in ("extras", None):
        found = outcomes(inputs.to_bytes(), lambda data: server(server.load_encrypted(data)), count, only=only)
        assert found["FormatError"] > count / 3, found


@pytest.mark.parametrize("count", COUNTS)
def test_outputs(session, count):
    _, client, server, inputs = session

    def use(data):
        client.decrypt(client.load_encrypted(data), **allowed)

    allowed = {"allow_refusals": 1 << 20}
    for only in ("extras", None):
        found = outcomes(server(inputs).to_bytes(), use, count, only=only)
        assert found["FormatError"] > count / 3, found


@pytest.mark.parametrize("count", COUNTS)
def test_client_files_and_plans(session, tmp_path, count):
    model, client, _, _ = session
    path = tmp_path / "file"

    def use_client(data):
        path.write_bytes(data)
        repr(lw.Client.load(path, threads=1, allow_insecure=True))

    def use_plan(data):
        path.write_bytes(data)
        repr(lw.load(path))

    for save, use in ((client.save, use_client), (model.save, use_plan)):
        path.unlink(missing_ok=True)
        save(path)
        found = outcomes(path.read_bytes(), use, count)
        assert found["FormatError"] > count / 4, found
