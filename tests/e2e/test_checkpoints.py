"""A run that was stopped goes on from its checkpoint, and returns the bytes of one that was not."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework import _core
from latticework.cli import app
from latticework.errors import FormatError, ParameterMismatchError, UserError
from latticework.plan.files.serialise import plan_id
from latticework.runtime.server import checkpoint
from latticework.runtime.server.server import Server

RATE = np.array([0.5, 0.25, 1.5, 1.0])
W, X = np.array([0.5, -0.25, 0.125, 0.75]), np.array([0.1, 0.2, -0.3, 0.4])


@lw.program
def steps(w: lw.Secret[4], x: lw.Secret[4], n: lw.Index, rate):
    """Two loops one after the other, with values that outlive both."""
    turned = x * x + np.roll(x, 2) * rate
    w = lw.for_loop(n, lambda i, w: w + turned, w, at_most=8)
    between = w * x
    a, b = lw.for_loop(n, lambda i, a, b: (b + between, a - x), (between, w), at_most=8)
    return {"a": a, "b": b + turned + np.roll(x, 1)}


@pytest.fixture(scope="module")
def model():
    data = np.stack([W, X])
    return lw.compile(
        steps,
        weights=(RATE,),
        calibrate={"w": data, "x": data, "n": 6},
        precision_bits=8,
        ring_degree=4096,
        insecure=True,
    )


@pytest.fixture(scope="module")
def keys(model):
    return model.client().keygen()


@pytest.fixture(scope="module")
def sent(model, keys):
    return model.client(keys=keys).encrypt_part(w=W, x=X)


@pytest.fixture(scope="module", params=[1, 2])
def server(model, keys, request):
    return model.server(keys.public(), threads=request.param)


class Stopped(Exception):
    """As if the machine had been switched off."""


def stop_after(events):
    def listen(event):
        nonlocal events
        events -= 1
        if events < 0:
            raise Stopped

    return listen


def test_a_run_goes_on_from_wherever_it_was_stopped(server, sent, tmp_path):
    """Stopped again and again: every run takes a few steps more."""
    seen, file = [], tmp_path / "run.ckpt"
    whole = server(sent, n=5, on_event=seen.append).to_bytes()
    runs, done = 0, []
    while True:
        count = stop_after(14 + runs % 3)

        def listen(event, count=count):
            done.append((event.done, event.total))
            count(event)

        try:
            found = server(sent, n=5, checkpoint=file, on_event=listen)
            break
        except Stopped:
            runs += 1
        assert runs < 60
    assert found.to_bytes() == whole
    assert runs >= 3
    assert not file.exists()
    assert set(done) <= {(e.done, e.total) for e in seen} and done[-1] == (seen[-1].total, seen[-1].total)


RUN = """
import os, signal
from pathlib import Path
import latticework as lw

def die(event):  # the system ends the process in the middle of whatever it does
    if event.done == {at}:
        os.kill(os.getpid(), signal.SIGKILL)

server = lw.Server.load("model.lwplan", "public", threads=1)
server(server.load_encrypted("in.lwct"), n=6, checkpoint="run.ckpt", on_event=die)
"""


@pytest.fixture(scope="module")
def folder(model, keys, sent, tmp_path_factory):
    """The server's machine, on which a run was killed in its second loop."""
    folder = tmp_path_factory.mktemp("server")
    model.save(folder / "model.lwplan")
    keys.public().save(folder / "public")
    sent.save(folder / "in.lwct")
    done = subprocess.run([sys.executable, "-c", RUN.format(at=45)], cwd=folder, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    assert sorted(path.name for path in folder.iterdir()) == ["in.lwct", "model.lwplan", "public", "run.ckpt"]
    return folder


@pytest.fixture
def killed(folder, tmp_path):
    """A copy of the checkpoint that the killed run left."""
    copy = tmp_path / "run.ckpt"
    copy.write_bytes((folder / "run.ckpt").read_bytes())
    return copy


def test_a_killed_process_goes_on_with_the_same_bytes(server, sent, killed):
    events = []
    found = server(sent, n=6, checkpoint=killed, on_event=events.append)
    assert found.to_bytes() == server(sent, n=6).to_bytes()
    assert events[0].done > 40 and events[0].trips == 6 and events[-1].done == events[-1].total


def test_the_command_goes_on_from_the_same_file(server, sent, folder, killed, tmp_path):
    command = ["run", folder / "model.lwplan", folder / "in.lwct", "n=6", "-k", folder / "public"]
    said = CliRunner().invoke(app, [*map(str, command), "--checkpoint", str(killed), "-o", str(tmp_path / "out.lwct")])
    assert said.exit_code == 0, said.output
    assert (tmp_path / "out.lwct").read_bytes() == server(sent, n=6).to_bytes()
    assert not killed.exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["n=2.5"], "n=2.5: n is a whole number that everybody may see; write n=60"),
        (["n=1", "n=1"], "n=1: n was given before; give every input once"),
        (["n=-1"], "input n is -1; the program was compiled for 0 to 6"),
        (["n=9"], "input n is 9; the program was compiled for 0 to 6"),
        (["n=1", "--checkpoint", "out.lwct"], "--checkpoint out.lwct: another file of this command has that name"),
        (["n=1", "--checkpoint", "c.ckpt", "--every", "0"], "--every 0 turns of a loop: a checkpoint takes"),
    ],
)
def test_what_the_command_refuses(folder, monkeypatch, tmp_path, words, told):
    monkeypatch.chdir(tmp_path)
    command = ["run", folder / "model.lwplan", folder / "in.lwct", *words, "-k", folder / "public", "-o", "out.lwct"]
    said = CliRunner().invoke(app, list(map(str, command)))
    assert said.exit_code == 1 and told in said.output.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_checkpoints_are_as_many_as_asked_for(server, sent, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "SHARE", 1e-12)  # in loops alone
    save = _core.save_ciphertexts
    monkeypatch.setattr(
        _core, "save_ciphertexts", lambda path, *rest: (path and written.append(rest[2]["turns"])) or save(path, *rest)
    )
    kept = lw.Checkpoint(tmp_path / "run.ckpt", every=2, keep=True)
    whole = server(sent, n=5, checkpoint=kept)
    assert written == [2, 4, 2, 4]
    assert server(sent, n=5, checkpoint=kept).to_bytes() == whole.to_bytes()  # the last turn again
    server(sent, n=5, checkpoint=lw.Checkpoint(tmp_path / "run.ckpt", seconds=1000))
    assert written == [2, 4, 2, 4] and not os.path.exists(kept.path)
    assert server(sent, n=0, checkpoint=kept).to_bytes() == server(sent, n=0).to_bytes()
    assert not os.path.exists(kept.path)


def refused(server, kind, told, *inputs, file, **integers):
    before = file.read_bytes() if file.is_file() else None
    with pytest.raises(kind, match=told):
        server(*inputs, checkpoint=file, **integers)
    assert (file.read_bytes() if file.is_file() else None) == before


def test_a_checkpoint_of_another_run_is_refused(model, server, sent, keys, killed):
    refused(server, ParameterMismatchError, r"run.ckpt is the checkpoint of a run with n=6, this one has n=5; give what "
            "it was written with to go on, or remove it", sent, file=killed, n=5)  # fmt: skip
    fresh = model.client(keys=keys).encrypt_part(w=W, x=X)
    refused(server, ParameterMismatchError, "of other encrypted inputs", fresh, file=killed, n=6)
    other = model.client()
    theirs = model.server(other.keygen().public(), threads=1)
    refused(theirs, ParameterMismatchError, "another key set", other.encrypt_part(w=W, x=X), file=killed, n=6)


@pytest.mark.parametrize("where", [0.1, 0.5, 0.9])
def test_a_damaged_checkpoint_is_refused(server, sent, killed, where):
    data = bytearray(killed.read_bytes())
    data[int(where * len(data))] ^= 1
    killed.write_bytes(data)
    refused(
        server, FormatError, "no checkpoint to go on from; .* name another file to begin anew", sent, file=killed, n=6
    )
    killed.write_bytes(data[: int(where * len(data))])
    refused(server, FormatError, "no checkpoint to go on from", sent, file=killed, n=6)


def test_a_checkpoint_of_another_plan_is_refused(model, keys, sent, killed):
    """Compiled alike but for a weight: clients see no difference."""
    sources = {name: np.asarray(array) + 1 for name, array in model.plan.sources.items()}
    other = Server(replace(model.plan, sources=sources), keys.public(), threads=1)
    refused(other, ParameterMismatchError, "is the checkpoint of another plan", sent, file=killed, n=6)
    assert plan_id(model.plan) == plan_id(replace(model.plan, tensors=())), "what is told of a plan is no part of it"


def test_what_is_no_checkpoint_is_refused_and_stays(server, sent, tmp_path):
    sent.save(tmp_path / "in.lwct")
    refused(server, FormatError, "in.lwct is no checkpoint", sent, file=tmp_path / "in.lwct", n=2)
    refused(server, UserError, "is a folder: give a file to write", sent, file=tmp_path, n=2)
    refused(server, UserError, "is in a folder that is not there", sent, file=tmp_path / "a" / "b", n=2)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (dict(path=3), "checkpoint=3 is no path of a file"),
        (dict(path="a", every=0), "every=0 turns of a loop"),
        (dict(path="a", every=1.5), "every=1.5 turns of a loop"),
        (dict(path="a", seconds=-1), "seconds=-1 between checkpoints"),
        (dict(path="a", seconds=float("nan")), "seconds=nan between checkpoints"),
    ],
)
def test_wrong_wishes(given, told):
    with pytest.raises(UserError, match=told):
        lw.Checkpoint(**given)


@lw.program
def straight(x: lw.Secret[4], w):
    """No loop: products, sums and turned values one after the other."""
    y = x * x + np.roll(x, 1)
    return (y * np.roll(y, 2) - x) @ w


@pytest.fixture(scope="module")
def alone():
    """The model of that program, its client, keys and server, and inputs."""
    model = lw.compile(
        straight, weights=(np.ones((4, 2)),), calibrate=np.stack([W, X]), ring_degree=1024, insecure=True,
        precision_bits=8,
    )  # fmt: skip
    client = model.client()
    keys = client.keygen()
    return model, client, keys, model.server(keys.public(), threads=1), client.encrypt(X)


STRAIGHT_RUN = """
import os, signal
import latticework as lw
from latticework.runtime.server import checkpoint

checkpoint.SHARE = float("inf")  # wherever it is possible

def die(event):
    if event.done == {at}:
        os.kill(os.getpid(), signal.SIGKILL)

server = lw.Server.load("model.lwplan", "public", threads=1)
server(server.load_encrypted("in.lwct"), checkpoint="run.ckpt", on_event=die)
"""


def test_a_program_without_loops_goes_on_after_a_kill(alone, tmp_path):
    model, client, keys, server, sent = alone
    whole, events = server(sent).to_bytes(), []
    server(sent, on_event=events.append)
    at, file = events[-1].total // 2, tmp_path / "run.ckpt"
    model.save(tmp_path / "model.lwplan")
    keys.public().save(tmp_path / "public")
    sent.save(tmp_path / "in.lwct")
    done = subprocess.run([sys.executable, "-c", STRAIGHT_RUN.format(at=at)], cwd=tmp_path, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL and file.exists()
    left, later = file.read_bytes(), []
    fresh = client.encrypt(X)
    refused(server, ParameterMismatchError, "of other encrypted inputs", fresh, file=file)
    file.write_bytes(left[: len(left) // 2])
    refused(server, FormatError, "no checkpoint to go on from", sent, file=file)
    file.write_bytes(left)
    assert server(sent, checkpoint=file, on_event=later.append).to_bytes() == whole
    assert at // 2 < later[0].done <= at + 1 and later[-1].done == later[-1].total == events[-1].total
    assert not file.exists()


def test_a_run_stopped_after_a_few_instructions_goes_on_from_there(alone, tmp_path, monkeypatch):
    """And again from the state that a resumed run wrote."""
    monkeypatch.setattr(checkpoint, "SHARE", np.inf)
    *_, server, sent = alone
    whole, starts, file = server(sent).to_bytes(), [], tmp_path / "run.ckpt"
    for steps in (6, 9):
        for _ in range(100):
            events = []
            count = stop_after(steps)

            def listen(event, events=events, count=count):
                events.append(event.done)
                count(event)

            try:
                found = server(sent, checkpoint=file, on_event=listen)
                break
            except Stopped:
                starts.append(events[0])
        assert found.to_bytes() == whole and not file.exists()
    assert len(set(starts)) > 4


def test_checkpoints_outside_of_loops_take_a_small_part_of_the_time(alone, tmp_path, monkeypatch):
    """As the clock of the module goes: at most a fiftieth, and none where writing takes longer than there is to lose."""
    now, written = [0.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    save = _core.save_ciphertexts

    def slow(path, *rest):
        if path:
            now[0] += 0.5
            written.append(now[0])
        return save(path, *rest)

    monkeypatch.setattr(_core, "save_ciphertexts", slow)
    *_, server, sent = alone

    def pass_time(seconds):
        written.clear()
        now[0] = 0.0
        server(sent, checkpoint=tmp_path / "run.ckpt", on_event=lambda event: now.__setitem__(0, now[0] + seconds))
        return len(written), 0.5 * len(written) / now[0]

    assert pass_time(1e-9) == (0, 0.0)
    count, share = pass_time(10.0)
    assert count > 2 and share < 0.05  # sizes differ from place to place
    assert pass_time(1000.0)[0] > count


def test_a_stack_of_runs_has_no_checkpoint(model, keys, server, tmp_path):
    stack = model.client(keys=keys).encrypt_part(w=np.stack([W, X]), x=X)
    refused(
        server,
        UserError,
        "is for one run, these inputs are a stack of 2: run them one",
        stack,
        file=tmp_path / "a",
        n=2,
    )


@lw.program
def line(x: lw.Secret[64], y: lw.Secret[64], n: lw.Index):
    def step(i, w, b):
        error = w * x + b - y
        return w - 0.5 * np.mean(error * x), b - 0.5 * np.mean(error)

    return lw.for_loop(n, step, (0.0, 0.0))


@pytest.fixture
def hearing_interrupts():
    """SIGINT raises KeyboardInterrupt, also where the parent ignores it, as of a shell's background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("hearing_interrupts")
def test_interrupts_in_bootstraps_stop_within_a_second_and_lose_little(tmp_path):
    """Ctrl-C again and again while 40 iterations with real bootstraps run: the bytes of the run that nobody stopped."""
    x = np.random.default_rng(0).uniform(-1, 1, (4, 64))
    data = {"x": x, "y": 0.7 * x + 0.2, "n": 40}
    model = lw.compile(line, calibrate=data, precision_bits=10, bootstrap_set="T12L16", insecure=True)
    client = model.client()
    server = model.server(client.keygen().public(), threads=2)
    sent = client.encrypt_part(x=x[0], y=data["y"][0])
    begun = time.perf_counter()
    whole = server(sent, n=40).to_bytes()
    seconds = time.perf_counter() - begun
    delays, found, iterations = [], None, []
    while found is None:
        pressed = []

        def press(pressed=pressed):
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(seconds * (0.3 + 0.05 * (len(delays) % 5)), press)
        timer.start()
        try:
            found = server(
                sent, n=40, checkpoint=tmp_path / "run.ckpt", on_event=lambda e: iterations.append(e.iteration)
            )
        except KeyboardInterrupt:
            delays.append(time.perf_counter() - pressed[0])
        timer.cancel()
    assert found.to_bytes() == whole and delays and max(delays) < 1.0
    for result, want in zip(client.decrypt(found), line(x[0], data["y"][0], 40), strict=True):
        assert np.abs(result.reveal() - want).max() <= result.error_bound
