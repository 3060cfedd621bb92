"""Files that are damaged, of another kind, or cannot be written: typed errors that name the file; nothing half-done."""

import copy
import errno
import json
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from e2e_cases import uniform

import latticework as lw
from latticework.errors import FormatError, MissingKeyError, SecretKeyError

MUTATIONS = Path(__file__).with_name("mutations.py")
KINDS = ["plan", "client", "secret key", "public key", "evaluation keys", "inputs"]
SHOWN = {"plan": r"a plan \(server file\)", "client": "a client file", "secret key": "a secret key",
         "public key": "a public key", "evaluation keys": "evaluation keys", "inputs": "ciphertexts",
         "outputs": "ciphertexts"}  # fmt: skip


# Altered files


def outcomes(files, kind, mode):
    arguments = [kind, files["plan"], files["evaluation keys"], files[kind], mode]
    done = subprocess.run(
        [sys.executable, str(MUTATIONS), *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{kind} {mode}: status {done.returncode}\n{done.stderr}"
    return Counter(json.loads(done.stdout))


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncated_or_altered_file_is_refused(files, kind):
    counted = outcomes(files, kind, "bytes")
    assert set(counted) == {"FormatError"} and counted.total() > 250, counted


@pytest.mark.parametrize("kind", KINDS)
def test_altered_files_with_right_hashes_do_no_harm(files, kind):
    """What is accepted is in range and can be used; what is not gets an error of ours."""
    counted = outcomes(files, kind, "fixed")
    assert not [name for name in counted if name.startswith("BAD")], counted
    assert counted["FormatError"] > 50 and counted.total() > 200


def test_altered_files_are_read_as_one_error_that_helps(files, tmp_path):
    data = files["plan"].read_bytes()
    for content, message in (
        (b"", "the file has 0; the file is truncated or was altered, copy it again"),
        (data[:-1], rf"announces {len(data)} bytes, the file has {len(data) - 1}; the file is truncated"),
        (b"PK\x03\x04" + data, "this is not a latticework file"),
        (data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], "section 0 .* does not match its hash; the file is truncated"),
    ):
        path = tmp_path / "altered.lwplan"
        path.write_bytes(content)
        with pytest.raises(FormatError, match=rf"^{re.escape(str(path))}: .*{message}"):
            lw.load(path)


# Files of another kind


def readers(deployed, files):
    client = deployed.model.client(threads=1)
    return {
        "lw.load": (lw.load, {"plan"}),
        "Client.load": (lambda path: lw.Client.load(path, allow_insecure=True), {"client", "plan"}),
        "Server.load, plan": (lambda path: lw.Server.load(path, files["evaluation keys"]), {"plan"}),
        "Server.load, keys": (lambda path: lw.Server.load(files["plan"], path), {"evaluation keys"}),
        "load_keys": (client.load_keys, {"secret key"}),
        "load_public_key": (client.load_public_key, {"public key"}),
        "Client.load_encrypted": (client.load_encrypted, {"inputs", "outputs"}),
        "Server.load_encrypted": (deployed.server.load_encrypted, {"inputs", "outputs"}),
    }


@pytest.mark.parametrize("given", [*KINDS, "outputs"])
@pytest.mark.parametrize("reader", range(8))
def test_files_of_another_kind(deployed, files, reader, given):
    name, (read, accepted) = list(readers(deployed, files).items())[reader]
    if given in accepted:
        read(files[given])
        return
    with pytest.raises((FormatError, SecretKeyError)) as caught:
        read(files[given])
    text = str(caught.value)
    assert str(files[given]) in text, name
    if given == "secret key" and isinstance(caught.value, SecretKeyError):
        assert "must never" in text
    else:
        assert re.search(rf"expected .*, got {SHOWN[given]}; check which file goes where", text)


@pytest.mark.parametrize("reader", range(8))
def test_files_that_are_not_there_or_not_files(deployed, files, reader, tmp_path):
    _, (read, _) = list(readers(deployed, files).items())[reader]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read(tmp_path / "nowhere")
    with pytest.raises((IsADirectoryError, FileNotFoundError), match=re.escape(str(tmp_path))):
        read(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="not a regular file"):
        read(fifo)
    wanted = r"PathLike|expected a file .* got NoneType|needs \d+ evaluation keys?, and got none"
    with pytest.raises((TypeError, FormatError, MissingKeyError), match=wanted):
        read(None)


def test_bytes_in_memory(deployed):
    for data in (b"", b"hello", bytes(4096)):
        with pytest.raises(FormatError, match=r"^[^ ]+: bytes in memory: "):
            deployed.server.load_encrypted(data)


def test_bytes_of_any_kind_are_read(deployed):
    data = deployed.client.encrypt(uniform(4)).to_bytes()
    for kind in (bytes, bytearray, memoryview):
        assert deployed.server.load_encrypted(kind(data)).to_bytes() == data
    for wrong in (None, 5, deployed.client.encrypt(uniform(4))):
        message = f"expected a file of ciphertexts or its bytes, got {type(wrong).__name__}: give either"
        with pytest.raises(FormatError, match=message):
            deployed.server.load_encrypted(wrong)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_clients_and_servers_are_not_pickled(deployed, copied):
    with pytest.raises(TypeError, match=r"a Client is not pickled or copied; .* Client.load\(path\) and load_keys\("):
        copied(deployed.client)
    with pytest.raises(TypeError, match=r"a Server is not pickled or copied; .* Server.load\(plan, keys\)"):
        copied(deployed.server)


# Targets that cannot be written


def writers(deployed):
    inputs = deployed.client.encrypt(uniform(4))
    return {
        "Model.save": deployed.model.save,
        "Client.save": deployed.client.save,
        "Encrypted.save": inputs.save,
    }


def names_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@pytest.mark.parametrize("writer", range(3))
def test_targets_that_cannot_be_written(deployed, tmp_path, writer):
    save = list(writers(deployed).values())[writer]
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"precious")
    before = names_in(tmp_path)
    cases = {
        "folder": (IsADirectoryError, "folder: is a folder"),
        "missing/target": (FileNotFoundError, "missing/target: cannot create a file in its folder"),
        "file/target": (NotADirectoryError, "file/target: cannot create a file in its folder"),
    }
    for target, (kind, message) in cases.items():
        with pytest.raises(kind, match=message):
            save(tmp_path / target)
    assert names_in(tmp_path) == before
    save(tmp_path / "file")  # a file is replaced as a whole
    assert (tmp_path / "file").read_bytes()[:8] == b"LATTICE\n" and names_in(tmp_path) == before


def test_key_folders_that_cannot_be_written(deployed, tmp_path):
    (tmp_path / "file").write_bytes(b"precious")
    for save in (deployed.keys.save, deployed.keys.public().save):
        for target in ("file", "file/keys", "file/keys/mine"):
            with pytest.raises(NotADirectoryError, match=r"/file is not a folder; keys are written into one: name an"):
                save(tmp_path / target)
    assert names_in(tmp_path) == ["file"] and (tmp_path / "file").read_bytes() == b"precious"


def test_of_two_who_write_keys_at_once_one_is_refused(deployed, tmp_path, monkeypatch):
    deployed.keys.save(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)}
    monkeypatch.setattr(
        "latticework.runtime.keys.key_sets.refuse_existing_key", lambda folder: None
    )  # seen before it was there
    with pytest.raises(FileExistsError, match=r"secret\.lwkey"):
        deployed.model.client().keygen().save(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in names_in(tmp_path)} == before


def test_keys_that_did_not_fit_can_be_saved_again(deployed, tmp_path):
    (tmp_path / "keys" / "evaluation.lwkeys").mkdir(parents=True)
    with pytest.raises(OSError, match=r"evaluation\.lwkeys"):
        deployed.keys.save(tmp_path / "keys")
    assert names_in(tmp_path / "keys") == ["evaluation.lwkeys"]
    (tmp_path / "keys" / "evaluation.lwkeys").rmdir()
    deployed.keys.save(tmp_path / "keys")
    assert len(names_in(tmp_path / "keys")) == 3


def test_unwritable_folder(deployed):
    """As /proc, where nobody may create files, root included."""
    for save in writers(deployed).values():
        with pytest.raises(OSError, match=r"/proc/target: cannot create a file in its folder") as caught:
            save("/proc/target")
        assert caught.value.errno in (errno.ENOENT, errno.EACCES, errno.EPERM)
    with pytest.raises(OSError, match="/proc"):
        deployed.keys.save("/proc/keys")


@contextmanager
def small_files():
    """No file may grow beyond 4096 bytes: as on a disk that is full. Not for a whole test: pytest writes files too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_leaves_what_was_there(deployed, tmp_path):
    for name, save in writers(deployed).items():
        target = tmp_path / name
        target.write_bytes(b"precious")
        with small_files(), pytest.raises(OSError, match=name):
            save(target)
        assert target.read_bytes() == b"precious"
    with small_files(), pytest.raises(OSError, match=r"secret\.lwkey"):
        deployed.keys.save(tmp_path / "keys")
    assert names_in(tmp_path) == sorted([*writers(deployed), "keys"])


def test_saving_over_a_file_in_use(deployed, files, tmp_path):
    """A reader of the old file keeps it; a new one sees the new file."""
    path = tmp_path / "program.lwplan"
    deployed.model.save(path)
    before = lw.load(path)
    deployed.model.save(path)
    for model in (before, lw.load(path)):
        np.testing.assert_allclose(model.simulate(np.ones(4))[0], deployed.model.simulate(np.ones(4))[0])
