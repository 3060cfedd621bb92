"""Later runs of a plan on a device are replays of the first: the same bytes, and nothing is asked for but them."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np
import pytest
from interrupts import interrupted
from plan_assembler import Assembler, Last, cipher
from replay_cases import Case, asked_of
from rlwe_cases import make_case, plain_parameters

import latticework as lw
from latticework import _core
from latticework.errors import DeviceError

RNG = np.random.default_rng(5)
DATA = RNG.uniform(-1, 1, (16, 8))
W = RNG.normal(size=(4, 8))


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    found.reset_counters()
    yield found
    found.fail_allocations(0, 0)
    found.fail_launches(0, 0)


@lw.program
def layer(x: lw.Secret[8], w):
    return (w @ x) ** 2


@lw.program
def power(x: lw.Secret[8], n: lw.Index):
    return lw.for_loop(n, lambda i, h: h * x, x, at_most=3)


@lw.program
def same(x: lw.Secret[8], y: lw.Secret[8]):
    return x, x * y


@pytest.fixture(scope="module")
def layers():
    return Case(layer, [{"x": x} for x in DATA[:3]], DATA, weights=(W,))


@pytest.fixture(scope="module")
def powers():
    return Case(power, [{"x": DATA[0] / 2, "n": n} for n in (3, 1, 2, 0)], {"x": DATA / 2, "n": 3})


def test_the_second_run_asks_for_nothing_but_a_replay(layers, device):
    server = layers.server(device="sim")
    results = [server(one).to_bytes() for one in layers.inputs]
    for x in layers.inputs:
        again, asked = asked_of(server, x, layers.client, device)
        assert asked["replays"] >= 1
        assert (asked["allocations"], asked["bytes_down"], asked["host_waits"]) == (0, 0, 1)
        assert asked["bytes_up"] < 1024  # where the inputs and outputs are
        results.append(again)
    assert results == [*layers.expected, *layers.expected]


def test_other_integers_take_another_way(powers, device):
    server = powers.server(device="sim")
    for _ in range(3):
        assert [server(x).to_bytes() for x in powers.inputs] == powers.expected
    assert device.counters()["replays"] > 0


def test_what_comes_out_as_it_came_in_keeps_its_seed(device):
    case = Case(same, [{"x": DATA[i], "y": DATA[i + 1]} for i in range(3)], {"x": DATA, "y": DATA})
    server = case.server(device="sim")
    for _ in range(2):
        assert [server(x).to_bytes() for x in case.inputs] == case.expected


def test_runs_at_once_have_recordings_of_their_own(powers):
    server = powers.server(device="sim")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda i: server(powers.inputs[i % 4]).to_bytes(), range(32)))
    assert found == powers.expected * 8


def test_many_servers_share_what_queues_there_are(layers):
    servers = [layers.server(device="sim") for _ in range(30)]
    for server in servers * 2:
        assert server(layers.inputs[0]).to_bytes() == layers.expected[0]


@pytest.mark.parametrize("options", [{"graphs": False}, {"synchronous": True}, {"cache": False}])
def test_devices_that_record_nothing(layers, device, options):
    server = layers.server(device=lw.Device("sim", **options))
    for _ in range(2):
        assert server(layers.inputs[0]).to_bytes() == layers.expected[0]
    assert device.counters()["replays"] == 0


def test_constants_beyond_their_budget_are_made_in_every_run(layers, device, monkeypatch):
    monkeypatch.setattr("latticework.runtime.server.shares.DEFAULT_CONSTANTS", 1000)
    server = layers.server(device="sim")
    for x, expected in zip(layers.inputs, layers.expected, strict=True):
        assert server(x).to_bytes() == expected
    device.reset_counters()
    server(layers.inputs[0])
    assert device.counters()["replays"] == 0


def test_a_frame_ends_recordings_and_the_next_run_makes_one(layers, device):
    server = layers.server(device="sim")
    server(layers.inputs[0])
    with lw.frame("sim") as one:
        pass
    with lw.frame("sim") as two:
        pass
    assert one.freed > 0 and two.held < one.held
    for _ in range(2):
        assert server(layers.inputs[1]).to_bytes() == layers.expected[1]


def test_recordings_make_way_where_memory_is_short(layers, device):
    """The second server gets what the recording of the first one held."""
    first = layers.server(device="sim")
    assert first(layers.inputs[0]).to_bytes() == layers.expected[0]
    with lw.frame("sim") as frame:
        pass
    first(layers.inputs[0])
    before = frame.kept
    device.fail_allocations(1, 1)
    second = layers.server(device="sim")
    assert second(layers.inputs[1]).to_bytes() == layers.expected[1]
    assert first(layers.inputs[2]).to_bytes() == layers.expected[2]
    assert before > 0


def test_recordings_may_be_dropped_while_others_run(powers):
    """Two threads record and replay all the while; what is dropped is not what either of them runs."""
    server = powers.server(device="sim")

    def run(first):
        return [server(powers.inputs[(first + i) % 4]).to_bytes() for i in range(12)]

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(run, first) for first in (0, 2)]
        while wait(found, timeout=0.002).not_done:
            with lw.frame("sim"):
                pass
    for first, one in zip((0, 2), found, strict=True):
        assert one.result() == [powers.expected[(first + i) % 4] for i in range(12)]


def test_a_replay_that_fails_gives_no_result(layers, device):
    server = layers.server(device="sim")
    server(layers.inputs[0])
    device.fail_launches(2, 1)  # after the copy of the input
    with pytest.raises(DeviceError, match="a replay: a replay failed on demand; nothing computed on it since"):
        server(layers.inputs[0])
    assert layers.server(device="sim")(layers.inputs[0]).to_bytes() == layers.expected[0]


def test_a_run_that_is_cancelled_leaves_all_as_it_was(powers):
    server = powers.server(device="sim")
    now = threading.Event()
    with interrupted(now):
        now.set()
        while True:
            server(powers.inputs[0])
    assert [server(x).to_bytes() for x in powers.inputs] == powers.expected


def test_a_recording_that_is_cancelled_leaves_its_memory_in_order(powers):
    """Whoever gets it next waits for what its owner before the recording called, as others run all the while."""
    other, stop, found = powers.server(device="sim"), threading.Event(), []

    def run():
        while not stop.is_set():
            found.append(other(powers.inputs[1]).to_bytes())

    runner = threading.Thread(target=run)
    runner.start()
    try:
        for wait in np.linspace(0.001, 0.03, 15):
            now = threading.Event()
            server = powers.server(device="sim")
            timer = threading.Timer(wait, now.set)
            with interrupted(now):
                timer.start()
                while True:
                    server(powers.inputs[0])
                    server = powers.server(device="sim")
    finally:
        stop.set()
        runner.join()
    assert set(found) == {powers.expected[1]}
    assert server(powers.inputs[0]).to_bytes() == powers.expected[0]


@pytest.mark.slow
def test_a_run_of_many_calls_is_replayed(device):
    """A loop of 40,001 turns, each of them a call."""
    case, a = make_case(plain_parameters(), backend="sim"), Assembler()
    b = a.block(cipher(0), ["index"])
    body = a.block(["index"], cipher(0))
    body.yield_(body.op("neg", [Last(body.args[1])], cipher(0)))
    b.yield_(*b.emit("for", [b.args[1], b.args[0]], [cipher(0)], (body.number, 50_000)))
    executor = _core.Executor(case.context, a.plan(case.parameters), case.keys)
    x = case.encrypt(DATA[0].repeat(8), level=0)
    for _ in range(2):
        device.reset_counters()
        y = executor.run([x, 40_001])[0]
        np.testing.assert_allclose(case.decryptor.decrypt(y), -DATA[0].repeat(8), atol=1e-6)
    asked = device.counters()
    assert asked["replays"] > 150 and sum(asked["launches"].values()) > 40_001
    assert asked["bytes_up"] == 0 and asked["allocations"] <= 1  # for the result, as the one before is still held
