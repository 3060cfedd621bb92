"""Files under construction: nothing is left of them however a process ends, and only files are replaced."""

import fcntl
import os
import signal
import socket
import stat
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from latticework import _core, cli

LEFT = ".latticework-0123456789abcdef.tmp"
WAITING = """
    import sys, time
    from latticework import _core
    writers = [_core.ContainerWriter(path, 2, bytes(32), {}, [(1, 3_000_000)]) for path in sys.argv[1:]]
    for writer in writers:
        writer.write(bytes(1_000_000))
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_a_process_that_is_ended_leaves_nothing(tmp_path, ending, start_python):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    writer = start_python(textwrap.dedent(WAITING), str(path), str(tmp_path / "new"))
    assert writer.stdout.readline() == "ready\n"
    writer.send_signal(ending)
    assert writer.wait(timeout=20) == -ending
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == b"old"


def targets(folder):
    """Whatever is not a regular file, by what messages call it."""
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("file")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
    return {"pipe": "a pipe", "link": "a symbolic link", "dangling": "a symbolic link", "folder": "a folder",
            "socket": "a socket"}  # fmt: skip


@pytest.mark.parametrize("unnamed", [True, False])
def test_only_regular_files_are_replaced(tmp_path, monkeypatch, unnamed):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_bytes(b"kept")
    kinds = targets(tmp_path)
    before = {p.name: p.lstat() for p in tmp_path.iterdir()}
    for name, kind in kinds.items():
        with pytest.raises(OSError, match=f"{name}: is {kind}, which is not replaced by a file; name a file"):
            _core.write_file_atomic(name, b"new", 0o600, unnamed)
        with pytest.raises(OSError, match=f"is {kind}"):
            _core.write_container(name, 2, bytes(32), {}, [])
    with pytest.raises(OSError, match="/dev/null: is a device"):
        _core.write_file_atomic("/dev/null", b"new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert {p.name: p.lstat() for p in tmp_path.iterdir()} == before
    assert (tmp_path / "file").read_bytes() == b"kept"


def nameless_files():
    """The open files of this process that have no name (yet), by inode."""
    opened = [os.stat(fd) for fd in map(int, os.listdir("/dev/fd")) if os.path.lexists(f"/dev/fd/{fd}")]
    return {s.st_ino: s for s in opened if stat.S_ISREG(s.st_mode) and s.st_nlink == 0 and s.st_size}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_secret_key_is_private_while_it_is_written_and_replaces_nothing(tmp_path, mask):
    path = tmp_path / "secret.lwkey"
    others = nameless_files()  # that tests before this one have left open
    before = os.umask(mask)
    try:
        writer, late = (_core.ContainerWriter(path, 3, bytes(32), {}, [(1, 4)]) for _ in range(2))
    finally:
        os.umask(before)
    ours = [status for inode, status in nameless_files().items() if inode not in others]
    assert len(ours) == 2 and all(stat.S_IMODE(status.st_mode) == 0o600 for status in ours)
    for one in (writer, late):
        one.write(b"key1")
    writer.commit()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = path.read_bytes()
    with pytest.raises(FileExistsError, match="secret.lwkey: is there already"):
        late.commit()
    del late
    with pytest.raises(FileExistsError, match="secret.lwkey: is there already"):
        _core.ContainerWriter(path, 3, bytes(32), {}, [(1, 4)])
    assert path.read_bytes() == kept and list(tmp_path.iterdir()) == [path]


def test_a_target_that_became_a_link_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "file"
    writer = _core.ContainerWriter(path, 2, bytes(32), {}, [(1, 4)])
    writer.write(b"data")
    path.symlink_to("elsewhere")
    with pytest.raises(FileExistsError, match="is a symbolic link"):
        writer.commit()
    del writer
    assert [p.name for p in tmp_path.iterdir()] == ["file"] and path.is_symlink()


@pytest.mark.parametrize("unnamed", [True, False])
def test_new_and_replaced_files_have_their_bytes_and_mode(tmp_path, unnamed):
    path = tmp_path / "file"
    for content in (b"first", b"second", b""):
        _core.write_file_atomic(path, content, 0o600, unnamed)
        assert path.read_bytes() == content and stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_nlink == 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_was_left_is_removed_and_named(tmp_path):
    for name in (LEFT, LEFT.replace("0", "f"), ".latticework-short.tmp", f"{LEFT}.kept", "other.tmp"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / LEFT.replace("0", "e")).mkdir()
    with (tmp_path / LEFT).open() as written:
        fcntl.flock(written, fcntl.LOCK_EX)
        assert _core.remove_leftovers(tmp_path) == [LEFT.replace("0", "f")]
    assert len(list(tmp_path.iterdir())) == 5
    assert _core.remove_leftovers(tmp_path) == [LEFT]
    assert _core.remove_leftovers(tmp_path / "nowhere") == []


def test_a_file_being_written_under_a_name_is_not_swept(tmp_path, monkeypatch):
    """The file under construction is locked: its own name is the only one a sweep could find."""
    path = tmp_path / "file"
    writer = _core.ContainerWriter(path, 2, bytes(32), {}, [(1, 4)])
    assert _core.remove_leftovers(tmp_path) == []
    writer.write(b"data")
    writer.commit()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_commands_remove_what_was_left_and_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(LEFT).write_bytes(b"half")
    Path("program.py").write_text("import latticework as lw\n@lw.program\ndef f(x: lw.Secret[4]):\n    return x + x\n")
    result = CliRunner().invoke(cli.app, ["compile", "program.py", "--ring-degree", "1024", "--insecure"])
    assert f"removed {LEFT}, which a command that was ended" in result.output and not Path(LEFT).exists()


def test_outputs_that_are_not_files_end_a_command_before_its_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.npy")
    os.mkfifo("pipe.html")
    for arguments in (
        ["compile", "none.py", "-o", "pipe.npy"],
        ["compile", "none.py", "--report", "pipe.html"],
        ["run", "none.lwplan", "none.lwct", "-o", "pipe.npy"],
        ["decrypt", "none.lwclient", "none.lwct", "-o", "pipe.npy"],
        ["explain", "none.lwplan", "--html", "pipe.html"],
        ["measure", "-o", "pipe.npy"],
    ):
        result = CliRunner().invoke(cli.app, arguments)
        assert result.exit_code == 3 and f"{arguments[-1]}: is a pipe" in result.output
        assert stat.S_ISFIFO(Path(arguments[-1]).stat().st_mode)
