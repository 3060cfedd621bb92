"""Constants of recorded runs: what is not kept whole is lifted from coefficients on the device, in replays too."""

import numpy as np
import pytest
from array_programs import draw, values
from replay_cases import Case, asked_of, constant_bytes
from vec_cases import plan_of, small_chain

import latticework as lw
from latticework import _core
from latticework.compiler.levels import program_depth
from latticework.runtime.client.client import Client
from latticework.runtime.server.server import Server

RNG = np.random.default_rng(8)
DATA = RNG.uniform(-1, 1, (16, 8))


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    found.reset_counters()
    return found


@pytest.fixture
def budget(monkeypatch):
    """Says how much servers without a budget have for constants."""

    def say(num_bytes):
        monkeypatch.setattr("latticework.runtime.server.shares.DEFAULT_CONSTANTS", num_bytes)

    return say


@lw.program
def layers(x: lw.Secret[8], w1, b1, w2):
    return w2 @ (w1 @ x + b1) ** 2


@lw.circuit
def shares(a: lw.vector(4, low=0, high=9), b: lw.vector(4, low=0, high=9)):
    return [3 * x * x + 2 * y - x * y + 5 for x, y in zip(a, b, strict=True)]


@pytest.fixture(scope="module")
def network():
    weights = RNG.normal(size=(8, 8)), RNG.normal(size=8), RNG.normal(size=(4, 8))
    return Case(layers, [{"x": x} for x in DATA[:2]], DATA, weights=weights)


@pytest.fixture(scope="module")
def integers():
    return Case(shares, [{"a": [1, 2, 3, k], "b": [4, 3, 2, 1]} for k in range(2)], None, scheme="bfv")


@pytest.mark.parametrize("share", [0, 0.4, 1])
@pytest.mark.parametrize("name", ["network", "integers"])
def test_a_replay_lifts_what_is_not_kept_whole(request, device, budget, name, share):
    case = request.getfixturevalue(name)
    coefficients, whole = case.constants()
    budget(coefficients + int(share * whole))
    server = case.server(device="sim")
    assert server(case.inputs[0]).to_bytes() == case.expected[0]
    for x, expected in zip(case.inputs, case.expected, strict=True):
        result, asked = asked_of(server, x, case.client, device)
        assert result == expected
        assert asked["replays"] >= 1
        assert (asked["allocations"], asked["bytes_down"], asked["host_waits"]) == (0, 0, 1)
        assert asked["bytes_up"] < 1024  # where the inputs and outputs are
    kept = server.memory_use.constants
    assert kept <= coefficients + int(share * whole)
    assert kept > 0.9 * whole or share < 1


def test_coefficients_come_to_the_device_once(network, device, budget):
    """The first run brings a row of each, whatever is lifted from it and how often."""
    coefficients, whole = network.constants()
    brought = []
    for share in (0, 1):
        budget(coefficients + share * whole)
        server = network.server(device="sim")
        x = network.client.load_encrypted(network.inputs[0].to_bytes())
        server(x)
        _core.settle_device("sim", 0, trim=True)  # the next run is another recording
        device.reset_counters()
        assert server(x).to_bytes() == network.expected[0]
        brought.append(device.counters()["bytes_up"])
    # Without uploads of coefficients: what kernels are given, a little more where they lift.
    assert abs(brought[0] - brought[1]) < coefficients // 2


def replays(device, server, x):
    device.reset_counters()
    server(x)
    return device.counters()["replays"] > 0


@pytest.mark.parametrize("seed", [4, 7, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2, 3, 5, 6, 8, 9, 11))])
def test_any_budget_gives_the_same_bytes(budget, device, seed):
    """Arrays and block maps: from a budget for all coefficients on runs are replayed, and below as they always were."""
    module, inputs, _ = draw(seed)
    plan = plan_of(module, small_chain(program_depth(module)))
    client = Client(plan.client, threads=1, allow_insecure=True)
    keys, sent = client.keygen().public(), client.encrypt(*values(inputs))
    wanted = Server(plan, keys, threads=1)(sent).to_bytes()
    coefficients, whole = constant_bytes(plan)
    can_replay = seed != 3  # it returns an input
    for share in (0.5, 1.0, 1.0 + np.random.default_rng(seed).random()):
        amount = int(min(share, 1) * coefficients + max(0, share - 1) * whole)
        budget(amount)
        server = Server(plan, keys, device="sim")
        assert server(sent).to_bytes() == wanted
        assert replays(device, server, sent) or share < 1 or not can_replay
        assert server(sent).to_bytes() == wanted
        assert server.memory_use.constants <= amount
