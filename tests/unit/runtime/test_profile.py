"""Profiles of devices: what is counted, for which operation, how it is written; and nothing is without a profile."""

import csv
import json
import subprocess
import sys
import threading
from io import StringIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import latticework as lw
from latticework import _core, ckks
from latticework.errors import DeviceError, UserError
from latticework.runtime.devices.operation_names import profiled

ROOT = Path(__file__).resolve().parents[3]
PARAMETERS = ckks.Parameters(1024, [40, 30, 30, 30], scale_bits=30, insecure=True)
VALUES = np.linspace(-1, 1, 16)
DEVICES = pytest.mark.parametrize("device", ["cpu", "sim"])


@pytest.fixture(scope="module")
def host_value():
    generator = ckks.KeyGenerator(PARAMETERS)
    using = ckks.Evaluator(PARAMETERS, generator.evaluation_keys(relin=True, steps=[1]))
    return ckks.Encryptor(PARAMETERS, generator.secret_key(), evaluator=using).encrypt(VALUES)


@pytest.fixture
def value(host_value, device):
    """On the device, with its keys there."""
    x = host_value if device == "cpu" else host_value.gpu(device)
    (x * x).rotate(1)
    return x


@pytest.fixture
def simulated():
    found = _core.SimulatedDevice("sim")
    yield found
    found.fail_launches(0, 0)


@pytest.fixture(scope="module")
def model():
    data = np.random.default_rng(1).uniform(-1, 1, (4, 8))

    @lw.program
    def program(x: lw.Secret[lw.Array, 8]):
        return (x * np.arange(8) / 8 + 1.0) ** 2

    return lw.compile(program, calibrate=data, ring_degree=2048, insecure=True), data


@pytest.mark.parametrize(
    ("operation", "launches"), [(lambda x: x + x, 1), (lambda x: x.rotate(1), 11), (lambda x: (x * x).settle(), 14)]
)
def test_launches_are_those_of_the_device(operation, launches, simulated):
    """At N = 2^14, with 8 limbs in 4 digits and 2 special primes."""
    parameters = ckks.Parameters.choose(depth=6, ring_degree=1 << 14).on(device="sim")
    generator = ckks.KeyGenerator(parameters)
    using = ckks.Evaluator(parameters, generator.evaluation_keys(relin=True, steps=[1]))
    x = ckks.Encryptor(parameters, generator.secret_key(), evaluator=using).encrypt(VALUES)
    operation(x)
    simulated.reset_counters()
    with lw.profile("sim") as p:
        operation(x)
    asked = simulated.counters()
    assert p.calls == launches
    assert {row["kernel"]: row["calls"] for row in p.kernels() if not row["bytes"]} == asked["launches"]
    assert sum(row["bytes"] for row in p.kernels() if row["kernel"] == "copy to the device") == asked["bytes_up"]
    assert p.seconds is None and all(row["seconds"] is row["mean"] is None for row in p.rows())


@DEVICES
def test_groups_add_up(value, device):
    with lw.profile(device) as p:
        y = value.rotate(1)
        with p.operation("layer 1"):
            y = (y * y).settle()
            y.rotate(1)
        y.rotate(1)
    operations = {row["operation"]: row for row in p.operations()}
    assert {name: row["times"] for name, row in operations.items()} == {"rotate": 2, "layer 1": 1}
    assert {row["step"] for row in p.rows() if row["operation"] == "layer 1"} == {"mul", "settle", "rotate"}
    for name in ("calls", "bytes"):
        total = sum(row[name] for row in p.rows())
        assert total == sum(row[name] for row in p.kernels()) == sum(row[name] for row in operations.values())
    assert sum(row["share"] for row in p.rows()) == pytest.approx(1)
    assert 0 <= p.transforms <= 1
    if device == "cpu":
        assert p.seconds == pytest.approx(sum(row["seconds"] for row in operations.values()))
        assert all(0 <= row["least"] <= row["mean"] <= row["most"] for row in p.rows())


@pytest.mark.parametrize("backend", ["auto", "ref"])
def test_kernels_of_the_host_are_counted(backend):
    ring, rows = _core.Ring(16, [97, 193], backend=backend), np.ones((1, 2, 16), np.uint64)
    with lw.profile("cpu") as p:
        ring.add(rows, rows, [0, 1])
    kernels = {row["kernel"]: row["calls"] for row in p.kernels()}
    assert kernels == {"import_residues": 2, "add": 1, "export_residues": 1}
    assert [row["operation"] for row in p.operations()] == [""]


@DEVICES
def test_plans_are_grouped_by_instruction(model, device):
    compiled, data = model
    client = compiled.client()
    server = compiled.server(client.keygen().public(), device=device)
    inputs = client.encrypt(data[0])
    with lw.profile(device) as p:
        server(inputs)
    names = {row["operation"] for row in p.operations()} - {"", "move"}
    assert {"square", "mul_plain", "relinearize"} <= names <= set(_core.opcodes())


def test_replays_are_taken_apart_while_they_are_profiled(model):
    """A server that replays its first run calls the kernels of each run that begins in a profile."""
    compiled, data = model
    client = compiled.client()
    server = compiled.server(client.keygen().public(), device="sim")
    inputs = client.encrypt(data[0])
    want = [server(inputs).to_bytes() for _ in range(2)][1]
    calls = []
    for _ in range(2):
        with lw.profile("sim") as p:
            result = server(inputs)
        assert result.to_bytes() == want == server(inputs).to_bytes()
        calls.append({(row["operation"], row["kernel"]): row["calls"] for row in p.rows() if not row["bytes"]})
    assert calls[0] == calls[1] and sum(calls[0].values()) == p.calls > 10
    assert "square" in {operation for operation, _kernel in calls[0]}


@DEVICES
def test_operations_with_plans_have_steps(value, device):
    operation = ckks.Polynomial([0.1, 0.2, 0.3])
    value.evaluator.polynomial(value, operation)
    with lw.profile(device) as p:
        value.evaluator.polynomial(value, operation)
    (found,) = p.operations()
    assert (found["operation"], found["times"]) == ("polynomial", 1)
    assert {"square", "relinearize"} <= {row["step"] for row in p.rows()}


@DEVICES
def test_a_trace_is_json_in_order(value, device, tmp_path):
    with lw.profile(device) as p:
        for _ in range(3):
            value.rotate(1)
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    complete = [event for event in events if event["ph"] == "X"]
    for tid in {event["tid"] for event in complete}:
        track = [event for event in complete if event["tid"] == tid]
        assert all(a["ts"] <= b["ts"] for a, b in pairwise(track))
        open_ends = []
        for event in track:  # what overlaps is nested
            open_ends = [end for end in open_ends if end > event["ts"] + 1e-3]
            assert all(event["ts"] + event["dur"] <= end + 2e-3 for end in open_ends)
            open_ends.append(event["ts"] + event["dur"])
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in complete)
    assert sum(event["cat"] == "kernel" for event in complete) == p.calls
    assert [event["name"] for event in complete if event["cat"] == "operation"] == ["rotate"] * 3
    if device == "sim":
        kernels = [event for event in complete if event["cat"] in ("kernel", "copy")]
        assert [(event["ts"], event["dur"]) for event in kernels] == [(i, 1) for i in range(len(kernels))]
        assert "no clock" in events[0]["args"]["name"]


@DEVICES
def test_tables_and_csv(value, device, tmp_path):
    with lw.profile(device) as p:
        with p.operation('an, "odd"\nname'):
            value.rotate(1)
        value + value
    text = p.csv(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_bytes().decode() == text
    rows = list(csv.DictReader(StringIO(text)))
    assert [(row["operation"], row["kernel"], int(row["calls"])) for row in rows] == [
        (row["operation"], row["kernel"], row["calls"]) for row in p.rows()
    ]
    assert all((row["seconds"] == "") == (device == "sim") for row in rows)
    lines = str(p).splitlines()
    assert lines == p.table().splitlines() and len(lines) == 4 + len(p.kernels()) + len(p.operations()) + 2
    assert ("no clock" in lines[0]) == (" s" not in lines[0]) or device == "cpu"
    assert "mean" in lines[2] or device == "sim"
    assert repr(p).startswith(f"profile({p.device}, ")


def test_what_was_noted_can_be_forgotten(host_value):
    with lw.profile("cpu") as p:
        host_value.rotate(1)
        before = p.calls
        p.clear()
        assert (p.calls, p.rows(), str(p)) == (0, [], "cpu: 0 kernel calls, 0 ns")
        host_value.rotate(1)
        assert p.calls == before
    assert p.operations()[0]["times"] == 1
    with p:
        pass
    assert p.calls == 0


def test_nothing_is_noted_without_a_profile(host_value):
    with lw.profile("cpu") as p, lw.profile("sim") as other:
        pass
    host_value.rotate(1)
    host_value.gpu("sim").rotate(1)
    assert p.calls == other.calls == 0 and p.table() == "cpu: 0 kernel calls, 0 ns"
    assert profiled == []
    with lw.profile("sim") as other:
        host_value.rotate(1)
    assert other.rows() == []


def test_a_device_has_one_profile_at_a_time(host_value):
    with lw.profile("sim") as p, lw.profile("sim:1"), lw.profile("cpu"):
        with pytest.raises(UserError, match="sim:0 is being profiled already"), lw.profile(lw.Device("sim")):
            pass
        host_value.gpu("sim:0").rotate(1)
    assert p.calls > 0
    with lw.profile("sim"):
        pass


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ("gpu", UserError, "is no device"),
        (None, UserError, "is no device"),
        (3, UserError, "is no device"),
        ("sim:7", DeviceError, "there are 2 of this kind"),
    ],
)
def test_what_is_no_device_is_refused(given, kind, text):
    with pytest.raises(kind, match=text):
        lw.profile(given)


def test_what_is_no_name_or_number_is_refused():
    with pytest.raises(UserError, match="events=-1"):
        lw.profile("cpu", events=-1)
    for name in ("", 3, "\ud800"):
        with lw.profile("cpu") as p, pytest.raises(UserError, match="give it a name"):
            p.operation(name)


def test_what_fails_is_kept(host_value, simulated):
    x = host_value.gpu("sim")
    x.rotate(1)
    with pytest.raises(DeviceError), lw.profile("sim") as p:
        x.rotate(1)
        x.download()
        simulated.fail_launches(3, 1)
        x.rotate(1).download()
    assert p.operations()[0]["operation"] == "rotate"
    assert p.calls >= 8 and profiled == []


def test_the_trace_is_bounded_and_the_sums_are_not(host_value, tmp_path):
    with lw.profile("cpu", events=3) as p:
        host_value.rotate(1)
    assert p.left_out == p.calls - 3 > 0
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event.get("cat") == "kernel" for event in events) == 3


@DEVICES
def test_threads_are_apart(value, device, tmp_path):
    with lw.profile(device) as p:
        value.rotate(1)
        once = p.calls

        def work(name):
            with p.operation(name):
                for _ in range(4):
                    value.rotate(1)

        threads = [threading.Thread(target=work, args=(f"thread {i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    calls = {row["operation"]: row["calls"] for row in p.operations()}
    kernels = {name: 0 for name in calls}
    for row in p.rows():
        kernels[row["operation"]] += row["calls"] if not row["bytes"] else 0
    assert kernels == {"rotate": once, **{f"thread {i}": 4 * once for i in range(4)}}
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len({event["tid"] for event in events if event["ph"] == "X"}) == (5 if device == "cpu" else 1)


def test_a_process_made_by_fork_is_not_profiled():
    program = """
import os
import numpy as np
import latticework as lw
from latticework import _core
ring, rows = _core.Ring(16, [97]), np.ones((1, 1, 16), np.uint64)
with lw.profile("cpu") as p:
    child = os.fork()
    ring.add(rows, rows, [0])
    calls = p.calls
if child == 0:
    with lw.profile("cpu") as own:
        ring.add(rows, rows, [0])
    os._exit(10 * own.calls + calls)
print(calls, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4", "40"]


def events_of(compiled, data, device):
    """Steps of a run, as they are told."""
    client = compiled.client()
    server = compiled.server(client.keygen().public(), device=device)
    events = []
    server.run(client.encrypt(data[0]), on_event=events.append)
    return [event for event in events if event.stage == "evaluate"]


def test_a_simulated_device_tells_steps_in_order_and_no_times(model):
    host, simulated = (events_of(*model, device) for device in ("cpu", "sim"))
    assert [(e.op, e.done, e.total, e.level) for e in host] == [(e.op, e.done, e.total, e.level) for e in simulated]
    assert all(event.start == event.end for event in simulated)
    assert all(a.end <= b.end for a, b in pairwise(simulated))


def test_events_of_a_device_are_its_times(tmp_path):
    """On a driver whose clock goes on by 1 ms with each kernel and 2 ms with each copy, many more than are kept at once."""
    program = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
import latticework as lw
from pathlib import Path
from bench.gpu_host import build
from latticework import _core
_core.load_driver(str(build(Path({str(tmp_path)!r}), '-O0')), 'cuda')
ring = _core.Ring(1 << 12, [65537], backend="cuda")
loop = _core.KernelLoop(ring, "ntt", [0], [])
with lw.profile("cuda") as p:
    with p.operation("here"):
        loop.run(4000)
rows = p.rows()
p.trace({str(tmp_path / "trace.json")!r})


@lw.program
def program(x: lw.Secret[lw.Array, 8]):
    return (x * 0.5 + 1.0) ** 2

model = lw.compile(program, ring_degree=2048, insecure=True)
client = model.client()
server = model.server(client.keygen().public(), device="cuda")
events = []
with lw.profile("cuda") as run:
    server.run(client.encrypt([0.1] * 8), on_event=events.append)
steps = [[e.op, e.start, e.end] for e in events if e.stage == "evaluate"]
print(json.dumps([rows, p.operations(), p.seconds, p.transforms, p.device, steps, run.operations()]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,), (operation,), seconds, transforms, device, steps, of_steps = json.loads(done.stdout)
    assert (row["kernel"], row["calls"], device) == ("fp64_ntt_radix8_full", 4000, "cuda:0")
    for name in ("mean", "least", "most"):
        assert row[name] == pytest.approx(1e-3)
    assert (operation["operation"], operation["times"], transforms) == ("here", 1, 1)
    assert seconds == operation["mean"] == pytest.approx(4.0)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [event for event in events if event.get("cat") == "kernel"]
    np.testing.assert_allclose(np.diff([event["ts"] for event in kernels]), 1000.0, atol=0.01)
    taken = {}
    for op, start, end in steps:
        taken[op] = taken.get(op, 0) + end - start
    profiled_seconds = {row["operation"]: row["seconds"] for row in of_steps if row["operation"] in taken}
    assert {op: seconds for op, seconds in taken.items() if seconds > 1e-6} == pytest.approx(profiled_seconds, abs=1e-6)
    assert len(profiled_seconds) > 2 and all(a[2] <= b[1] + 1e-9 for a, b in pairwise(steps))
