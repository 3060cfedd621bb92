"""Recordings under a budget for all that is on a device, and where memory runs short in the middle of one."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from replay_cases import Case

import latticework as lw
from latticework import _core
from latticework.errors import BudgetError

RNG = np.random.default_rng(6)
DATA = RNG.uniform(-1, 1, (16, 8))


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    found.reset_counters()
    yield found
    found.fail_allocations(0, 0)


@lw.program
def powers(x: lw.Secret[8], n: lw.Index, w):
    return lw.for_loop(n, lambda i, h: (w @ h) * x, x, at_most=2)


@pytest.fixture(scope="module")
def case():
    w = RNG.normal(size=(8, 8)) / 8
    return Case(powers, [{"x": DATA[0], "n": n} for n in (2, 1, 0)], {"x": DATA, "n": 2}, weights=(w,))


def least_memory(case):
    with pytest.raises(BudgetError) as refusal:
        case.server(device="sim", memory=1)
    return int(re.search(r"\((\d+) bytes\)", str(refusal.value))[1])


def replays(device, server, x):
    device.reset_counters()
    server(x)
    return device.counters()["replays"]


def test_a_server_with_a_budget_replays_where_it_has_room(case, device):
    least, can = least_memory(case), []
    for spare in (0, 1 << 22, 1 << 25):
        server = case.server(device="sim", memory=least + spare)
        assert [server(x).to_bytes() for x in case.inputs] == case.expected
        assert server.memory_use.held <= least + spare
        can.append(replays(device, server, case.inputs[0]) > 0)
    assert not can[0] and can[-1] and can == sorted(can)
    device.reset_counters()
    plain = case.server(device=lw.Device("sim", graphs=False), memory=least + spare)
    assert plain(case.inputs[0]).to_bytes() == plain(case.inputs[0]).to_bytes() == case.expected[0]
    assert device.counters()["replays"] == 0


@pytest.mark.parametrize("spare", [0, 1 << 23])
def test_as_many_runs_as_a_budget_admits_have_room(case, spare):
    """Whatever recordings there are, of runs under way and of others that are kept."""
    least = least_memory(case)
    server = case.server(device="sim", memory=least + spare)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: server(case.inputs[i % 3]).to_bytes(), range(12)))
    assert found == case.expected * 4
    assert server.memory_use.held <= least + spare


@pytest.mark.parametrize("first", [*(1, 4, 9, 16)])
def test_a_recording_for_which_there_is_no_memory_is_given_up_and_the_run_goes_on(case, device, first):
    """Two requests of the driver fail: one, and the same one once spare memory was given back."""
    server = case.server(device=lw.Device("sim", graphs=True))
    x = case.client.load_encrypted(case.inputs[0].to_bytes())
    assert server(x).to_bytes() == case.expected[0]
    _core.settle_device("sim", 0, trim=True)  # constants, keys and the input are there, and nothing else
    device.fail_allocations(first, 2)
    device.reset_counters()
    assert server(x).to_bytes() == case.expected[0]
    assert device.counters()["allocations"] > first + 1
    device.fail_allocations(0, 0)
    assert [server(x).to_bytes() for x in case.inputs] == case.expected


def test_a_device_option_that_is_no_flag_is_refused():
    with pytest.raises(lw.errors.UserError, match="Device: graphs='yes'; give True or False"):
        lw.Device("sim", graphs="yes")
