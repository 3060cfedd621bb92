"""Clients and servers of plans whose tensors take several ciphertexts: runs, files, reports and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from array_programs import draw, values
from vec_cases import SLOTS, Vectors, line, plan_of, small_chain

from latticework.compiler.levels import program_depth
from latticework.debug import debug_run
from latticework.errors import FormatError, ShapeError
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.schema.schema import TensorValue
from latticework.report import build_report
from latticework.runtime.client.client import Client
from latticework.runtime.exchange.encrypted import Encrypted
from latticework.runtime.server.server import Server

RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def sums():
    """y0 = the sum of the four products of two arrays, in two groups; a plan, its client and server."""
    v = Vectors(2, counts=[4, 4])
    plan = plan_of(v.done(v.op("sum", v.op("mul", *v.x), groups=2)), small_chain(1))
    client = Client(plan.client, threads=1, allow_insecure=True)
    return plan, client, Server(plan, client.keygen().public(), threads=1)


def samples():
    return RNG.uniform(-1, 1, (4, SLOTS)), RNG.uniform(-1, 1, (4, SLOTS))


def expected(x, y):
    return (x * y).reshape(2, 2, SLOTS).sum(axis=1)


@pytest.mark.parametrize("seed", range(6))
def test_deployed_programs_agree_with_numpy(seed):
    """Through files everywhere: plan, client, inputs and outputs."""
    module, inputs, outputs = draw(seed)
    plan = read_plan(write_plan(plan_of(module, small_chain(program_depth(module)))))
    client = Client(read_client(write_client(plan.client)), threads=1, allow_insecure=True)
    server = Server(plan, client.keygen().public(), threads=2)
    sent = client.encrypt(*values(inputs)).to_bytes()
    answer = server(server.load_encrypted(sent)).to_bytes()
    results = client.decrypt(client.load_encrypted(answer))
    assert set(results) == {o.name for o in plan.client.outputs}
    for value, want in zip(results.values(), values(outputs), strict=True):
        np.testing.assert_allclose(value.reveal(), want, atol=1e-4)


def test_every_vector_is_a_ciphertext(sums):
    _, client, server = sums
    x, y = samples()
    sent = client.encrypt(x, y)
    assert [len(array) for array in sent.tensors.values()] == [4, 4]
    answer = server(sent)
    assert [len(array) for array in answer.tensors.values()] == [2]
    assert answer.num_bytes == sum(c.num_bytes for c in answer.tensors["y0"])
    assert "x0</td><td>4 x" in sent._repr_html_()


def test_threads_do_not_change_the_bytes(sums):
    plan, client, _ = sums
    keys, sent = client.public_keys(), client.encrypt(*samples())
    first, second = (Server(plan, keys, threads=n)(sent).to_bytes() for n in (1, 2))
    assert first == second


def test_another_number_of_ciphertexts_is_refused(sums):
    _, client, server = sums
    sent = client.encrypt(*samples())
    short = replace(sent, tensors={**sent.tensors, "x1": sent.tensors["x1"][:3]})
    with pytest.raises(ShapeError, match="input x1 has 3 ciphertexts, this plan takes 4"):
        server(short)
    answer = server(sent)
    with pytest.raises(ShapeError, match="output y0 has 1 ciphertexts, expected 2"):
        client.decrypt(replace(answer, tensors={"y0": answer.tensors["y0"][:1]}))


def test_files_without_all_ciphertexts_are_refused(sums):
    _, client, _ = sums
    sent = client.encrypt(*samples())
    lone = Encrypted(sent.role, sent.program, sent.interface, {"x0[0]": sent.tensors["x0"][:1]}, {})
    assert list(client.load_encrypted(lone.to_bytes()).tensors) == ["x0[0]"]  # a name like that of a part is a name
    with pytest.raises(FormatError):
        client.load_encrypted(sent.to_bytes().replace(b"x0[1]", b"x0[9]"))


def test_debugging_compares_arrays(sums):
    plan, client, _ = sums
    register = plan.blocks[0].code[-1].operands[0].register
    watched = replace(plan, tensors=(TensorValue(0, "y", 0, line(SLOTS, 2), 1e-3),), watch={register: 0})
    row, returned = debug_run(watched, client, samples(), {}, None).rows
    assert row.name == "y" and row.shape == (2, SLOTS) and row.error < 1e-4
    assert returned.name.startswith("result") and returned.shape == (2, SLOTS) and returned.error < 1e-4


def test_reported_bytes_are_those_of_files(sums):
    plan, client, server = sums
    sizes = estimate(plan, CostModel.load()).bytes
    sent = client.encrypt(*samples())
    stored, answer = len(sent.to_bytes()), len(server(sent).to_bytes())
    assert sizes.inputs_fresh < stored < sizes.inputs_fresh + 8192
    assert sizes.outputs < answer < sizes.outputs + 8192


def test_predicted_memory_holds_products_one_at_a_time(sums):
    """Eight inputs and two sums of degree 2: no product is alive by itself."""
    plan, _, _ = sums
    kinds = [k for k in plan.kinds if isinstance(k, CipherKind)]
    assert {(k.degree, k.count) for k in kinds} >= {(1, 4), (2, 2)}
    assert not any(k.degree == 2 and k.count > 2 for k in kinds)


def test_reports_say_how_many_vectors(sums):
    plan, _, _ = sums
    page = build_report(plan).html()
    assert f"4 \N{MULTIPLICATION SIGN} {SLOTS}" in page and f"2 \N{MULTIPLICATION SIGN} {SLOTS}" in page
