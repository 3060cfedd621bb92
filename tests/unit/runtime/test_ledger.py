"""The ledger of refusals: what counts, what survives a killed process, a full disk and a lost file."""

import os
import signal
import subprocess
import sys
import threading
import zlib

import pytest

from latticework import _core
from latticework.errors import (
    DecryptionError,
    DtypeError,
    FormatError,
    ParameterMismatchError,
    RangeError,
    SecurityError,
)
from latticework.runtime.ledger import records
from latticework.runtime.ledger.refused_results import (
    ALLOWED_REFUSALS,
    RefusalLedger,
    ledger_beside,
    refuse_existing_ledger,
)

KEY_SET = bytes(range(16))
HEAD = f"latticework ledger 1 of key set {KEY_SET.hex()}\n"


def line(kind, number):
    """A record, from the description of the format alone."""
    return f"{kind} {number} {zlib.crc32(f'{KEY_SET.hex()} {kind} {number}'.encode()):08x}\n"


def text(*kinds):
    return HEAD + "".join(line(kind, number) for number, kind in enumerate(kinds, 1))


def decrypt(ledger, *, fails=False, allow_refusals=None):
    """One decryption, whose verdict is given."""
    with ledger.decrypting("decrypt", allow_refusals):
        if fails:
            raise DecryptionError("refused")


def refuse(ledger, **options):
    with pytest.raises(DecryptionError) as caught:
        decrypt(ledger, fails=True, **options)
    return caught.value.message


def count(path):
    """Refusals in a file, as a process that comes new to it counts them."""
    with records.LedgerFile(path, KEY_SET).lock() as (counts, _):
        return counts.refusals


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "secret.lwkey.ledger"
    RefusalLedger(KEY_SET).write(found)
    return found


@pytest.mark.parametrize("is_file", [False, True])
def test_a_key_set_decrypts_no_more_after_so_many_refusals(path, is_file):
    ledger = RefusalLedger(KEY_SET, path if is_file else None)
    for number in range(1, ALLOWED_REFUSALS + 1):
        for _ in range(3):
            decrypt(ledger)
        said = refuse(ledger)
        assert f"Refusal {number} of {ALLOWED_REFUSALS}" in said and "let nobody else see it" in said
        assert (str(path) in said) == is_file and ("counted in memory" in said) != is_file
    for fails in (False, True):
        with pytest.raises(SecurityError, match=r"decrypts no more.*make new keys; allow_refusals=8 goes on") as caught:
            decrypt(ledger, fails=fails)
        assert str(path if is_file else "counted in memory") in caught.value.message
    decrypt(ledger, allow_refusals=5)
    assert "Refusal 5 of 5" in refuse(ledger, allow_refusals=5)
    with pytest.raises(SecurityError, match="5 results"):
        decrypt(ledger, allow_refusals=5)


def test_the_file_is_what_its_description_says(path):
    ledger = RefusalLedger(KEY_SET, path)
    assert path.read_text() == HEAD and os.stat(path).st_mode & 0o777 == 0o600
    decrypt(ledger)
    assert path.read_text() == text("begun", "answered")
    refuse(ledger)
    decrypt(ledger)
    assert path.read_text() == text("begun", "answered", "begun", "begun", "answered")


@pytest.mark.parametrize(
    ("kinds", "tail", "refusals"),
    [
        ((), "", 0), (("begun", "answered"), "", 0), (("begun",), "", 1), (("begun", "begun", "answered"), "", 1),
        (("begun", "answered"), "b", 1), ((), line("begun", 1)[:-1], 1), (("begun",), line("answered", 2)[:5], 2),
        (("begun", "answered"), "\0" * 50, 1), ((), "nonsense\n", 1), ((), "\n\n", 2),
        ((), line("answered", 1), 1),  # of nothing
        (("begun", "answered"), line("begun", 2) + line("answered", 3), 2),  # lines that were taken out
        (("begun",), line("answered", 2).replace("answered", "Answered"), 2), (("begun",), "\u00e9\n", 2),
    ],
)  # fmt: skip
def test_what_is_no_record_counts_as_a_refusal(path, kinds, tail, refusals):
    path.write_text(text(*kinds) + tail, encoding="utf-8")
    assert count(path) == refusals
    ledger = RefusalLedger(KEY_SET, path)
    for _ in range(2):  # and still does when others follow
        decrypt(ledger, allow_refusals=9)
        assert count(path) == refusals
    assert path.read_text().startswith(text(*kinds) + tail)  # nothing is taken back
    refuse(ledger, allow_refusals=9)
    assert count(path) == refusals + 1


def test_every_cut_of_a_ledger_counts_no_fewer_than_its_whole_lines(path):
    whole = text("begun", "answered", "begun", "begun", "answered", "begun").encode()
    expected = {}
    for end in range(len(HEAD), len(whole) + 1):
        path.write_bytes(whole[:end])
        lines = whole[len(HEAD) : end].split(b"\n")
        begun = sum(each.startswith(b"begun") for each in lines[:-1])
        answered = sum(each.startswith(b"answered") for each in lines[:-1])
        expected[end] = begun - answered + bool(lines[-1])
        assert count(path) == expected[end]
    assert len(set(expected.values())) > 2


DIES = """
import os, signal, sys
from latticework.runtime.ledger.refused_results import RefusalLedger
ledger = RefusalLedger(bytes(range(16)), sys.argv[1])
with ledger.decrypting("decrypt"):
    if sys.argv[2] == "write":
        os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), b"answ")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("when", "refusals"), [("decrypt", 1), ("write", 2)])
def test_a_process_that_is_killed_leaves_a_refusal(path, start_python, when, refusals):
    child = start_python(DIES, str(path), when)
    assert child.wait() == -signal.SIGKILL
    assert count(path) == refusals
    decrypt(RefusalLedger(KEY_SET, path))  # its lock is gone with it
    assert count(path) == refusals


COUNTS = """
import sys
from latticework.errors import DecryptionError, SecurityError
from latticework.runtime.ledger.refused_results import RefusalLedger
ledger, answers = RefusalLedger(bytes(range(16)), sys.argv[1]), []
for i in range(20):
    try:
        with ledger.decrypting("decrypt", 12):
            if i % 2:
                raise DecryptionError("refused")
    except DecryptionError:
        print("refused")
    except SecurityError:
        print("limit")
"""


def test_processes_and_threads_share_one_count(path, start_python):
    children = [start_python(COUNTS, str(path)) for _ in range(3)]
    mine, seen = RefusalLedger(KEY_SET, path), []

    def use():
        for _ in range(5):
            try:
                decrypt(mine, fails=True, allow_refusals=12)
            except DecryptionError:
                seen.append("refused")
            except SecurityError:
                seen.append("limit")

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen += [answer for child in children for answer in child.communicate()[0].split()]
    assert seen.count("refused") == 12 == count(path) and "limit" in seen


def test_a_decryption_waits_for_another_of_the_key_set(path):
    order, begun = [], threading.Event()

    def second():
        begun.wait()
        decrypt(RefusalLedger(KEY_SET, path))
        order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with RefusalLedger(KEY_SET, path).decrypting("decrypt"):
        begun.set()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"] and count(path) == 0


def test_where_nothing_can_be_recorded_nothing_is_decrypted(path, monkeypatch):
    def full(fd, data):
        raise OSError(28, "No space left on device")

    ledger = RefusalLedger(KEY_SET, path)
    monkeypatch.setattr(records.os, "write", full)
    with (
        pytest.raises(OSError, match=r"refusals cannot be recorded here \(No space left on device\), so no result"),
        ledger.decrypting("decrypt"),
    ):
        pytest.fail("it was decrypted")


def test_a_disk_that_fills_up_in_a_line_leaves_a_refusal(path, monkeypatch):
    def cut(fd, data):
        os.write(fd, data[:3])
        raise OSError(28, "No space left on device")

    ledger = RefusalLedger(KEY_SET, path)
    with monkeypatch.context() as patch:
        patch.setattr(records, "_write", cut)
        with pytest.raises(OSError, match="No space left"):
            decrypt(ledger)
    assert path.read_text() == HEAD + "beg" and count(path) == 1
    decrypt(ledger)
    assert path.read_text() == HEAD + "beg?\n" + line("begun", 2) + line("answered", 3) and count(path) == 1


def test_a_file_that_cannot_be_written_is_refused(path, monkeypatch):
    def read_only(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(records.os, "open", read_only)
    with (
        pytest.raises(OSError, match=r"cannot be recorded here \(Read-only file system\), so no .*ledger=\)"),
        RefusalLedger(KEY_SET, path).decrypting("decrypt"),
    ):
        pytest.fail("it was decrypted")


def test_a_ledger_that_is_missing_is_begun_anew_only_knowingly(path):
    ledger = RefusalLedger(KEY_SET, path)
    refuse(ledger)
    path.unlink()
    for user in (ledger, RefusalLedger(KEY_SET, path)):
        with pytest.raises(SecurityError, match=r"is missing.*put it back.*allow_refusals=4 begins one knowingly"):
            decrypt(user)
        assert not path.exists()
    decrypt(ledger, allow_refusals=4)
    assert count(path) == 1  # which this process knew of
    path.unlink()
    decrypt(RefusalLedger(KEY_SET, path), allow_refusals=4)
    assert count(path) == 0


@pytest.mark.parametrize("change", ["cut", "replaced"])
def test_a_ledger_that_changed_under_a_process_is_refused(path, change):
    ledger = RefusalLedger(KEY_SET, path)
    refuse(ledger)
    if change == "cut":
        os.truncate(path, len(HEAD))
    else:
        (path.parent / "other").write_bytes(path.read_bytes())
        os.chmod(path.parent / "other", 0o600)
        os.replace(path.parent / "other", path)
    with pytest.raises(FormatError, match="it was replaced or cut"):
        decrypt(ledger)


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", FormatError, "its first line is missing"),
        (HEAD[:-1], FormatError, "its first line is missing"),
        ("something else\n", FormatError, "it begins with 'something else'"),
        (HEAD.replace("ledger 1", "ledger 2"), FormatError, "a version that this one does not know"),
        (
            HEAD.replace(KEY_SET.hex(), "ff" * 16),
            ParameterMismatchError,
            "ledger of key set f{16}, .* 0001020304050607",
        ),
        (HEAD + line("shared", 1), FormatError, "a record of type 'shared'"),
    ],
)
def test_other_files_are_refused(path, content, error, message):
    path.write_text(content)
    with pytest.raises(error, match=message):
        decrypt(RefusalLedger(KEY_SET, path), allow_refusals=100)


def test_what_is_no_file_of_its_owner_is_refused(path, tmp_path):
    path.chmod(0o622)
    with pytest.raises(SecurityError, match="other users may write to this ledger"):
        decrypt(RefusalLedger(KEY_SET, path))
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="cannot be recorded here"):
        decrypt(RefusalLedger(KEY_SET, tmp_path / "link"))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="is no file"):
        decrypt(RefusalLedger(KEY_SET, tmp_path / "pipe"))
    with pytest.raises(OSError, match="cannot be recorded here"):
        decrypt(RefusalLedger(KEY_SET, tmp_path))


def test_what_was_counted_in_memory_goes_to_the_file(tmp_path):
    ledger, first, second = RefusalLedger(KEY_SET), tmp_path / "a", tmp_path / "b"
    refuse(ledger)
    ledger.write(first)
    refuse(ledger)
    assert count(first) == 2
    ledger.write(second)  # a copy begins with what was counted, and counts for itself
    refuse(ledger)
    assert (count(first), count(second)) == (3, 2)
    with pytest.raises(FileExistsError):
        RefusalLedger(KEY_SET).write(first)
    with pytest.raises(FileExistsError, match="the ledger of a key that was here"):
        refuse_existing_ledger(first)
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]
    assert ledger_beside(first).name == "a.ledger"


@pytest.mark.parametrize(("given", "error"), [(0, RangeError), (-1, RangeError), (2.0, DtypeError), (True, DtypeError)])
def test_numbers_of_refusals(given, error):
    with pytest.raises(error, match="allow_refusals"):
        decrypt(RefusalLedger(KEY_SET), allow_refusals=given)


def test_a_long_ledger_is_read_once(path, monkeypatch):
    path.write_text(text(*["begun", "answered"] * 500))
    ledger, read = RefusalLedger(KEY_SET, path), []
    pread = os.pread
    monkeypatch.setattr(records.os, "pread", lambda fd, size, at: read.append(size) or pread(fd, size, at))
    for _ in range(3):
        decrypt(ledger)
    assert read[0] > 10_000 and read[1:] == [0, 0]


def test_an_unfinished_ledger_is_swept_with_other_leftovers(tmp_path):
    script = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom latticework.runtime.ledger import records\n"
        "records.os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"records.LedgerFile(Path(sys.argv[1]), bytes({list(KEY_SET)})).create()\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "x")], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL and not (tmp_path / "x").exists()
    assert len(_core.remove_leftovers(tmp_path)) == 1 and not list(tmp_path.iterdir())
