"""Running plans: the same bytes whatever the machine, round trips through files, events, and debugging."""

import dataclasses
import gc
import hashlib
import inspect
import os
import re
import stat
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL, Deployed, uniform

import latticework as lw
from latticework import _core
from latticework.errors import BudgetError, FormatError, RangeError, SecretKeyError, ShapeError, UserError
from latticework.plan.files.serialise import read_client, read_plan, write_client, write_plan
from latticework.runtime.keys.key_sets import PublicKeys
from latticework.runtime.server.key_reading import KeyWaits

HIDDEN, OUT = uniform((8, 6), 2), uniform((6, 3), 3)


@lw.program
def mlp(x: lw.Secret[4, 8], w1, w2):
    hidden = x @ w1
    active = np.square(hidden)
    shifted = active - 0.5
    return shifted @ w2


@lw.program
def repeated(x: lw.Secret[4], n: lw.Index):
    return lw.for_loop(n, lambda i, y: y + x, x)


def compiled_mlp():
    return lw.compile(mlp, weights=(HIDDEN, OUT), calibrate=uniform((80, 8)), **INSECURE_SMALL)


@pytest.fixture(scope="module")
def deployed_mlp():
    return Deployed(compiled_mlp(), uniform((80, 8)))


@pytest.fixture(scope="module")
def run(deployed_mlp):
    """Encrypted inputs, and the bytes of the outputs of one run on them."""
    inputs = deployed_mlp.client.encrypt(deployed_mlp.data[:4])
    return inputs, deployed_mlp.server(inputs).to_bytes()


# The same bytes


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 2}], ids=str)
def test_outputs_are_the_same_bytes_on_every_machine(deployed_mlp, run, options):
    inputs, expected = run
    server = deployed_mlp.model.server(deployed_mlp.keys.public(), **options)
    for _ in range(2):
        assert server(inputs).to_bytes() == expected


def least_of(make):
    """The least budget with which a server is made, by the error of one with less."""
    with pytest.raises(BudgetError) as refusal:
        make(1)
    return int(re.search(r"\((\d+) bytes\)", str(refusal.value))[1])


@pytest.mark.parametrize("spare", [0, 20_000, 100_000, 1_000_000, 1 << 30])
@pytest.mark.parametrize("keys", ["in memory", "in their file"])
def test_outputs_are_the_same_bytes_under_every_budget(deployed_mlp, run, tmp_path, spare, keys):
    inputs, expected = run
    public = deployed_mlp.keys.public()
    public.save(tmp_path)
    deployed_mlp.model.save(tmp_path / "model.lwplan")

    def make(memory):
        if keys == "in memory":
            return deployed_mlp.model.server(public, memory=memory)
        return lw.Server.load(tmp_path / "model.lwplan", tmp_path, memory=memory)

    least = least_of(make)
    with pytest.raises(BudgetError, match=f"give at least .* \\({least} bytes\\)"):
        make(least - 1)
    server = make(least + spare)
    for _ in range(2):
        assert server(server.load_encrypted(inputs.to_bytes())).to_bytes() == expected
    held = server.memory_use.constants
    traffic = server.key_traffic
    assert (traffic is None) == (keys == "in memory" or spare == 1 << 30)
    held += public.evaluation.num_bytes if traffic is None else traffic.peak_bytes
    assert held < least + spare


def test_compilation_is_deterministic(deployed_mlp):
    first, second = write_plan(deployed_mlp.model.plan), write_plan(compiled_mlp().plan)
    assert first == second


def test_fresh_encryptions_differ(deployed_mlp):
    x = deployed_mlp.data[:4]
    assert deployed_mlp.client.encrypt(x).to_bytes() != deployed_mlp.client.encrypt(x).to_bytes()


IN_ANOTHER_PROCESS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
import latticework as lw
plan, keys, inputs, outputs = sys.argv[1:]
server = lw.Server.load(plan, keys, threads=1)
server(server.load_encrypted(inputs)).save(outputs)
"""


def test_a_server_in_another_process_gives_the_same_bytes(deployed_mlp, run, tmp_path):
    inputs, expected = run
    plan, keys, sent, received = (tmp_path / name for name in ("mlp.lwplan", "keys", "in.lwct", "out.lwct"))
    deployed_mlp.model.save(plan)
    deployed_mlp.keys.public().save(keys)
    inputs.save(sent)
    command = [sys.executable, "-c", IN_ANOTHER_PROCESS, *map(str, (plan, keys, sent, received))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert received.read_bytes() == expected
    got = deployed_mlp.client.decrypt(deployed_mlp.client.load_encrypted(received))
    want = ((deployed_mlp.data[:4] @ HIDDEN) ** 2 - 0.5) @ OUT
    assert np.max(np.abs(got.reveal() - want)) <= got.error_bound


@pytest.mark.parametrize(("amount", "readers"), [("225KB", 0), ("225KB", 1), ("500KB", 2), ("4GB", 1)])
def test_keys_that_stay_in_their_file_give_the_same_bytes(deployed_mlp, run, tmp_path, amount, readers):
    inputs, expected = run
    plan, keys = tmp_path / "mlp.lwplan", tmp_path / "keys"
    deployed_mlp.model.save(plan)
    deployed_mlp.keys.public().save(keys)
    server = lw.Server.load(plan, keys, key_memory=amount, key_readers=readers)
    for _ in range(2):
        assert server(inputs).to_bytes() == expected
    traffic = server.key_traffic
    assert 0 < traffic.peak_bytes <= traffic.budget_bytes and traffic.prefetched <= traffic.loads
    assert readers or not traffic.prefetched
    mapped = PublicKeys(_core.MappedKeys(keys / "evaluation.lwkeys", server.context, 0), None)
    with pytest.raises(UserError, match="copy the file"):
        mapped.save(tmp_path / "copy")


@pytest.mark.parametrize("together", [False, True])
def test_who_listens_is_told_what_is_read_of_keys(deployed_mlp, run, tmp_path, together):
    """Waits step by step, and at the end of each run what it read; nothing of it where all keys are in memory."""
    inputs, _ = run
    plan, keys, seen = tmp_path / "mlp.lwplan", tmp_path / "keys", []
    deployed_mlp.model.save(plan)
    deployed_mlp.keys.public().save(keys)
    server = lw.Server.load(plan, keys, key_memory="225KB", key_readers=0)
    call = server.run_many if together else server
    given = [inputs, inputs] if together else inputs
    reads = []
    for _ in range(2):
        before = server.key_traffic
        call(given, on_event=seen.append)
        *steps, last = seen
        assert (last.stage, last.done, last.total) == ("read", steps[-1].done, steps[-1].total)
        assert all(event.traffic is None and event.stage == "evaluate" for event in steps)
        assert last.traffic == server.key_traffic.since(before)
        assert last.op == "keys" and last.traffic.loads > 0
        assert last.traffic.loaded_bytes == last.traffic.loads * last.traffic.row_bytes
        assert sum(event.waited for event in steps) == pytest.approx(last.traffic.stall_s) and last.traffic.stall_s > 0
        assert all(0 <= event.waited <= event.end - event.start for event in steps) or together
        reads.append((last.traffic.loads, last.traffic.hits))
        seen.clear()
    assert (server.key_traffic.loads, server.key_traffic.hits) == tuple(map(sum, zip(*reads, strict=True)))
    assert len({loads + hits for loads, hits in reads}) == 1  # rows that a run uses
    deployed_mlp.server(inputs, on_event=seen.append)
    assert seen and all(event.stage == "evaluate" and event.waited == 0.0 for event in seen)


def test_who_listens_is_told_of_a_run_that_fails(deployed_mlp, run, tmp_path):
    """But not again where it is the listener that fails."""
    plan, keys, seen = tmp_path / "mlp.lwplan", tmp_path / "keys", []
    deployed_mlp.model.save(plan)
    deployed_mlp.keys.public().save(keys)
    server = lw.Server.load(plan, keys, key_memory="225KB", key_readers=0)

    def stop(event):
        seen.append(event)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server(run[0], on_event=stop)
    assert len(seen) == 1
    file = keys / "evaluation.lwkeys"
    data = bytearray(file.read_bytes())
    data[len(data) // 4 :] = bytes(len(data) - len(data) // 4)
    file.write_bytes(data)
    seen.clear()
    with pytest.raises(FormatError):
        server(run[0], on_event=seen.append)
    assert seen[-1].stage == "read" and seen[-1].traffic.stalls > 0 and seen[-1].traffic.stall_s > 0


def test_options_may_be_numbers_of_numpy(deployed_mlp, run, tmp_path):
    plan, keys, one = tmp_path / "mlp.lwplan", tmp_path / "keys", np.int64(1)
    deployed_mlp.model.save(plan)
    deployed_mlp.keys.public().save(keys)
    server = lw.Server.load(plan, keys, memory=np.int64(10**9), threads=one, key_readers=one, runs=one)
    assert server(run[0]).to_bytes() == run[1]
    for wrong in (np.float64(1.0), np.True_, np.ones(2, dtype=int)):
        with pytest.raises(lw.errors.UserError, match="give a whole number"):
            lw.Server.load(plan, keys, threads=wrong)
        with pytest.raises(lw.errors.UserError, match="give a whole number"):
            lw.Server.load(plan, keys, memory="1GB", runs=wrong)


def test_who_listens_is_told_of_long_waits(deployed_mlp, run, monkeypatch, tmp_path):
    plan, keys, seen = tmp_path / "mlp.lwplan", tmp_path / "keys", []
    deployed_mlp.model.save(plan)
    deployed_mlp.keys.public().save(keys)
    begun, release = threading.Event(), threading.Event()

    class Slow(_core.MappedKeys):
        """Of a disk that does not answer readers."""

        def __init__(self, path, context, budget_bytes, **options):
            super().__init__(path, context, budget_bytes, self.hang, tell_every_s=0.02, **options)

        @staticmethod
        def hang(_key, is_ahead):
            if is_ahead:
                begun.set()
                release.wait(60)
            else:
                assert begun.wait(60)  # so that the run comes to wait for a row that a reader has begun

    def listen(event):
        seen.append(event)
        if event.op == "waiting":
            release.set()

    monkeypatch.setattr(_core, "MappedKeys", Slow)
    server = lw.Server.load(plan, keys, key_memory="4GB")
    assert server(run[0], on_event=listen).to_bytes() == run[1]
    waits = [event for event in seen if event.op == "waiting"]
    assert waits and all(e.stage == "read" and e.waited == pytest.approx(e.end - e.start) for e in waits)
    assert waits[0].waited >= 0.02 and seen[-1].traffic.stalls > 0 and not server._waits.told


def test_a_wait_is_told_to_the_run_that_waits():
    """What a listener raises then ends its own run, and no other one of the server."""
    waits, both, told = KeyWaits(), threading.Barrier(2, timeout=60), []

    def one(number):
        with waits.telling(lambda seconds: told.append((number, seconds))):
            both.wait()  # both are under way
            if number == 1:
                waits(1.5)
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, range(2)))
    assert told == [(1, 1.5)] and not waits.told
    waits(2.5)  # nobody listens
    assert told == [(1, 1.5)]


# Round trips


def test_plans_and_clients_round_trip(deployed_mlp, tmp_path):
    model, path = deployed_mlp.model, tmp_path / "program"
    model.save(path)
    again = lw.load(path)
    assert path.read_bytes() == write_plan(model.plan) == write_plan(again.plan)
    assert repr(again) == repr(model) and read_plan(path).client == model.plan.client
    deployed_mlp.client.save(path)
    assert path.read_bytes() == write_client(model.plan.client)
    assert read_client(path) == model.plan.client == lw.Client.load(path, allow_insecure=True).spec
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_client_files_hold_no_weights(deployed_mlp, tmp_path):
    plan, client = tmp_path / "plan", tmp_path / "client"
    deployed_mlp.model.save(plan)
    deployed_mlp.client.save(client)
    sources = read_plan(plan).sources.values()
    for weights in (HIDDEN, OUT):
        assert any(np.array_equal(array, weights) for array in sources)
        assert weights.tobytes()[:16] not in client.read_bytes()


def test_ciphertexts_round_trip(deployed_mlp, run, tmp_path):
    inputs, expected = run
    for data in (inputs.to_bytes(), expected):
        path = tmp_path / "ciphertexts"
        again = deployed_mlp.client.load_encrypted(data)
        again.save(path)
        assert again.to_bytes() == path.read_bytes() == data == deployed_mlp.server.load_encrypted(path).to_bytes()
        assert again.program == "mlp"


def test_keys_round_trip(deployed_mlp, run, tmp_path):
    inputs, expected = run
    folder = tmp_path / "a" / "b"
    deployed_mlp.keys.save(folder)
    assert sorted(p.name for p in folder.iterdir()) == ["evaluation.lwkeys", "public.lwkey", "secret.lwkey"]
    assert stat.S_IMODE((folder / "secret.lwkey").stat().st_mode) == 0o600
    for source in (folder, folder / "secret.lwkey"):
        client = deployed_mlp.model.client(threads=1)
        client.load_keys(source)
        outputs = client.load_encrypted(expected)
        np.testing.assert_array_equal(
            client.decrypt(outputs).reveal(), deployed_mlp.client.decrypt(outputs).reveal(), strict=True
        )
    deployed_mlp.model.save(tmp_path / "plan")
    server = lw.Server.load(tmp_path / "plan", folder / "evaluation.lwkeys", threads=1)
    assert server(inputs).to_bytes() == expected
    names = ["secret.lwkey", "renamed.lwkey", "secret.lwkey.bak", "no suffix"]
    for name, next_name in zip(names, [*names[1:], "gone"], strict=True):
        with pytest.raises(SecretKeyError, match=rf"holds a secret key, {name}; .*evaluation.lwkeys alone"):
            lw.Server.load(tmp_path / "plan", folder)
        (folder / name).rename(folder / next_name)
    (folder / "gone").unlink()
    assert lw.Server.load(tmp_path / "plan", folder, threads=1)(inputs).to_bytes() == expected


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602])
def test_a_secret_key_that_others_may_read_is_refused(deployed_mlp, tmp_path, mode):
    deployed_mlp.keys.save(tmp_path)
    key = tmp_path / "secret.lwkey"
    client = deployed_mlp.model.client(threads=1)
    key.chmod(mode)
    with pytest.raises(
        SecretKeyError, match=rf"secret.lwkey: other users .* mode is 0{mode:o}.*`chmod 600 .*secret.lwkey`"
    ):
        client.load_keys(tmp_path)
    key.chmod(0o400)
    client.load_keys(tmp_path)


def test_public_folders_hold_no_secret(deployed_mlp, tmp_path):
    deployed_mlp.keys.save(tmp_path / "mine")
    deployed_mlp.keys.public().save(tmp_path / "theirs")
    assert sorted(p.name for p in (tmp_path / "theirs").iterdir()) == ["evaluation.lwkeys", "public.lwkey"]
    secret = (tmp_path / "mine" / "secret.lwkey").read_bytes()[-512:]  # of the packed coefficients
    assert not any(secret in p.read_bytes() for p in (tmp_path / "theirs").iterdir())


def test_public_keys_are_made_anew_for_a_loaded_secret_key(deployed_mlp, run, tmp_path):
    deployed_mlp.keys.save(tmp_path)
    client = deployed_mlp.model.client(threads=1)
    with pytest.raises(SecretKeyError, match=r"no secret key to make keys for: keygen\(\), or load_keys"):
        client.public_keys()
    client.load_keys(tmp_path)
    outputs = deployed_mlp.model.server(client.public_keys(), threads=1)(run[0])
    got = deployed_mlp.client.decrypt(outputs)
    assert np.max(np.abs(got.reveal() - ((deployed_mlp.data[:4] @ HIDDEN) ** 2 - 0.5) @ OUT)) <= got.error_bound


def test_plan_files_of_one_program_have_one_hash(deployed_mlp, tmp_path):
    """So that two sides can compare what they hold."""
    hashes = set()
    for i in range(2):
        deployed_mlp.model.save(tmp_path / str(i))
        hashes.add(hashlib.sha256((tmp_path / str(i)).read_bytes()).hexdigest())
    assert len(hashes) == 1


# Events


def check_order(events, stage):
    assert events and {e.stage for e in events} == {stage}
    assert len({e.total for e in events}) == 1 and events[-1].done == events[-1].total
    assert all(a.done <= b.done and a.end <= b.end for a, b in pairwise(events))
    assert all(0 <= e.done <= e.total and e.start <= e.end for e in events)


def test_events_of_key_generation(deployed_mlp):
    events = []
    keys = deployed_mlp.model.client(threads=1).keygen(on_event=events.append)
    check_order(events, "keys")
    assert [e.done for e in events] == list(range(1, len(keys.public().evaluation) + 1))
    assert {e.op for e in events} == {"relin", "galois"} and all(e.level >= 0 for e in events)


def test_events_of_evaluation(deployed_mlp, run):
    events = []
    deployed_mlp.server(run[0], on_event=events.append)
    check_order(events, "evaluate")
    assert [e.done for e in events] == list(range(1, len(events) + 1))
    assert {"encode", "diag_sums", "mod_down"} <= {e.op for e in events}


def test_events_of_loops():
    data = uniform((20, 4))
    deployed = Deployed(lw.compile(repeated, calibrate={"x": data, "n": 5}, **INSECURE_SMALL), data)
    adds = {}
    for n in (0, 2, 5):
        events = []
        deployed.server(deployed.client.encrypt(data[0], n), on_event=events.append)
        check_order(events, "evaluate")
        adds[n] = sum(e.op == "add" for e in events)
    assert adds[2] - adds[0] == 2 and adds[5] - adds[0] == 5


def test_errors_of_listeners_end_the_run_and_leave_the_server_usable(deployed_mlp, run):
    def fail(event):
        raise ZeroDivisionError(event.op)

    with pytest.raises(ZeroDivisionError):
        deployed_mlp.server(run[0], on_event=fail)
    with pytest.raises(ZeroDivisionError):
        deployed_mlp.model.client(threads=1).keygen(on_event=fail)
    assert deployed_mlp.server(run[0]).to_bytes() == run[1]


# Debugging


def altered(model, change):
    """The model with one weight of its plan changed by `change`."""
    name = next(name for name, array in model.plan.sources.items() if array.shape == change.shape)
    plan = dataclasses.replace(model.plan, sources=dict(model.plan.sources) | {name: model.plan.sources[name] + change})
    return lw.Model(plan, model._reference, allow_insecure=True)


def text_of(line):
    lines, first = inspect.getsourcelines(mlp.function)
    return next((first + i, t.strip()) for i, t in enumerate(lines) if line in t)


def test_debug_of_a_right_plan(deployed_mlp):
    report = deployed_mlp.model.debug(deployed_mlp.data[:4])
    assert report.first_off is None and str(report).endswith("every value is within its bound")
    lines = [row.location.line for row in report.rows]
    assert lines == sorted(lines) and {text_of("x @ w1")[0], text_of("shifted @ w2")[0]} <= set(lines)
    assert all(row.location.file == __file__ and row.error <= row.bound for row in report.rows if row.bound)
    assert "every value is within" in report._repr_html_()


@pytest.mark.parametrize(("shape", "line"), [((8, 6), "x @ w1"), ((6, 3), "shifted @ w2")])
def test_debug_names_the_line_of_an_altered_weight(deployed_mlp, shape, line):
    change = np.zeros(shape)
    change[2, 1] = 0.05
    report = altered(deployed_mlp.model, change).debug(deployed_mlp.data[:4])
    number, text = text_of(line)
    first = report.first_off
    assert first is not None and first.location.line == number and first.error > first.bound
    assert f"first off: {__file__}:{number}: {text}" in str(report) and "<-- off" in str(report)
    assert "the noise model allows" in str(report)


def test_debug_of_a_loaded_model_compares_with_its_simulation(deployed_mlp, tmp_path):
    deployed_mlp.model.save(tmp_path / "plan")
    report = lw.load(tmp_path / "plan", allow_insecure=True).debug(deployed_mlp.data[:4])
    assert report.first_off is None and len(report.rows) >= 3
    assert {row.location.line for row in report.rows} >= {text_of("x @ w1")[0]}


def test_debug_with_the_client_of_the_user_keeps_its_key(deployed_mlp, run):
    client = deployed_mlp.client
    before = client.decrypt(client.load_encrypted(run[1])).reveal()
    assert deployed_mlp.model.debug(deployed_mlp.data[:4], client=client).first_off is None
    np.testing.assert_array_equal(client.decrypt(client.load_encrypted(run[1])).reveal(), before)


def test_debug_checks_inputs_first(deployed_mlp):
    with pytest.raises(ShapeError, match="debug: 3 rows were given; give the inputs of one run"):
        deployed_mlp.model.debug(np.zeros((3, 8)))
    with pytest.raises(
        RangeError, match=r"input x, row 0, column 0 is outside -1.* to 1.*, as calibrated \(and 31 more values"
    ):
        deployed_mlp.model.debug(x=np.full((4, 8), 9.0))


# One server, many callers


def test_a_server_is_called_from_several_threads(deployed_mlp, run):
    inputs, expected = run
    with ThreadPoolExecutor(4) as pool:
        assert {o.to_bytes() for o in pool.map(deployed_mlp.server, [inputs] * 8)} == {expected}


def test_several_servers_of_several_clients(deployed_mlp):
    sides = [Deployed(deployed_mlp.model, deployed_mlp.data) for _ in range(2)]
    for i, side in enumerate(sides):
        x = side.data[4 * i : 4 * i + 4]
        np.testing.assert_allclose(side.run(x).reveal(), ((x @ HIDDEN) ** 2 - 0.5) @ OUT, atol=2.0**-12 * 8)


# Memory


def test_a_server_says_what_memory_it_has_and_a_second_run_gets_no_more(deployed_mlp, run):
    inputs, _ = run
    server = deployed_mlp.model.server(deployed_mlp.keys.public(), memory="64MB")
    fresh = server.memory_use
    assert fresh.constants == 0 and fresh.live == 0  # keys are of the client's context
    server(inputs)
    used = server.memory_use
    assert 0 < used.constants <= 64e6 and 0 < used.live <= used.held - used.idle
    assert used.held == used.fresh - used.returned
    server(inputs)
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # under which nothing is kept
        assert server.memory_use == used


def test_a_server_nobody_refers_to_leaves_memory_at_once(deployed_mlp, run):
    inputs, _ = run
    server = deployed_mlp.model.server(deployed_mlp.keys.public())
    server(inputs)
    held = weakref.ref(server)
    gc.disable()
    try:
        del server
        assert held() is None  # and with it the encoded weights, and the keys that nobody else has
    finally:
        gc.enable()
