"""Keys made into a folder one at a time: interrupted at any moment, gone on with, and every folder that is refused."""

import json
import os
import shutil
import signal
import stat
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from e2e_cases import INSECURE_SMALL
from test_bad_files import small_files
from typer.testing import CliRunner

import latticework as lw
from latticework import _core, cli
from latticework.errors import ParameterMismatchError, SecretKeyError

FILES = ["evaluation.lwkeys", "public.lwkey", "secret.lwkey"]
PARTIAL = "evaluation.lwkeys.partial"
WEIGHTS = np.random.default_rng(8).uniform(-1, 1, (16, 16))
DATA = np.random.default_rng(9).uniform(-1, 1, (50, 16))

CHILD = """
import latticework as lw
client = lw.Client.load("m.lwclient", allow_insecure=True, threads=1)
print("started", flush=True)
kept = []
client.keygen("keys", on_event=lambda e: kept.append(e.op))
print(kept.count("kept"), len(kept), flush=True)
"""


@lw.program
def squares(x: lw.Secret[16], w):
    y = w @ x
    return w @ (y * y)


@pytest.fixture(scope="module")
def model():
    return lw.compile(squares, weights=(WEIGHTS,), calibrate=DATA, **INSECURE_SMALL)


@pytest.fixture
def here(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("m.lwplan")
    model.client().save("m.lwclient")
    return tmp_path


def client_of(model):
    return model.client(threads=1)


class Stopped(Exception):
    """Ends the making of keys."""


def stop_after(count):
    def on_event(event):
        if event.done == count:
            raise Stopped

    return on_event


def interrupt(model, folder, count):
    with pytest.raises(Stopped):
        client_of(model).keygen(folder, on_event=stop_after(count))


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def check(model, folder):
    """The folder's keys compute what NumPy computes, from files alone."""
    assert names(folder) == FILES
    client = client_of(model)
    client.load_keys(folder)
    server = lw.Server.load("m.lwplan", Path(folder) / FILES[0], threads=1)
    result = client.decrypt(server(client.encrypt(DATA[0])))
    expected = WEIGHTS @ (WEIGHTS @ DATA[0]) ** 2
    assert np.abs(result.reveal() - expected).max() <= result.error_bound
    other = client_of(model)
    other.load_public_key(folder)
    again = client.decrypt(server(other.encrypt(DATA[0])))
    assert np.abs(again.reveal() - expected).max() <= again.error_bound


def said(*words, status=0):
    result = CliRunner().invoke(cli.app, [*words, "--insecure"])
    assert result.exit_code == status, result.output
    return " ".join(result.output.split())


def test_keys_in_a_folder_are_those_of_the_manifest_and_stay_there(here, model):
    client, events = client_of(model), []
    keys = client.keygen("keys", on_event=events.append)
    check(model, "keys")
    wanted = [(u.spec.kind, u.spec.galois_element, u.spec.track, u.spec.level) for u in client.spec.manifest.uses]
    found = [(s["kind"], s["galois_element"], s["track"], s["level"]) for s in keys.public().evaluation.specs]
    assert found == wanted and [e.done for e in events] == list(range(1, len(wanted) + 1))
    assert {e.op for e in events} == {"relin", "galois"} and {e.total for e in events} == {len(wanted)}
    assert stat.S_IMODE(Path("keys").stat().st_mode) == 0o700
    assert stat.S_IMODE(Path("keys/secret.lwkey").stat().st_mode) == 0o600
    # the client that made them encrypts, and a server in this process reads them from the file
    server = model.server(keys.public(), threads=1)
    result = client.decrypt(server(client.encrypt(DATA[1])))
    assert np.abs(result.reveal() - WEIGHTS @ (WEIGHTS @ DATA[1]) ** 2).max() <= result.error_bound
    assert keys.public().evaluation.traffic["loads"] > 0


@pytest.mark.parametrize("count", [1, 3])
def test_an_interrupted_folder_is_gone_on_with(here, model, count):
    interrupt(model, "keys", count)
    assert names("keys") == [PARTIAL, "public.lwkey", "secret.lwkey"]
    secret, events = Path("keys/secret.lwkey").read_bytes(), []
    client_of(model).keygen("keys", on_event=events.append)
    assert [e.op == "kept" for e in events] == [e.done <= count for e in events]
    assert Path("keys/secret.lwkey").read_bytes() == secret
    check(model, "keys")


def test_an_unfinished_folder_is_not_yet_one_of_keys(here, model):
    interrupt(model, "keys", 2)
    with pytest.raises(SecretKeyError, match="holds a secret key"):
        lw.Server.load("m.lwplan", "keys")
    with pytest.raises(lw.errors.FormatError, match=r"evaluation\.lwkeys\.partial: "):
        lw.Server.load("m.lwplan", f"keys/{PARTIAL}")


def test_a_complete_folder_is_refused(here, model):
    client_of(model).keygen("keys")
    before = {name: Path("keys", name).read_bytes() for name in FILES}
    with pytest.raises(FileExistsError, match=r"secret\.lwkey exists; whatever was encrypted with that key"):
        client_of(model).keygen("keys")
    assert {name: Path("keys", name).read_bytes() for name in names("keys")} == before


def test_keys_begun_for_another_program_are_not_taken_over(here, model):
    interrupt(model, "keys", 2)
    before = {name: Path("keys", name).read_bytes() for name in names("keys")}
    narrow = lw.compile(squares, weights=(WEIGHTS,), calibrate=DATA, ring_degree=4096, insecure=True)
    with pytest.raises(ParameterMismatchError, match=r"secret\.lwkey"):
        client_of(narrow).keygen("keys")
    assert {name: Path("keys", name).read_bytes() for name in names("keys")} == before


def test_leftovers_are_removed_and_named(here, model):
    interrupt(model, "keys", 2)
    shutil.copytree("keys", "other")
    Path("keys/secret.lwkey").unlink()  # nobody has the secret key of what is unfinished
    Path("keys/.latticework-0123456789abcdef.tmp").write_bytes(b"left")
    with pytest.warns(lw.LeftoverWarning) as told:
        client_of(model).keygen("keys")
    assert [str(w.message) for w in told] == [
        f"removed keys/{name}, which a process that was ended had been writing"
        for name in (".latticework-0123456789abcdef.tmp", PARTIAL)
    ]
    check(model, "keys")
    shutil.copy(f"other/{PARTIAL}", "keys")  # beside complete keys of another secret
    with pytest.warns(lw.LeftoverWarning, match="partial"), pytest.raises(FileExistsError):
        client_of(model).keygen("keys")
    check(model, "keys")


def test_no_room_is_said_before_any_key_is_made(here, model):
    events = []
    with small_files(), pytest.raises(OSError, match=r"evaluation\.lwkeys: cannot reserve \d+ bytes"):
        client_of(model).keygen("keys", on_event=events.append)
    assert not events and names("keys") == []
    client_of(model).keygen("keys")
    check(model, "keys")


def test_a_disk_that_fills_up_later_keeps_what_was_begun(here, model):
    """Files of which the system could not claim the room; the first key fits."""
    interrupt(model, "keys", 2)
    size = Path("keys", PARTIAL).stat().st_size
    with Path("keys", PARTIAL).open("r+b") as file:
        file.truncate(0)
    shutil.rmtree("keys")
    interrupt(model, "keys", 1)
    with small_files(), pytest.raises(OSError, match="cannot"):
        client_of(model).keygen("keys")
    assert Path("keys", PARTIAL).stat().st_size == size
    events = []
    client_of(model).keygen("keys", on_event=events.append)
    assert events[0].op == "kept"
    check(model, "keys")


@pytest.mark.parametrize("place", ["/proc/keys", "file", "file/keys"])
def test_folders_that_cannot_be_written(here, model, place):
    Path("file").write_bytes(b"precious")
    events = []
    with pytest.raises(OSError, match=place.split("/")[1] if "/" in place[1:] and place[0] == "/" else "file"):
        client_of(model).keygen(place, on_event=events.append)
    assert not events and Path("file").read_bytes() == b"precious"


def test_a_secret_key_that_others_can_read_is_not_gone_on_with(here, model):
    interrupt(model, "keys", 1)
    Path("keys/secret.lwkey").chmod(0o644)
    with pytest.raises(SecretKeyError, match="other users may read"):
        client_of(model).keygen("keys")
    Path("keys/secret.lwkey").chmod(0o600)
    client_of(model).keygen("keys")
    check(model, "keys")


def test_two_processes_in_one_folder(here, model):
    started = []

    def second(event):
        if not started:
            started.append(event)
            with pytest.raises(OSError, match="another process is writing this file"):
                client_of(model).keygen("keys")

    client_of(model).keygen("keys", on_event=second)
    assert started
    check(model, "keys")


def test_the_command_goes_on_and_says_so(here, model):
    interrupt(model, "keys", 2)
    told = said("keygen", "m.lwclient")
    assert f"went on with keys that were begun: 2 of {len(model.client().spec.manifest.uses)} were there" in told
    assert "wrote keys/: secret.lwkey stays with you" in told
    check(model, "keys")
    interrupt(model, "more", 1)
    facts = json.loads(said("keygen", "m.lwclient", "-o", "more", "--json"))
    assert facts["num_kept"] == 1 and facts["num_evaluation_keys"] == len(model.client().spec.manifest.uses)


def test_the_command_says_how_to_go_on_after_ctrl_c(here, model, monkeypatch):
    write, calls = _core.KeyGenerator.write_evaluation_keys, []

    def interrupted(self, secret, file, on_key):
        def stop(number, *rest):
            on_key(number, *rest)
            calls.append(number)
            if number == 1:
                raise KeyboardInterrupt

        write(self, secret, file, stop)

    monkeypatch.setattr(_core.KeyGenerator, "write_evaluation_keys", interrupted)
    assert "the keys made so far are in keys: the same command goes on with them" in said(
        "keygen", "m.lwclient", status=130
    )
    monkeypatch.undo()
    os.chdir(here)
    assert "2 of" in said("keygen", "m.lwclient")
    check(model, "keys")


def killed_until_done(start_python, rng, kills, seconds):
    """Kill the process that makes keys at random moments, then let it end: what the last one said, and all seeds."""
    secret = None
    for _ in range(kills):
        child = start_python(CHILD)
        assert child.stdout.readline() == "started\n", child.stderr.read()
        time.sleep(rng.uniform(0, seconds))
        child.send_signal(signal.SIGKILL)
        child.wait()
        if "evaluation.lwkeys" in (names("keys") if Path("keys").exists() else ()):
            return None  # it was faster
        if Path("keys/secret.lwkey").exists():
            now = Path("keys/secret.lwkey").read_bytes()
            assert secret in (None, now) and stat.S_IMODE(Path("keys/secret.lwkey").stat().st_mode) == 0o600
            secret = now
    child = start_python(CHILD)
    output, errors = child.communicate()
    assert child.returncode == 0, errors
    assert secret in (None, Path("keys/secret.lwkey").read_bytes())
    return [int(word) for word in output.split()[1:]]


def check_kills(start_python, model, kills, seed):
    rng = np.random.default_rng(seed)
    began = time.monotonic()
    client_of(model).keygen("timed")
    seconds = 0.8 * (time.monotonic() - began) + 0.02
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        killed_until_done(start_python, rng, kills, seconds)
    check(model, "keys")
    stored = _core.ContainerReader("keys/evaluation.lwkeys", kinds=[_core.FileKind.EVALUATION_KEYS]).header["keys"]
    pairs = [(key[4], key[5]) for key in stored]
    assert len(set(pairs)) == len(pairs)


def test_killed_at_random_moments(here, model, start_python):
    check_kills(start_python, model, 3, seed=1)


@pytest.mark.slow
def test_killed_at_many_random_moments(here, model, start_python):
    for seed in range(4):
        shutil.rmtree("keys", ignore_errors=True)
        shutil.rmtree("timed", ignore_errors=True)
        check_kills(start_python, model, 5, seed)
