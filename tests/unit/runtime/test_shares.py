"""What servers hold that are given no budget: everything, or what the machine has left."""

from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.errors import BudgetError
from latticework.plan.analysis.memory_plan import plan_memory
from latticework.plan.cost import CostModel
from latticework.plan.key_schedule.schedule import whole_key_bytes
from latticework.runtime.devices.device import Device, free_memory_of
from latticework.runtime.server import shares

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def model():
    @lw.program
    def layers(x: lw.Secret[64], v, w):
        return np.square(x @ v) @ w

    weights = [RNG.normal(size=(64, 64)) / 8 for _ in range(2)]
    return lw.compile(layers, weights=weights, ring_degree=4096, insecure=True, progress=False)


@pytest.fixture
def left(monkeypatch):
    """Sets what the machine has left."""
    return lambda number: monkeypatch.setattr(shares, "free_bytes", lambda: number)


def of_files(plan, **given):
    return shares.shares_of_files(plan, given.get("memory"), given.get("key_memory"), 1, 1)


def test_where_there_is_enough_nothing_is_bounded(model, left):
    for number in (1 << 40, 2 * whole_key_bytes(model.plan) + (1 << 27)):  # fewer than the constants that are usual
        left(number)
        assert of_files(model.plan) == shares.Shares(shares.DEFAULT_CONSTANTS, None, None)
        assert shares.shares_of_memory(model.plan, None, 1000, 1) == shares.Shares(shares.DEFAULT_CONSTANTS, None, None)
    left(0)
    on_device = shares.shares_of_files(model.plan, None, None, 1, 1, on_device=True)  # whose memory is another
    assert on_device == shares.Shares(shares.DEFAULT_CONSTANTS, None, None)


def test_what_is_left_is_shared_out_as_a_budget(model, left):
    plan, keys = model.plan, whole_key_bytes(model.plan)
    everything = plan_memory(plan, 1 << 40, CostModel.load())
    scarce = everything.peak_bytes - keys // 2
    left(scarce * 10 // 9 + 10)
    made, asked = of_files(plan), of_files(plan, memory=scarce)
    assert made.keys is not None and made.keys < keys and made.runs is not None
    assert replace(made, keys=0) == replace(asked, keys=0) and abs(made.keys - asked.keys) < 100
    needs = [everything.smallest - everything.least.bytes, everything.peak_bytes - everything.keys.peak_bytes]
    assert needs[0] < needs[1]  # without constants, and with all
    left(sum(needs) // 2 * 10 // 9)
    beside = shares.shares_of_memory(plan, None, keys, 1)  # with the keys, which are there
    assert beside.keys is None and beside.constants < everything.all_constants and beside.runs == 1


def test_too_little_is_told_before_there_is_a_server(model, left):
    left(1 << 20)
    for found in (lambda: of_files(model.plan), lambda: shares.shares_of_memory(model.plan, None, 1 << 20, 1)):
        with pytest.raises(BudgetError, match=r"give at least .*; no memory= was given, so it is 9/10 of .*1\.05 MB"):
            found()
    with pytest.raises(BudgetError) as asked:
        of_files(model.plan, memory=1000)
    assert "no memory= was given" not in asked.value.message


def test_results_are_the_same_bytes(model, left, tmp_path):
    client = model.client(threads=1)
    keys = client.keygen().public()
    sent = client.encrypt(RNG.normal(size=64) / 8)
    model.save(tmp_path / "plan.lwplan")
    keys.save(tmp_path / "keys")
    wanted = model.server(keys, threads=1)(sent).to_bytes()
    left(plan_memory(model.plan, 1 << 40, CostModel.load()).peak_bytes)
    server = lw.Server.load(tmp_path / "plan.lwplan", tmp_path / "keys", threads=1)
    assert server.key_traffic is not None and server(sent).to_bytes() == wanted
    assert server.key_traffic.loads > 0


def test_keys_that_do_not_fit_are_refused_before_they_are_made(model, monkeypatch, tmp_path):
    monkeypatch.setattr("latticework.runtime.client.client.free_bytes", lambda: 1000)
    made, client = [], model.client(threads=1)
    with pytest.raises(
        BudgetError, match=r"17 evaluation keys take 5\.\d+ MB in memory, .* has 1\.00 kB left: .*a folder"
    ):
        client.keygen(on_event=made.append)
    assert not made
    client.keygen(tmp_path / "keys")
    with pytest.raises(BudgetError, match="give keygen a folder"):
        client.public_keys()


def there(model, left, **given):
    """The shares of a server on a device that has so much left."""
    keys = whole_key_bytes(model.plan)
    return shares.shares_of_memory(model.plan, None, keys, 1, on_device=True, left=lambda *, is_trimmed: left, **given)


def test_a_device_that_has_enough_left_bounds_nothing(model):
    assert there(model, 1 << 42) == shares.Shares(shares.DEFAULT_CONSTANTS, None, None)


def test_what_a_device_has_left_is_shared_out_as_a_budget(model):
    """As much as if nine tenths of it had been given; idle memory is asked back before that, and counts."""
    left = 10 * (1 << 26)
    made = there(model, left, records=True)
    keys = whole_key_bytes(model.plan)
    asked = shares.shares_of_memory(model.plan, left // 10 * 9, keys, 1, on_device=True, records=True)
    assert made == asked and made.runs is not None and made.recordings is not None
    calls = []

    def trimmed(*, is_trimmed):
        calls.append(is_trimmed)
        return 1 << 42 if is_trimmed else 1 << 20

    found = shares.shares_of_memory(model.plan, None, keys, 1, on_device=True, left=trimmed)
    assert found.runs is None and calls == [False, True]
    with pytest.raises(BudgetError, match=r"so it is 9/10 of what the device has left, 1\.05 MB"):
        there(model, 1 << 20)


def test_a_server_on_a_crowded_device_runs_in_what_is_left(monkeypatch, model):
    """A tenth is left over; results have the bytes of the host, and do not stay in that memory."""
    client = model.client()
    keys = client.keygen()
    x = client.encrypt(RNG.uniform(-1, 1, 64))
    wanted = model.server(keys.public())(x).to_bytes()
    least = shares.resident_key_bytes(model.plan, whole_key_bytes(model.plan))
    free = least + (200 << 20)
    monkeypatch.setattr("latticework.runtime.options.free_memory_of", lambda device, is_trimmed: free)
    server = model.server(keys.public(), device="sim")
    assert server.runs_at_once is not None and server.runs_at_once < 62
    found = server(x)
    assert found.device == "cpu" and found.to_bytes() == wanted


def test_a_simulated_device_says_what_is_free():
    free = free_memory_of(Device("sim"), is_trimmed=True)
    assert 0 < free <= 4 << 30
    assert free_memory_of(Device("sim", memory="1MB")) <= 1_000_000
