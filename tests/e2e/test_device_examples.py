"""Whole programs on devices: the bytes of the CPU, and on simulated ones replays of what their first runs called."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from devices_here import DRIVEN, place_of
from e2e_cases import example, uniform

import latticework as lw
from latticework import _core

slow = pytest.mark.slow


def digits():
    demo = example("digits")
    weights, x_train, x_test, _, _ = demo.train()
    with pytest.warns(lw.errors.ApproximationWarning):
        model = lw.compile(demo.score, weights=weights, calibrate=x_train[:, None, :])
    return model, [{"x": x} for x in x_test[:2, None, :]]


@lw.program
def network(image: lw.Secret[1, 28, 28], k1, b1, k2, b2, d3, b3, d4, b4, d5, b5):
    maps = lw.avg_pool2d(lw.square(lw.conv2d(image, k1, b1)), 2)
    maps = lw.avg_pool2d(lw.square(lw.conv2d(maps, k2, b2)), 2)
    hidden = lw.square(np.reshape(maps, (256,)) @ d3 + b3)
    return lw.square(hidden @ d4 + b4) @ d5 + b5


def lenet():
    shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (256, 120), (120,), (120, 84), (84,), (84, 10), (10,)]
    weights = [uniform(s) / np.sqrt(np.prod(s[1:] if len(s) == 4 else s[0])) if len(s) > 1 else 0.5 + uniform(s) / 8
               for s in shapes]  # fmt: skip
    images = 0.5 * uniform((8, 1, 28, 28)) + 0.5
    return lw.compile(network, weights=weights, calibrate=images, precision_bits=8), [{"image": images[0]}]


@lw.program
def fading(x: lw.Secret[8], n: lw.Index):
    return lw.for_loop(n, lambda i, h: h * x * 0.9 + 0.1, x, at_most=20)


def bootstraps():
    data = 0.9 * uniform((32, 8))
    model = lw.compile(fading, calibrate={"x": data, "n": 12}, bootstrap_set="T12", insecure=True, precision_bits=10)
    return model, [{"x": data[0], "n": 5}]


@lw.circuit
def distances(a: lw.vector(4, low=0, high=9), b: lw.vector(4, low=0, high=9)):
    return [(x - y) * (x - y) + x * y for x, y in zip(a, b, strict=True)]


def integers():
    model = lw.compile(distances, scheme="bfv", ring_degree=1024, insecure=True)
    return model, [{"a": [1, 2, 3, 4], "b": [4, 3, 2, k]} for k in range(3)]


MADE = pytest.mark.parametrize("made", [
    pytest.param(digits, marks=slow), pytest.param(lenet, marks=slow), pytest.param(bootstraps, marks=slow), integers,
])  # fmt: skip


@contextmanager
def repaired(device):
    """A device whose demands to fail end with the block."""
    try:
        yield device
    finally:
        device.fail_launches(0, 0)
        device.forget_failure()


def asked_for(device, work):
    """What was asked of a device for something, and that."""
    device.reset_counters()
    result = work()
    return device.counters(), result


@MADE
def test_later_runs_replay_the_first_to_the_same_bytes(made):
    model, inputs = made()
    client = model.client()
    keys = client.keygen().public()
    encrypted = [client.encrypt(**x) for x in inputs]
    host = model.server(keys)
    expected = [host(x).to_bytes() for x in encrypted]
    server = model.server(keys, device="sim")
    with repaired(_core.SimulatedDevice("sim")) as device:
        asked, _ = asked_for(device, lambda: server(client.load_encrypted(encrypted[0].to_bytes())))
        del _  # as callers drop what they are done with
        for x, bytes_of_host in zip(encrypted, expected, strict=True):
            x_again = client.load_encrypted(x.to_bytes())
            later, result = asked_for(device, lambda x_again=x_again: server(x_again))
            assert (later["allocations"], later["bytes_down"], later["host_waits"]) == (0, 0, 1)
            # Nothing but rows of the inputs, without the 64 bytes that the host leaves between them.
            assert 0.99 * x_again.num_bytes < later["bytes_up"] <= x_again.num_bytes
            assert later["replays"] == asked["replays"] > 0
            read, bytes_of_device = asked_for(device, result.to_bytes)
            assert bytes_of_device == bytes_of_host
            assert (read["allocations"], read["replays"]) == (0, 0)
            assert 0 < read["bytes_down"] < len(bytes_of_host)
            copies = sum(len(array) for values in (x, result) for array in values.tensors.values())
            device.fail_launches(later["replays"] + copies + 1, 1)  # the host calls these itself, and nothing else
            there, again = asked_for(device, lambda x_again=x_again: server(x_again))
            device.fail_launches(0, 0)
            assert (there["bytes_up"], there["bytes_down"], there["host_waits"]) == (0, 0, 1)
            assert (there["replays"], there["launches"]) == (later["replays"], later["launches"])
            assert again.to_bytes() == bytes_of_host
            del result, again


# Without LeNet-5, whose constants take more than 12 GB on two simulated devices: one device has it above.
@pytest.mark.parametrize("made", [pytest.param(digits, marks=slow), pytest.param(bootstraps, marks=slow), integers])
def test_two_devices_share_the_runs_of_a_server(made):
    model, inputs = made()
    client = model.client()
    keys = client.keygen().public()
    encrypted = [client.encrypt(**x) for x in inputs * 2]
    expected = [model.server(keys)(x).to_bytes() for x in encrypted]
    server = model.server(keys, device="sim:0,1")
    with ThreadPoolExecutor(2) as pool:
        assert [result.to_bytes() for result in pool.map(server, encrypted)] == expected


@pytest.mark.parametrize("kind", DRIVEN)
@MADE
def test_devices_of_drivers_give_the_bytes_of_the_host(made, kind):
    """In both arithmetics, launched one by one, then recorded and replayed."""
    model, inputs = made()
    client = model.client()
    keys = client.keygen().public()
    encrypted = [client.encrypt(**x) for x in inputs]
    memory = "2.5GB" if made is lenet else None  # of 6 GB, which host and device would have each
    expected = [model.server(keys, memory=memory)(x).to_bytes() for x in encrypted]
    for seed in range(2):
        server = model.server(keys, device=place_of(kind, seed), memory=memory)
        for _ in range(2):
            assert [server(x).to_bytes() for x in encrypted] == expected
