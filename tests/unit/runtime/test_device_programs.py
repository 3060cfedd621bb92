"""Random programs give the same bytes on devices as on the host, on simulated ones in any order of blocks and threads."""

import numpy as np
import pytest
from array_programs import Deployed, draw, values
from devices_here import KINDS, place_of
from vec_cases import plan_of, small_chain

from latticework import bfv, ckks
from latticework.compiler.levels import program_depth
from latticework.errors import LevelError
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server

QUICK = 10
on_each = pytest.mark.parametrize("kind", KINDS)


@on_each
@pytest.mark.parametrize("seed", [*range(QUICK), *(pytest.param(n, marks=pytest.mark.slow) for n in range(QUICK, 100))])
def test_random_programs_give_the_same_bytes(seed, kind):
    module, inputs, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    client = Client(plan.client, threads=1, allow_insecure=True)
    keys, sent = client.keygen().public(), client.encrypt(*values(inputs))
    wanted = Server(plan, keys, threads=1)(sent).to_bytes()
    assert Server(plan, keys, device=place_of(kind, seed))(sent).to_bytes() == wanted


@pytest.mark.parametrize("backend", ["sim-u64-shuffled", "sim-fp64-reversed"])
def test_random_programs_mean_the_same_in_any_order(backend):
    module, inputs, outputs = draw(3)
    deployed = Deployed(plan_of(module, small_chain(program_depth(module))), backend=backend)
    for found, wanted in zip(deployed.run(deployed.encrypt(inputs)), outputs, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-4)


@on_each
@pytest.mark.parametrize("seed", range(4))
def test_random_integer_programs_give_the_same_bytes(seed, kind):
    parameters = bfv.Parameters.choose(depth=3, plain_bits=17, ring_degree=2048, insecure=True)
    generator = bfv.KeyGenerator(parameters)
    evaluator = bfv.Evaluator(parameters, generator.evaluation_keys(relin=True, steps=[1, 2]))
    encryptor = bfv.Encryptor(parameters, generator.secret_key(), evaluator=evaluator)
    rng = np.random.default_rng(seed)
    x, y = (encryptor.encrypt(rng.integers(-50, 50, 16)) for _ in range(2))
    on_host, there = [x, y], [x.gpu(kind), y.gpu(kind)]
    for step in rng.integers(6, size=8):
        for held in (on_host, there):
            a, b = held[-1], held[-2]
            held.append([lambda: a + b, lambda: a - 3 * b, lambda: a.rotate(1), lambda: -a, lambda: a + 7,
                         lambda: b.rotate(2)][step]())  # fmt: skip
        if step % 3 == 0 and len(on_host) < 6:
            for held in (on_host, there):
                held.append(held[-1] * held[0])
    assert there[-1].device == f"{kind}:0"
    assert [v.to_bytes() for v in there[2:]] == [v.to_bytes() for v in on_host[2:]]


@on_each
@pytest.mark.parametrize("seed", range(12))
def test_sequences_that_mix_places_give_the_same_bytes(seed, kind):
    """Each operand is marked for the device, for the host, or left where its operation was; so is each plaintext."""
    parameters = ckks.Parameters(1024, [40, 30, 30, 30, 30], scale_bits=30, insecure=True)
    generator = ckks.KeyGenerator(parameters)
    keys = generator.evaluation_keys(relin=True, steps=[1, 3], conjugate=True)
    evaluator = ckks.Evaluator(parameters, keys)
    encryptor, encoder = (
        ckks.Encryptor(parameters, generator.secret_key(), evaluator=evaluator),
        ckks.Encoder(parameters),
    )
    rng = np.random.default_rng(seed)
    on_host = [encryptor.encrypt(rng.uniform(-1, 1, 16)) for _ in range(3)]
    mixed, places = list(on_host), set()
    operations = [
        lambda a, b, p: a + b, lambda a, b, p: a - b, lambda a, b, p: (a * b).settle(), lambda a, b, p: a.rotate(1),
        lambda a, b, p: a.rotate_many([1, 3])[1], lambda a, b, p: a.conjugate(), lambda a, b, p: (a * p).settle(),
        lambda a, b, p: a + 0.5, lambda a, b, p: (a * a).settle(), lambda a, b, p: -b + p,
    ]  # fmt: skip

    def marked(value):
        return [lambda: value, value.cpu, lambda: value.gpu(kind)][rng.integers(3)]()

    for step in rng.integers(len(operations), size=12):
        i, j = rng.integers(len(on_host), size=2)
        vector = rng.uniform(-1, 1, 16)
        try:
            plain = encoder.encode(vector, level=on_host[i if step == 6 else j].level)
            made = operations[step](on_host[i], on_host[j], plain)
        except LevelError:  # none is left to spend
            continue
        on_host.append(made)
        mixed.append(operations[step](marked(mixed[i]), marked(mixed[j]), marked(plain)))
        places.add(mixed[-1].device)
    assert f"{kind}:0" in places and len(on_host) > 6
    assert [x.to_bytes() for x in mixed] == [x.to_bytes() for x in on_host]
