"""Failures of a simulated device at any point: no wrong result, nothing lost that need not be, nothing leaked."""

import gc
import random

import numpy as np
import pytest
from sklearn.datasets import load_digits

import latticework as lw
from latticework import _core, ckks
from latticework.errors import DeviceError

PARAMETERS = ckks.Parameters(1024, [40, 30, 30, 30], scale_bits=30, insecure=True)
VALUES = np.linspace(-1, 1, 16)
KINDS = ("allocation", "launch", "copy", "loss")


@pytest.fixture
def device():
    found = _core.SimulatedDevice("sim")
    found.reset_counters()
    yield found
    repair(found)


@pytest.fixture(scope="module")
def generator():
    return ckks.KeyGenerator(PARAMETERS)


@pytest.fixture
def x(generator):
    evaluator = ckks.Evaluator(PARAMETERS, generator.evaluation_keys(relin=True, steps=[1]))
    return ckks.Encryptor(PARAMETERS, generator.secret_key(), evaluator=evaluator).encrypt(VALUES)


@pytest.fixture(scope="module")
def scorer():
    """A network of two layers: its model, public keys, encrypted inputs, and the bytes of its result."""

    @lw.program
    def score(x: lw.Secret[8], w1, b1, w2):
        return w2 @ (w1 @ x + b1) ** 2

    rng = np.random.default_rng(1)
    weights = rng.normal(size=(8, 8)), rng.normal(size=8), rng.normal(size=(4, 8))
    data = rng.uniform(-1, 1, (16, 8))
    model = lw.compile(score, weights=weights, calibrate=data, ring_degree=1024, insecure=True)
    client = model.client()
    keys = client.keygen()
    inputs = client.encrypt(data[0])
    return model, keys.public(), inputs, model.server(keys.public())(inputs).to_bytes()


def repair(device):
    for demand in (device.fail_allocations, device.fail_launches, device.fail_copies):
        demand(0, 0)
    device.lose(0)
    device.forget_failure()


def fail(device, kind, number):
    """Let the call of this number fail, of those of a kind."""
    if kind == "loss":
        device.lose(number)
    else:
        {"allocation": device.fail_allocations, "launch": device.fail_launches, "copy": device.fail_copies}[kind](
            number, 1
        )


def held(device):
    """Bytes that are in use on a device, after all that can be given back was."""
    gc.collect()
    _core.settle_device("sim", 0, trim=True)
    counters = device.counters()
    return counters["live_bytes"], counters["pinned_bytes"]


def fail_anywhere(scorer, device, most, points):
    """Places in the runs of a server: the result is right or there is none, and nothing is left behind.

    most     calls of each kind in a first run, about
    returns  how many runs failed
    """
    model, keys, inputs, expected = scorer
    rng = random.Random(5)
    inputs = model.server(keys).load_encrypted(inputs.to_bytes())  # no other test has these
    before = held(device)
    server = model.server(keys, device="sim")
    server(inputs)
    in_use, failed = held(device), 0
    for point in range(points):
        if point % 8 < 5:  # else it replays, unless it failed
            server = model.server(keys, device="sim")
        kind = KINDS[point % 4]
        fail(device, kind, int(most[kind] ** rng.random()))  # early ones often: a replay makes few calls
        try:
            assert server(inputs).to_bytes() == expected
        except (DeviceError, MemoryError):
            failed += 1
        repair(device)
        if point % 8 == 7:
            assert server(inputs).to_bytes() == expected
    assert held(device) <= tuple(2 * n for n in in_use)  # a server before it may have the copies of the inputs
    del server, inputs
    assert held(device) <= before
    return failed


@pytest.mark.parametrize("points", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_wherever_a_run_fails_the_next_one_is_right(scorer, device, points):
    most = {"allocation": 20, "launch": 100, "copy": 80, "loss": 600}
    assert fail_anywhere(scorer, device, most, points) >= points // 2


@pytest.mark.slow
def test_wherever_a_run_on_digits_fails_the_next_one_is_right(device):
    """The network of the digits demo, on a small ring."""
    images = load_digits().data / 16.0

    @lw.program
    def score(x: lw.Secret[1, 64], w1, b1, w2, b2):
        return lw.relu(x @ w1 + b1, degree=15) @ w2 + b2

    rng = np.random.default_rng(2)
    weights = rng.normal(size=(64, 32)) / 8, rng.normal(size=32), rng.normal(size=(32, 10)) / 6, rng.normal(size=10)
    with pytest.warns(lw.errors.ApproximationWarning):
        model = lw.compile(score, weights=weights, calibrate=images[:200, None, :], ring_degree=2048, insecure=True)
    client = model.client()
    keys = client.keygen()
    inputs = client.encrypt(images[0][None, :])
    case = model, keys.public(), inputs, model.server(keys.public())(inputs).to_bytes()
    assert fail_anywhere(case, device, {"allocation": 60, "launch": 600, "copy": 150, "loss": 2000}, 200) >= 100


def test_what_is_lost_is_said_to_be_lost(x, generator, device):
    y = x.gpu("sim") * 2
    device.fail_launches(1, 1)
    x.gpu("sim") + x
    for use in (y.to_bytes, y.download, lambda: y + x, lambda: y.rotate(1)):
        with pytest.raises(DeviceError, match="a launch failed on demand; nothing computed on it since"):
            use()
    with pytest.raises(DeviceError, match="a launch failed on demand"):
        ckks.Decryptor(PARAMETERS, generator.secret_key()).decrypt(y)
    assert (x.gpu("sim") + x).to_bytes() == (x + x).to_bytes()


@pytest.mark.parametrize("kind", ["launch", "loss"])
def test_a_result_of_a_server_is_lost_with_its_device(scorer, device, kind):
    """Unless it was brought to the host before; whoever asks for another is told, on the host as on the device."""
    model, keys, inputs, expected = scorer
    server = model.server(keys, device="sim")
    lost, kept = server(inputs), server(inputs).download()
    fail(device, kind, 1)
    with pytest.raises(DeviceError):
        server(inputs)
    repair(device)
    assert kept.to_bytes() == expected
    for use in (lost.to_bytes, lost.download, lambda: lost.cpu().to_bytes(), lambda: lost.gpu("sim").to_bytes()):
        with pytest.raises(DeviceError, match="nothing computed on it since|was lost|before it failed"):
            use()
    assert server(inputs).to_bytes() == expected
    with pytest.raises(DeviceError):  # though the device goes on
        lost.to_bytes()


def test_copies_on_a_device_that_failed_are_let_go(x, device):
    (x.gpu("sim") + x).download()
    in_use = held(device)
    for _ in range(5):
        device.fail_launches(1, 1)
        with pytest.raises(DeviceError):
            (x.gpu("sim") + x).download()
        assert (x.gpu("sim") + x).to_bytes() == (x + x).to_bytes()
    assert held(device) <= in_use


def test_a_context_that_cannot_be_made_holds_nothing(x, device):
    before = held(device)
    device.fail_copies(1, 1)
    with pytest.raises(DeviceError, match="copy of tables to the device: a copy failed on demand"):
        x.gpu(lw.Device("sim", memory="1GB")) + x
    assert held(device) == before


def test_copies_to_the_host_are_waited_for_though_another_failed(x, device):
    """Until then they write to memory that is given back when the error is thrown."""
    y = (x.gpu("sim") + x).download().gpu("sim") + x
    device.reset_counters()
    device.fail_copies(2, 1)
    with pytest.raises(DeviceError, match="a copy failed on demand"):
        y.download()
    assert device.counters()["host_waits"] == 1


def test_a_frame_tells_of_every_failure(x, device):
    for _ in range(2):
        device.fail_launches(1, 1)
        with pytest.raises(DeviceError, match="a launch failed on demand"), lw.frame("sim"):
            x.gpu("sim") + x
    with lw.frame("sim"):
        (x.gpu("sim") + x).download()


@pytest.mark.parametrize("first", range(1, 8))
def test_no_memory_for_what_kernels_are_given_loses_nothing(scorer, device, first):
    model, keys, inputs, expected = scorer
    server = model.server(keys, device=lw.Device("sim", memory=(1 << 30) + first))  # of which nobody has memory
    device.fail_allocations(first, 1_000)
    with pytest.raises(MemoryError, match="lower the memory budget"):
        server(inputs)
    context = server.context
    device.fail_allocations(0, 0)
    assert server(inputs).to_bytes() == expected
    assert server.context is context


def test_a_server_of_files_goes_on_after_a_failure(scorer, device, tmp_path):
    model, keys, inputs, expected = scorer
    model.save(tmp_path / "plan")
    keys.save(tmp_path)
    server = lw.Server.load(tmp_path / "plan", tmp_path, device="sim")
    device.lose()
    for _ in range(2):
        with pytest.raises(DeviceError, match="was lost"):
            server(inputs)
        assert server.memory_use.constants >= 0
    device.forget_failure()
    assert server(inputs).to_bytes() == expected
