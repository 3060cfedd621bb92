"""What every command does alike: outputs, standard streams, JSON, times, warnings, exit status."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework import cli
from latticework.commands.command_output import EXIT_STATUS

SMALL = ("--ring-degree", "2048", "--insecure")
PROGRAM = "import latticework as lw\nprint('hello')\n@lw.program\ndef f(x: lw.Secret[4], w):\n    return x * w\n"
DATA = np.linspace(-1, 1, 12).reshape(3, 4)
WEIGHTS = np.array([0.5, -1.0, 2.0, 1.0])
FILES = ("m.lwplan", "m.lwclient", "keys", "in.lwct", "out.lwct")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the files of a whole session."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "f.py").write_text(PROGRAM)
    np.save(folder / "w.npy", WEIGHTS)
    np.save(folder / "data.npy", DATA)
    np.save(folder / "x.npy", DATA[0])
    before = Path.cwd()
    os.chdir(folder)
    try:
        said("compile", "f.py", "--weights", "w.npy", "--calibrate", "data.npy", *SMALL, "-o", "m.lwplan")
        said("keygen", "m.lwclient", "--insecure")
        said("encrypt", "m.lwclient", "x.npy", "-o", "in.lwct", "--insecure")
        said("run", "m.lwplan", "in.lwct", "-k", "keys/evaluation.lwkeys", "-o", "out.lwct")
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    """A folder of a test's own, with links to those files."""
    for name in (*FILES, "f.py", "w.npy", "data.npy", "x.npy"):
        (tmp_path / name).symlink_to(made / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*words, stdin=None):
    return CliRunner().invoke(cli.app, list(map(str, words)), input=stdin)


def said(*words, status=0, stdin=None):
    """What a command says, on both streams."""
    result = done(*words, stdin=stdin)
    assert result.exit_code == status, result.output
    return result.output


# Outputs


COMMANDS = {
    "compile": ("compile", "none.py"),
    "encrypt": ("encrypt", "none.lwclient", "x.npy"),
    "run": ("run", "none.lwplan", "none.lwct"),
    "decrypt": ("decrypt", "none.lwclient", "none.lwct"),
    "measure": ("measure", "--quick"),
    "keygen": ("keygen", "none.lwclient"),
}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "keygen"])
def test_outputs_that_cannot_be_are_refused_before_the_work(tmp_path, monkeypatch, command):
    """No file that these commands read exists: whatever is said was found out before."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.npy").write_bytes(b"kept")
    (tmp_path / "folder.npy").mkdir()
    for output, words in {
        "there.npy": "there.npy exists; --force replaces it, or name another file",
        "nowhere/y.npy": "there is no folder nowhere; make it (mkdir -p nowhere), or name a file in another",
        "there.npy/y.npy": "there.npy is not a folder; name a file in one",
        "folder.npy": "folder.npy: is a folder, which is not replaced by a file",
    }.items():
        assert words in said(*COMMANDS[command], "-o", output, status=3)
    assert (tmp_path / "there.npy").read_bytes() == b"kept"


def test_a_folder_that_cannot_be_written_to_is_refused_before_the_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = os.open

    def open_nothing(path, flags, *rest, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", open_nothing)
    want = "PermissionError: .: no file can be made in this folder (Permission denied); name one in another"
    for words in COMMANDS.values():
        assert want.replace(".:", f"{tmp_path}:" if words[0] == "keygen" else ".:") in said(
            *words, "-o", "new.npy", status=3
        )
    assert not list(tmp_path.iterdir())


def test_force_replaces_but_never_a_key_nor_what_is_read(here):
    for name in ("keys", "m.lwclient"):
        (here / name).unlink()
    lw.load("m.lwplan", allow_insecure=True).client().save("m.lwclient")
    said("keygen", "m.lwclient", "--insecure")
    secret = Path("keys/secret.lwkey").read_bytes()
    encrypt = ("encrypt", "m.lwclient", "x.npy", "--insecure", "--force", "-o")
    assert "keys/secret.lwkey is a secret key, which is never replaced" in said(*encrypt, "keys/secret.lwkey", status=3)
    assert "keys/secret.lwkey exists; whatever was encrypted with that key" in said(
        "keygen", "m.lwclient", "--insecure", "--force", status=3
    )
    assert "m.lwclient is also an input of this command; name another file" in said(*encrypt, "m.lwclient", status=1)
    assert Path("keys/secret.lwkey").read_bytes() == secret
    Path("new.lwct").write_bytes(b"old")
    assert "wrote new.lwct" in said(*encrypt, "new.lwct")
    Path("keys/secret.lwkey").rename("elsewhere")
    assert "keys/evaluation.lwkeys exists; --force replaces it" in said("keygen", "m.lwclient", "--insecure", status=3)
    said("keygen", "m.lwclient", "--insecure", "--force")
    assert stat.S_IMODE(Path("keys").stat().st_mode) == 0o700  # though the umask allows more
    assert stat.S_IMODE(Path("keys/secret.lwkey").stat().st_mode) == 0o600


def test_force_replaces_no_key_that_is_read(here):
    before = {name: Path("keys", name).read_bytes() for name in ("evaluation.lwkeys", "public.lwkey")}
    os.link("keys/evaluation.lwkeys", "other")
    for output, given in (("keys/evaluation.lwkeys",) * 2, ("other", "keys/evaluation.lwkeys")):
        told = said("run", "m.lwplan", "in.lwct", "--force", "-k", given, "-o", output, status=1)
        assert f"UserError: {output} is also an input of this command; name another file" in told
    for given in (("-k", "keys"), ("-k", "keys/public.lwkey"), ()):
        words = ("encrypt", "m.lwclient", "x.npy", "--insecure", "--force", *given, "-o", "keys/public.lwkey")
        assert "keys/public.lwkey is also an input of this command" in said(*words, status=1)
    assert {name: Path("keys", name).read_bytes() for name in before} == before


def test_two_outputs_of_one_name_are_refused(here):
    told = said("compile", "f.py", "-o", "new.lwclient", status=1)
    assert "UserError: new.lwclient: two outputs have this name; name them apart" in told
    assert "writes no single file" in said("compile", "f.py", "-o", "-", status=1)


def test_reports_of_no_form_are_refused_before_the_work(here):
    for words in (("compile", "f.py", "-o", "new.lwplan"), ("explain", "m.lwplan")):
        assert "r.pdf ends in '.pdf'" in said(*words, "--report", "r.pdf", status=1)
    assert not Path("new.lwplan").exists()
    assert "program.py is not a folder; keys are written" in said(
        "keygen", "none", "-o", touched("program.py"), status=3
    )


def touched(name):
    Path(name).touch()
    return name


# Keys


def test_keys_that_are_missing_are_named_with_the_option(here):
    (here / "keys").unlink()
    (here / "g.py").write_text(PROGRAM.replace("x * w", "(x * w).sum()"))
    said("compile", "g.py", "--weights", "w.npy", "--calibrate", "data.npy", *SMALL, "-o", "keyed.lwplan")
    want = "there is no keys here, and no -k was given; give with -k the file, or its folder: "
    for command, file in (
        (
            ("run", "keyed.lwplan", "in.lwct"),
            "evaluation.lwkeys (the evaluation keys, which `latticework keygen` wrote at",
        ),
        (("decrypt", "m.lwclient", "out.lwct", "--insecure"), "secret.lwkey (your secret key, which"),
        (("encrypt", "m.lwclient", "x.npy", "--insecure"), "secret.lwkey (your secret key, which"),
    ):
        assert want + file in said(*command, status=3)
    (here / "keys").mkdir()
    (here / "keys" / "public.lwkey").write_bytes(b"")
    told = said("decrypt", "m.lwclient", "out.lwct", "--insecure", status=3)
    assert "the folder keys holds only public.lwkey; give with -k" in told
    assert "there is no nokeys; give with -k" in said("run", "m.lwplan", "in.lwct", "-k", "nokeys", status=3)


def test_a_folder_without_a_secret_key_encrypts_with_the_public_one(here):
    (here / "public").mkdir()
    (here / "public" / "public.lwkey").write_bytes(Path("keys/public.lwkey").read_bytes())
    said("encrypt", "m.lwclient", "x.npy", "-k", "public", "-o", "new.lwct", "--insecure")
    (here / "public" / "public.lwkey").rename(here / "alice")
    said("encrypt", "m.lwclient", "x.npy", "-k", "alice", "-o", "new.lwct", "--insecure", "--force")
    said("run", "m.lwplan", "new.lwct", "-k", "keys/evaluation.lwkeys", "-o", "y.lwct")
    told = json.loads(done("decrypt", "m.lwclient", "y.lwct", "--insecure", "--json").stdout)
    np.testing.assert_allclose(told["outputs"]["result"]["values"], DATA[0] * WEIGHTS, atol=1e-2)


def test_many_rows_go_through_one_run(here):
    words = ("compile", "f.py", "--weights", "w.npy", "--calibrate", "data.npy", *SMALL, "-o", "b.lwplan")
    assert json.loads(done(*words, "--batch", "3", "--json").stdout)["rows"] == 4
    said("keygen", "b.lwclient", "--insecure", "--output", "b")
    said("encrypt", "b.lwclient", "data.npy", "-k", "b", "-o", "b.lwct", "--insecure")
    assert "3 inputs (not encrypted)" in said("explain", "b.lwct")
    said("run", "b.lwplan", "b.lwct", "-k", "b/evaluation.lwkeys", "-o", "c.lwct")
    said("decrypt", "b.lwclient", "c.lwct", "-k", "b", "-o", "y.npy", "--insecure")
    np.testing.assert_allclose(np.load("y.npy"), DATA * WEIGHTS, atol=1e-2)
    assert "give how many rows one run computes" in said(*words, "--batch", "some", "--force", status=1)


# Standard streams


def test_ciphertexts_and_arrays_go_through_pipes(here):
    sent = done("encrypt", "m.lwclient", "-", "-o", "-", "--insecure", stdin=Path("x.npy").read_bytes())
    assert sent.exit_code == 0 and "wrote standard output" in sent.stderr
    answer = done("run", "m.lwplan", "-", "-k", "keys/evaluation.lwkeys", "-o", "-", stdin=sent.stdout_bytes)
    assert answer.exit_code == 0, answer.stderr
    assert "holds       outputs of f: result" in said("explain", "-", stdin=answer.stdout_bytes)
    result = done("decrypt", "m.lwclient", "-", "-o", "-", "--insecure", stdin=answer.stdout_bytes)
    Path("y.npy").write_bytes(result.stdout_bytes)
    np.testing.assert_allclose(np.load("y.npy"), DATA[0] * WEIGHTS, atol=1e-2)
    named = done("encrypt", "m.lwclient", "x=-", "-o", "-", "--insecure", stdin=Path("x.npy").read_bytes())
    assert named.exit_code == 0 and len(named.stdout_bytes) == len(sent.stdout_bytes)


def test_a_pipe_is_read_like_a_file(here):
    os.mkfifo("pipe")
    with subprocess.Popen(["cp", "in.lwct", "pipe"]):
        said("run", "m.lwplan", "pipe", "-k", "keys/evaluation.lwkeys", "-o", "new.lwct")


def test_standard_input_that_is_empty_or_given_twice(here):
    run = ("run", "m.lwplan", "-", "-k", "keys/evaluation.lwkeys", "-o", "new.lwct")
    assert "-: standard input is empty, or was read already: `-` can be given once" in said(*run, status=1, stdin=b"")
    told = said(*run[:3], "-", *run[3:], status=1, stdin=Path("in.lwct").read_bytes())
    assert "-: standard input is empty, or was read already" in told


def status_of(*words):
    """The exit status of a command that talks to the streams of this process."""
    with pytest.raises(SystemExit) as ended:
        cli.app(list(map(str, words)))
    return ended.value.code


def test_binary_data_is_neither_shown_on_a_terminal_nor_typed_into_one(here, monkeypatch, capsys):
    leader, follower = os.openpty()
    run = ("run", "m.lwplan", "-", "-k", "keys/evaluation.lwkeys", "-o")
    with open(follower, "r+b", buffering=0) as raw, open(leader, "rb"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
        assert status_of(*run, "new.lwct") == 1
        assert "-: standard input is a terminal; pipe a file into this command, or name one" in capsys.readouterr().err
        monkeypatch.setattr(sys, "stdout", sys.stdin)
        assert status_of(*run, "-") == 1
        assert "-o -: standard output is a terminal, and the data are binary; redirect it" in capsys.readouterr().err


def test_a_full_disk_behind_standard_output(here, monkeypatch, capsys):
    for words in (("explain", "m.lwplan"), ("decrypt", "m.lwclient", "out.lwct", "-o", "-", "--insecure")):
        with open("/dev/full", "w") as full:
            monkeypatch.setattr(sys, "stdout", full)
            assert status_of(*words) == 3
        assert capsys.readouterr().err == "OSError: standard output: No space left on device\n"
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert status_of("explain", "m.lwplan", "--json") == 3
    assert json.loads(capsys.readouterr().err)["error"]["message"] == "standard output: No space left on device"


def test_a_reader_that_goes_away_is_no_fault(here, monkeypatch, capsys):
    for words in (("explain", "m.lwplan"), ("explain", "m.lwplan", "--json")):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "w") as nobody:
            monkeypatch.setattr(sys, "stdout", nobody)
            assert status_of(*words) == 141
        assert capsys.readouterr().err == ""


def test_closed_standard_streams(here, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        cli.app(["version"])
    assert ended.value.code == 0
    for words, name in ((("explain", "-"), "stdin"), (("decrypt", "m.lwclient", "out.lwct", "-o", "-"), "stdout")):
        monkeypatch.setattr(sys, "stdin", None)
        with open("errors", "w") as errors:
            monkeypatch.setattr(sys, "stderr", errors)
            assert status_of(*words) == 1
        said_there = Path("errors").read_text()
        assert {"stdin": "standard input is closed", "stdout": "standard output is closed"}[name] in said_there


def test_ctrl_c_ends_a_process_by_its_signal(here, start_python):
    Path("slow.py").write_text("import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    words = ["latticework", "compile", "slow.py", "-o", "new.lwplan"]
    child = start_python(f"import sys\nfrom latticework.cli import main\nsys.argv = {words}\nmain()")
    assert child.stdout.readline() == "started\n"
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert child.returncode == -signal.SIGINT and errors == "Interrupted: no file is left half-written\n"
    assert not Path("new.lwplan").exists()


# JSON, times, warnings


SHARED = {"command", "ok", "warnings"}
KEYS = {
    "compile f.py --weights w.npy --calibrate data.npy --ring-degree 2048 --insecure -o new.lwplan": {
        "plan", "client", "report", "program", "scheme", "ring_degree", "num_evaluation_keys", "rows", "insecure",
        "stages", "changes", "kept",
    },
    "keygen m.lwclient -o new --insecure": {
        "folder", "secret_key", "public_key", "evaluation_keys", "num_evaluation_keys", "num_kept",
    },
    "encrypt m.lwclient x.npy -o new.lwct --insecure": {"output", "bytes", "inputs", "missing"},
    "run m.lwplan in.lwct -k keys/evaluation.lwkeys -o new.lwct": {"output", "bytes", "seconds", "key_traffic"},
    "decrypt m.lwclient out.lwct --insecure": {"output", "outputs"},
    "explain m.lwclient": {
        "file", "kind", "bytes", "format", "parameters", "program", "scheme", "ring_degree", "insecure", "inputs",
        "outputs", "num_evaluation_keys", "report", "interface",
    },
    "explain m.lwplan --report new.json": {
        "file", "kind", "bytes", "format", "parameters", "program", "scheme", "ring_degree", "insecure", "inputs",
        "outputs", "num_evaluation_keys", "report", "interface", "written",
    },
    "explain keys/evaluation.lwkeys": {"file", "kind", "bytes", "format", "parameters", "key_set", "keys"},
    "explain out.lwct": {
        "file", "kind", "bytes", "format", "parameters", "key_set", "role", "program", "extent", "holds", "integers", "interface",
    },
    "version": {"version", "python", "machine"},
    "completion bash": {"shell", "script"},
}  # fmt: skip


@pytest.mark.parametrize("words", KEYS, ids=lambda words: words.split(" -")[0])
def test_json_of_each_command(here, words):
    """One object on standard output, whatever a user's program prints; the keys are promised by the documentation."""
    ended = done(*words.split(), "--json")
    assert ended.exit_code == 0, ended.output
    told = json.loads(ended.stdout)
    assert set(told) == SHARED | KEYS[words] and told["ok"] is True and told["command"] == words.split()[0]
    assert ended.stdout.count("\n") == 1 and ("hello" in ended.stderr) == words.startswith("compile")
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
    missing = [key for key in set(told) if f"`{key}`" not in page]
    assert not missing, "docs/command-line.md does not tell of them"


@pytest.mark.parametrize(
    ("words", "status", "kind", "text"),
    [
        (["run", "m.lwplan", "x.npy", "-k", "keys/evaluation.lwkeys", "-o", "y"], 1, "FormatError", "x.npy"),
        (["run", "m.lwplan", "none", "-k", "keys/evaluation.lwkeys", "-o", "y"], 3, "FileNotFoundError", "none"),
        (["run", "m.lwplan", "in.lwct", "--nonsense"], 2, "UsageError", "No such option: --nonsense"),
        (["rnu"], 2, "UsageError", "Did you mean 'run'?"),
    ],
)
def test_faults_in_json(here, words, status, kind, text):
    ended = done(*words, "--json")
    assert ended.exit_code == status and ended.stderr == ""
    told = json.loads(ended.stdout)
    assert set(told) == {"command", "ok", "error", "warnings"} and told["ok"] is False
    error = told["error"]
    assert (error["kind"], error["exit_status"], error["at"]) == (kind, status, None) and text in error["message"]


def test_a_fault_of_a_program_has_its_line_in_json(here):
    Path("bad.py").write_text("import latticework as lw\n@lw.program\ndef f(x: lw.Secret[4]):\n    return x + 'a'\n")
    told = json.loads(done("compile", "bad.py", "--json").stdout)
    assert told["error"]["at"].endswith("bad.py:4") and "bad.py" not in told["error"]["message"]


def test_times_of_steps(here):
    quiet = done("run", "m.lwplan", "in.lwct", "-k", "keys/evaluation.lwkeys", "-o", "new.lwct")
    assert quiet.stderr == ""
    ended = done("run", "m.lwplan", "in.lwct", "-k", "keys/evaluation.lwkeys", "-o", "new.lwct", "--force", "-v")
    names = [line.split(" s  ")[1] for line in ended.stderr.splitlines()]
    assert names[:2] == ["load plan and keys", "load inputs"] and "encode" in names and names[-1] == "write outputs"
    told = json.loads(done("compile", "f.py", "--weights", "w.npy", *SMALL, "-o", "n.lwplan", "-v", "--json").stdout)
    steps = {step["name"]: step for step in told["steps"]}
    assert {"load the program", "cse", "write the files"} <= set(steps)
    assert all(step["count"] >= 1 and step["seconds"] >= 0 for step in steps.values())


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_and_json(here):
    circuit = "import latticework as lw\n@lw.circuit\ndef f(x: lw.scalar(low=0, high=2000)):\n    return x * x\n"
    Path("wide.py").write_text(circuit)
    words = ("compile", "wide.py", "--scheme", "bfv", "--plain-bits", "20", "--effort", "fast")
    ended = done(*words, "-o", "a.lwplan")
    assert ended.exit_code == 0 and ended.stderr.startswith("RangeWarning: ") and "warn(" not in ended.stderr
    assert "plain_bits" not in ended.stderr and ended.stderr.count("\n") == 1
    told = json.loads(done(*words, "-o", "b.lwplan", "--json").stdout)
    assert told["warnings"] == [ended.stderr.rstrip("\n")]


def test_results_larger_than_the_program_was_made_for_are_marked(here, monkeypatch):
    """Printed or written, text or JSON."""
    decrypt = lw.Client.decrypt

    def unbounded(client, encrypted, **options):
        found = decrypt(client, encrypted, **options)
        found._bound = float("inf")
        return found

    monkeypatch.setattr(lw.Client, "decrypt", unbounded)
    words = ("decrypt", "m.lwclient", "out.lwct", "--insecure")
    for more in ((), ("-o", "y.npy")):
        ended = done(*words, *more)
        assert (
            ended.stderr == "result: LARGER THAN THE PROGRAM WAS MADE FOR, or beside a result that is; may be wrong\n"
        )
        assert "each within" not in ended.stdout
    told = json.loads(done(*words, "--json").stdout)
    assert told["outputs"]["result"]["error_bound"] is None and len(told["warnings"]) == 1


def test_a_fault_of_latticework_is_status_4(here, monkeypatch):
    monkeypatch.setattr(lw.Client, "decrypt", lambda *_: 1 // 0)
    ended = done("decrypt", "m.lwclient", "out.lwct", "--insecure")
    assert ended.exit_code == 4 and "Traceback" in ended.stderr and "please report it" in ended.stderr
    monkeypatch.setattr(lw.Client, "decrypt", lambda *_: (_ for _ in ()).throw(MemoryError()))
    told = said("decrypt", "m.lwclient", "out.lwct", "--insecure", status=3)
    assert "MemoryError: not enough memory (no more is to be had): free some, or give the work less" in told


# Help


def test_help_tells_the_version_and_the_exit_status():
    assert said("--version") == f"{lw.__version__}\n" == said("version")
    told = " ".join(said("--help").replace("│", " ").split())
    assert "<bool>" not in told + said("run", "--help")
    for status, meaning in EXIT_STATUS.items():
        assert f"{status} {meaning}" in told
    for name, command in cli.COMMANDS.items():
        assert f"{name} {command.help}" in told


def test_the_overview_says_what_commands_say_of_themselves():
    """It loads none of them."""
    for name, command in cli.COMMANDS.items():
        assert cli.load_command(name).help == command.help


@pytest.mark.parametrize(
    ("shell", "start"),
    [("bash", "_latticework_completion() {"), ("zsh", "#compdef latticework"), ("fish", "complete --command")],
)
def test_completion_scripts(shell, start):
    where, script = said("completion", shell).split("\n", 1)
    assert where.startswith(f"# latticework completion {shell} > ~/") and script.startswith(start)


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("ke", ["keygen", "keys"]),
        ("run --key", ["--keys", "--key-memory", "--key-readers"]),
        ("explain m.lw", []),
        ("completion z", ["zsh"]),
    ],
)
def test_what_is_completed(monkeypatch, capsys, typed, found):
    words = ["latticework", *typed.split()]
    monkeypatch.setattr(sys, "argv", words[:1])
    for name, value in {"_LATTICEWORK_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().out.split() == found


def test_bash_asks_the_command(here):
    Path("latticework").write_text(f'#!/bin/sh\nexec {sys.executable} -m latticework "$@"\n')
    Path("latticework").chmod(0o755)
    typed = 'COMP_WORDS=(latticework keyg); COMP_CWORD=1; _latticework_completion latticework; echo "${COMPREPLY[@]}"'
    command = ["bash", "--norc", "-c", f"{said('completion', 'bash')}\n{typed}"]
    paths = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}"}
    told = subprocess.run(command, capture_output=True, text=True, env=paths, check=False)
    assert (told.stdout, told.stderr) == ("keygen\n", "")
