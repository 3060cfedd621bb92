"""Random programs give the same bytes on simulated devices as on the host, in any order of blocks and threads."""

import numpy as np
import pytest
from array_programs import Deployed, draw, values
from vec_cases import plan_of, small_chain

import latticework as lw
from latticework import bfv
from latticework.levels import program_depth
from latticework.runtime import Client, Server

QUICK = 10


@pytest.mark.parametrize("seed", [*range(QUICK), *(pytest.param(n, marks=pytest.mark.slow) for n in range(QUICK, 100))])
def test_random_programs_give_the_same_bytes(seed):
    module, inputs, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    client = Client(plan.client, threads=1, allow_insecure=True)
    keys, sent = client.keygen().public(), client.encrypt(*values(inputs))
    places = lw.Device("sim", arithmetic="u64"), lw.Device("sim:1", arithmetic="fp64")
    wanted = Server(plan, keys, threads=1)(sent).to_bytes()
    assert Server(plan, keys, device=places[seed % 2])(sent).to_bytes() == wanted


@pytest.mark.parametrize("backend", ["sim-u64-shuffled", "sim-fp64-reversed"])
def test_random_programs_mean_the_same_in_any_order(backend):
    module, inputs, outputs = draw(3)
    deployed = Deployed(plan_of(module, small_chain(program_depth(module))), backend=backend)
    for found, wanted in zip(deployed.run(deployed.encrypt(inputs)), outputs, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_random_integer_programs_give_the_same_bytes(seed):
    parameters = bfv.Parameters.choose(depth=3, plain_bits=17, ring_degree=2048, insecure=True)
    generator = bfv.KeyGenerator(parameters)
    evaluator = bfv.Evaluator(parameters, generator.evaluation_keys(relin=True, steps=[1, 2]))
    encryptor = bfv.Encryptor(parameters, generator.secret_key(), evaluator=evaluator)
    rng = np.random.default_rng(seed)
    x, y = (encryptor.encrypt(rng.integers(-50, 50, 16)) for _ in range(2))
    on_host, there = [x, y], [x.gpu("sim"), y.gpu("sim")]
    for step in rng.integers(6, size=8):
        for held in (on_host, there):
            a, b = held[-1], held[-2]
            held.append([lambda: a + b, lambda: a - 3 * b, lambda: a.rotate(1), lambda: -a, lambda: a + 7,
                         lambda: b.rotate(2)][step]())  # fmt: skip
        if step % 3 == 0 and len(on_host) < 6:
            for held in (on_host, there):
                held.append(held[-1] * held[0])
    assert there[-1].device == "sim:0"
    assert [v.to_bytes() for v in there[2:]] == [v.to_bytes() for v in on_host[2:]]
