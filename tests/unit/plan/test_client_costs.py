"""What a client takes: sizes as they come out, times by laws and counts by hand, the same numbers everywhere."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework import cli
from latticework.plan.cost import CostModel, Shape, client_costs, work
from latticework.plan.cost.client_cost import message_limbs
from latticework.plan.machine.measured_operations import MeasuredChain, Operations
from latticework.report import build_client_report

CKKS = {"precision_bits": 10, "ring_degree": 4096, "insecure": True}


@lw.program
def moved(x: lw.Secret[4, 8], y: lw.Secret[8]):
    return np.roll(x, 1, axis=1) * y, y + y


@lw.circuit
def product(a: lw.scalar(low=0, high=9), b: lw.scalar(low=0, high=9)):
    return a * b


@pytest.fixture(scope="module", params=["ckks", "bfv"])
def party(request):
    if request.param == "bfv":
        model = lw.compile(product, scheme="bfv", plain_bits=16, algorithm="scalar", ring_degree=4096, insecure=True)
        return model, {"a": 2, "b": 3}
    return lw.compile(moved, **CKKS), {"x": np.ones((4, 8)), "y": np.ones(8)}


def test_sizes_are_those_that_come_out(party, tmp_path):
    model, inputs = party
    costs = model.costs().client
    client = model.client(threads=1)
    keys = client.keygen()
    sent = client.encrypt(**inputs)
    results = model.server(keys.public(), threads=1)(sent)
    client.save(tmp_path / "model.lwclient")
    keys.save(tmp_path)
    assert costs.file_bytes == (tmp_path / "model.lwclient").stat().st_size
    for predicted, real in (
        (costs.input_bytes, len(sent.to_bytes())),
        (costs.result_bytes, len(results.to_bytes())),
        (costs.key_bytes, (tmp_path / "evaluation.lwkeys").stat().st_size),
    ):
        assert predicted <= real <= 1.02 * predicted + 8192  # headers, and parts that start at whole pages
    assert keys.public().num_bytes == pytest.approx(costs.keygen_bytes, rel=0.05)
    assert sent.num_bytes < costs.encrypt_bytes and results.num_bytes < costs.decrypt_bytes


def test_reports_files_and_costs_tell_the_same(party, tmp_path):
    model, _ = party
    costs, report = model.costs(), model.report()
    assert report.client == costs.client == build_client_report(model.plan.client).client
    assert json.loads(report.json())["client"]["keygen_seconds"] == costs.client.keygen_seconds
    assert costs.later_run_seconds == report.execution.estimate.warm_seconds <= costs.first_run_seconds
    for text in (report.text(), report.html()):
        assert "making keys, once" in text and "decryption" in text
    model.client().save(tmp_path / "model.lwclient")
    explained = CliRunner().invoke(cli.app, ["explain", str(tmp_path / "model.lwclient")])
    assert "making keys, once" in explained.output


def test_times_add_up_over_what_is_made(party):
    model, _ = party
    spec, prices = model.plan.client, CostModel.load()
    whole = client_costs(spec, prices)
    assert min(whole.keygen_seconds, whole.encrypt_seconds, whole.decrypt_seconds) > 0
    one = type(spec)(**{**vars(spec), "outputs": spec.outputs[:1]})
    rest = type(spec)(**{**vars(spec), "outputs": spec.outputs[1:]})
    parts = [client_costs(s, prices).decrypt_seconds for s in (one, rest)]
    assert whole.decrypt_seconds == pytest.approx(sum(parts))


def test_work_of_a_client():
    # Two digits over 3 + 1 limbs: 8 rows of a key and as many transforms of errors; two errors; the secret over both
    # bases, 4 + 3 transforms.
    key = work("generate_key", Shape(1024, 3, 1, (2, 1)))
    assert key == {"expand": 8 + 2, "ntt": 8 + 4 + 3, "pointwise": 6 * 8 + 3 * 4}
    assert work("encrypt", Shape(1024, 3)) == {"expand": 4, "ntt": 6, "pointwise": 24}
    assert work("decrypt", Shape(1024, 2)) == {"ntt": 4, "pointwise": 14 + 4, "fft": 1.0}


def test_messages_are_read_from_as_many_limbs_as_they_need():
    primes = (1 << 45,) * 6
    assert [message_limbs(primes, 2.0**bits) for bits in (20, 26, 27, 45, 71, 72)] == [2, 2, 3, 3, 3, 4]
    assert message_limbs(primes[:1], 2.0**45) == 1


def test_calibration_measures_a_client():
    operations = Operations(MeasuredChain(1 << 12, 3, 1), "ref", 1)
    calls = {
        op: (shape, call) for op, shape, call in operations.calls() if op in ("generate_key", "encrypt", "decrypt")
    }
    assert set(calls) == {"generate_key", "encrypt", "decrypt"}
    shape, make = calls["generate_key"]
    assert shape.digit_limbs == (1, 1, 1) and len(make()) == 1
    _, encrypt = calls["encrypt"]
    assert calls["decrypt"][0].q_limbs == 3
    assert np.abs(operations.decryptor.decrypt(encrypt()) - operations.values).max() < 1e-6
