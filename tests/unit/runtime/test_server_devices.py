"""Servers on several devices: which of them a run goes to, what is where, and what stays after one fails."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import latticework as lw
from latticework import _core
from latticework.errors import BudgetError, DeviceError, FormatError, ParameterMismatchError, UserError
from latticework.plan.files.code_file import encode_code
from latticework.runtime.server.side_by_side import side_by_side

RNG = np.random.default_rng(1)
DATA, WEIGHTS = RNG.uniform(-1, 1, (16, 8)), RNG.normal(size=(4, 8))


@lw.program
def program(x: lw.Secret[8], w):
    return (w @ x) ** 2


@lw.circuit
def distance(a: lw.vector(4, low=-8, high=7), b: lw.vector(4, low=-8, high=7)):
    return sum((a[i] - b[i]) ** 2 for i in range(4))


class Deployed:
    def __init__(self, model, *inputs):
        self.model, self.client = model, model.client()
        self.keys = self.client.keygen()
        self.public = self.keys.public()
        self.inputs = [self.client.encrypt(*one) for one in inputs]
        self.expected = [model.server(self.public)(one).to_bytes() for one in self.inputs]


@pytest.fixture(scope="module")
def deployed():
    model = lw.compile(program, weights=(WEIGHTS,), calibrate=DATA, ring_degree=2048, insecure=True)
    return Deployed(model, *((row,) for row in DATA[:4]))


@pytest.fixture
def devices():
    found = [_core.SimulatedDevice("sim", number) for number in range(2)]
    for device in found:
        device.reset_counters()
    yield found
    for device in found:
        device.fail_launches(0, 0)


def num_launches(device):
    return sum(device.counters()["launches"].values())


def test_runs_of_several_threads_share_the_devices(deployed, devices):
    server = deployed.model.server(deployed.public, device="sim:0,1")
    assert server.device == "sim:0,1" and "on sim:0,1" in repr(server)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(server, deployed.inputs))
    assert [one.to_bytes() for one in found] == deployed.expected
    assert all(num_launches(device) > 0 for device in devices)
    assert all(engine.outstanding == 0 for engine in server._engines.all)


def test_a_circuit_on_integers_gives_the_same_bytes(devices):
    model = lw.compile(distance, scheme="bfv", plain_bits=20, algorithm="scalar", ring_degree=2048, insecure=True)
    cases = [(RNG.integers(-8, 8, 4), RNG.integers(-8, 8, 4)) for _ in range(4)]
    case = Deployed(model, *cases)
    server = model.server(case.public, device=["sim:0", lw.Device("sim:1", arithmetic="u64")])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(server, case.inputs))
    assert [one.to_bytes() for one in found] == case.expected
    assert [case.client.decrypt(one).reveal() for one in found] == [np.sum((a - b) ** 2) for a, b in cases]


def test_runs_of_one_call_share_the_devices(deployed, devices, tmp_path):
    deployed.public.save(tmp_path)
    deployed.model.save(tmp_path / "m.lwplan")
    server = lw.Server.load(tmp_path / "m.lwplan", tmp_path, device="sim:0,1")
    rows, seen = deployed.client.encrypt(DATA[:4]), []
    expected = deployed.model.server(deployed.public)(rows)
    answer = server(server.load_encrypted(rows.to_bytes()), on_event=seen.append)
    assert answer.to_bytes() == expected.to_bytes()  # whose parts are on two devices
    np.testing.assert_array_equal(
        deployed.client.decrypt(answer).reveal(), deployed.client.decrypt(expected.download()).reveal()
    )
    assert all(num_launches(device) > 0 for device in devices)
    assert [event.done for event in seen] == [*range(1, seen[-1].total + 1)]
    together = server.run_many([[one] for one in deployed.inputs])
    assert [one.to_bytes() for one in together] == deployed.expected
    assert server.memory_use.held == sum(engine.context.memory.held for engine in server._engines.all)


def test_later_runs_go_to_the_devices_that_are_left(deployed, devices):
    server = deployed.model.server(deployed.public, device="sim:0,1")
    x = deployed.inputs[0]
    assert server(x).to_bytes() == deployed.expected[0]
    devices[0].fail_launches(1, 1)
    with pytest.raises(DeviceError, match=r"test_server_devices\.py:\d+: sim:0: .*simulated GPU 0 \(device 0\)"):
        server(x)
    for device in devices:
        device.reset_counters()
    for _ in range(2):
        assert server(x).to_bytes() == deployed.expected[0]
    assert num_launches(devices[0]) == 0 < num_launches(devices[1])
    assert server(x.gpu("sim:0")).to_bytes() == deployed.expected[0]  # asked for by name, it is started anew
    assert num_launches(devices[0]) > 0
    for number in (1, 0):
        devices[number].fail_launches(1, 1)
        with pytest.raises(DeviceError, match=rf"sim:{number}: .*simulated GPU {number}"):
            server(x.gpu(f"sim:{number}"))
    for device in devices:
        device.reset_counters()
    assert server(x).to_bytes() == deployed.expected[0]  # as no other is left
    assert num_launches(devices[0]) > 0 == num_launches(devices[1])


def test_one_failure_ends_the_runs_of_a_call(deployed, devices):
    server = deployed.model.server(deployed.public, device="sim:0,1")
    devices[1].fail_launches(1, 1)
    with pytest.raises(DeviceError, match="sim:1: "):
        server.run_many([[one] for one in deployed.inputs])
    devices[0].reset_counters()
    found = server.run_many([[one] for one in deployed.inputs])
    assert [one.to_bytes() for one in found] == deployed.expected


def test_what_a_listener_raises_ends_all_runs(deployed):
    server, count = deployed.model.server(deployed.public, device="sim:0,1"), iter(range(100))

    def stop(event):
        if next(count) == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        server.run_many([[one] for one in deployed.inputs], on_event=stop)
    assert next(count) < 40  # of 56
    assert all(engine.outstanding == 0 for engine in server._engines.all)


def test_work_side_by_side_ends_with_the_first_failure():
    begun, done = threading.Event(), []

    def fail(check):
        begun.wait()
        raise ValueError("broken")

    def go_on(check):
        begun.set()
        while True:
            check()

    with pytest.raises(ValueError, match="broken"):
        side_by_side([go_on, fail])
    side_by_side([done.append])
    assert done == [None]


# Inputs and results on a device


def test_a_mark_moves_nothing_and_says_where_a_run_is(deployed, devices):
    server = deployed.model.server(deployed.public, device="sim:0,1")
    x = deployed.inputs[0].gpu("sim:1")
    assert (x.device, deployed.inputs[0].device, x.cpu().device) == ("sim:1", "cpu", "cpu")
    assert "for sim:1" in repr(x) and "for" not in repr(x.cpu())
    assert x.to_bytes() == deployed.inputs[0].to_bytes()
    devices[0].reset_counters()
    y = server(x)
    assert (y.device, server(x.cpu()).device) == ("sim:1", "cpu")
    assert y.to_bytes() == y.download().to_bytes() == deployed.expected[0]
    (results,) = y.tensors.values()
    assert (results[0].context.device, y.download().tensors["result"][0].context.device) == ("sim:1", "host")


def test_results_are_inputs_on_their_device_without_the_host(devices):
    @lw.program
    def step(x: lw.Secret[8]):
        return np.roll(x, 1)

    data = RNG.uniform(-1, 1, (16, 8))
    model = lw.compile(step, calibrate=data, feed={"x": "result"}, ring_degree=2048, insecure=True)
    client = model.client()
    public = client.keygen().public()
    device = devices[1]
    host, server = model.server(public), model.server(public, device="sim:1")
    x = client.encrypt(data[0])
    first = server(x.gpu("sim:1"))
    server(server.inputs(x=first))  # constants are there
    device.reset_counters()
    second = server(server.inputs(x=first))
    asked = device.counters()
    assert second.device == "sim:1"
    assert asked["bytes_down"] == 0 and asked["bytes_up"] < first.num_bytes / 4
    assert second.to_bytes() == host(host.inputs(x=host(x))).to_bytes()


def test_inputs_for_other_devices_are_refused(deployed):
    x = deployed.inputs[0]
    for device, names in (("cpu", "cpu"), ("sim:0", "sim:0"), (["sim:0"], "sim:0")):
        server = deployed.model.server(deployed.public, device=device)
        with pytest.raises(UserError, match=rf"the inputs are for sim:1, and this server computes on {names}: mark"):
            server(x.gpu("sim:1"))
        assert server(x.gpu("sim:1").cpu()).to_bytes() == deployed.expected[0]
    with pytest.raises(UserError, match=r"test_server_devices\.py:\d+: .*'sim:0,1': one device is taken here"):
        x.gpu("sim:0,1")


def test_parts_for_different_devices_are_refused():
    @lw.program
    def total(x: lw.Secret[4], y: lw.Secret[4]):
        return x + y

    model = lw.compile(total, calibrate=(DATA[:, :4], DATA[:, :4]), ring_degree=2048, insecure=True)
    client = model.client()
    public = client.keygen().public()
    x, y = client.encrypt_part(x=DATA[0, :4]), client.encrypt_part(y=DATA[1, :4])
    server = model.server(public, device="sim:0,1")
    with pytest.raises(UserError, match=r"inputs are for different devices \(sim:0, sim:1\): bring them over"):
        server(x.gpu("sim:0"), y.gpu("sim:1"))
    found = server(x.gpu("sim:1"), y)
    assert found.device == "sim:1"
    assert found.to_bytes() == model.server(public)(x, y).to_bytes()


# Keys that stay in their file


@pytest.fixture(scope="module")
def folder(deployed, tmp_path_factory):
    place = tmp_path_factory.mktemp("deployed")
    deployed.public.save(place)
    deployed.model.save(place / "m.lwplan")
    return place


def least_key_memory(folder):
    with pytest.raises(UserError) as refusal:
        lw.Server.load(folder / "m.lwplan", folder, key_memory=1, device="sim")
    return int(re.search(r"the least with which it runs is (\d+)", str(refusal.value))[1])


@pytest.mark.parametrize("readers", [0, 1])
def test_keys_of_a_file_are_read_into_each_device(deployed, folder, readers):
    least = least_key_memory(folder)
    server = lw.Server.load(
        folder / "m.lwplan", folder, key_memory=2 * least, key_readers=readers, device=["sim:0", "sim:1"]
    )
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(server, deployed.inputs))
    together = server.run_many([[one] for one in deployed.inputs], at_once=2)
    for answers in (found, together):
        assert [one.to_bytes() for one in answers] == deployed.expected
    traffic = server.key_traffic
    for one in (engine.key_traffic() for engine in server._engines.all):
        assert 0 < one.loads < traffic.loads and one.peak_bytes <= one.budget_bytes == 2 * least
    assert traffic.held_rows == 0 and traffic.budget_bytes == 4 * least and (traffic.prefetched > 0) == (readers > 0)


def test_a_key_file_that_was_altered_is_refused_on_a_device(deployed, folder, tmp_path):
    file = tmp_path / "evaluation.lwkeys"
    data = bytearray((folder / file.name).read_bytes())
    data[-100] ^= 1  # in the last row of the last key
    file.write_bytes(data)
    server = lw.Server.load(folder / "m.lwplan", file, key_memory=least_key_memory(folder), device="sim")
    for _ in range(2):
        with pytest.raises(FormatError, match="does not match its hash; the file was altered"):
            server(deployed.inputs[0])
    assert not server._engines.all[0].context.has_failed
    for _ in range(200):  # a reader may be at a row
        if server.key_traffic.held_rows == 0:
            break
        time.sleep(0.01)
    assert server.key_traffic.held_rows == 0


def test_keys_that_a_client_left_in_their_file_are_read_into_a_device(deployed, tmp_path):
    client = deployed.model.client()
    public = client.keygen(tmp_path).public()
    x = client.encrypt(DATA[0])
    expected, server = deployed.model.server(public)(x), deployed.model.server(public, device="sim:1")
    assert server(x).to_bytes() == expected.to_bytes()
    assert server.key_traffic.loads > 0
    engine = server._engines.all[0]
    with pytest.raises(ParameterMismatchError, match="the keys are read into other memory than that of the context"):
        _core.Executor(
            engine.context.host, _core.Plan(engine.context.parameters, encode_code(server.plan)), engine.keys
        )


# A budget for all that is on a device


@pytest.mark.parametrize("keys", ["in memory", "in their file"])
@pytest.mark.parametrize("spare", [0, 1 << 28])
def test_a_budget_bounds_what_is_held_of_each_device(deployed, folder, keys, spare):
    def make(memory):
        if keys == "in memory":
            return deployed.model.server(deployed.public, memory=memory, device="sim:0,1")
        return lw.Server.load(folder / "m.lwplan", folder, memory=memory, device="sim:0,1")

    with pytest.raises(BudgetError, match="for tables and what is on its way") as refusal:
        make(1)
    least = int(re.search(r"\((\d+) bytes\)", str(refusal.value))[1])
    with pytest.raises(BudgetError, match=f"give at least .* \\({least} bytes\\)"):
        make(least - 1)
    server = make(least + spare)
    assert server.runs_at_once == 1 or spare
    assert (server.key_traffic is None) == (keys == "in memory" or spare > 0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(server, deployed.inputs))
    for answers in (found, server.run_many([[one] for one in deployed.inputs])):
        assert [one.to_bytes() for one in answers] == deployed.expected
    for engine in server._engines.all:
        assert engine.memory_use().held <= least + spare
        assert found[0].tensors["result"][0].context.device == "host"


def test_inputs_and_results_leave_memory_that_is_bounded(deployed):
    server = deployed.model.server(deployed.public, memory="100MB", device="sim")
    server(deployed.inputs[0])
    live = server.memory_use.live
    kept = server.run_many([[one] for one in deployed.inputs])
    assert server.memory_use.live == live and len(kept) == 4
    marked = server(deployed.inputs[0].gpu("sim"))
    assert server.memory_use.live > live
    assert marked.download().to_bytes() == deployed.expected[0]


def test_a_device_has_no_more_for_a_server_than_its_option_says(deployed):
    small = lw.Device("sim:0", memory="20MB")
    with pytest.raises(BudgetError, match=r"memory=20\.0 MB is too little"):
        deployed.model.server(deployed.public, memory="1GB", device=[small, "sim:1"])


# What is refused


@pytest.mark.parametrize(
    ("device", "error", "text"),
    [
        ("sim:0,0", UserError, "device=sim:0, sim:0: sim:0 is named twice"),
        (["sim", "sim:0"], UserError, "sim:0 is named twice"),
        (["cpu", "sim:0"], UserError, "device=cpu, sim:0: several devices are all of one kind"),
        ([], UserError, r"device=\[\]: name at least one device, or 'cpu'"),
        ("sim:0,sim:1", UserError, "'sim:0,sim:1': several devices are written as 'sim:0,1', or as a list"),
        ("sim:0,", UserError, "several devices are written as"),
        (["sim:0,1"], UserError, "'sim:0,1': one device is taken here"),
        ("sim:1,7", DeviceError, "'sim:7': there are 2 of this kind"),
        ([3], UserError, "3 is no device"),
    ],
)
def test_what_is_no_list_of_devices_is_refused(deployed, device, error, text):
    with pytest.raises(error, match=text):
        deployed.model.server(deployed.public, device=device)


def test_where_one_device_is_taken_several_are_refused(deployed):
    parameters = lw.ckks.Parameters(1024, [40, 30], scale_bits=30, insecure=True)
    for several in ("sim:0,1", ["sim:0", "sim:1"]):
        for place in (lambda given: parameters.on(device=given), lw.Device, deployed.inputs[0].gpu):
            with pytest.raises(UserError, match="one device is taken here, and only servers take several"):
                place(several)


def test_a_frame_of_several_devices_is_one_of_all(deployed):
    server = deployed.model.server(deployed.public, device="sim:0,1")
    with lw.frame("sim:0,1") as frame:
        server.run_many([[one] for one in deployed.inputs[:2]])
    assert "sim:0,1" in repr(frame)
    assert frame.held == frame.freed + frame.kept
    assert frame.kept >= server.memory_use.live
