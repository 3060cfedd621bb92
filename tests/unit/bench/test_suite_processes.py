"""The suite's driver: what a stage's process takes, and that no secret key is within reach of a server's stage."""

import json
import sys

import numpy as np
import pytest

import latticework as lw
from bench.suite.driver import sizes_of
from bench.suite.figures import PUBLISHED, TARGETS
from bench.suite.mnist_workload import Mnist
from bench.suite.server_place import ServerPlace, without_secrets
from bench.suite.similarity_workload import Similarity
from bench.suite.stage_process import StageError, read_told, run_stage, work_seconds
from latticework.errors import SecretKeyError, UserError


def test_a_stage_is_measured_by_itself(tmp_path):
    own = b"x" * 300_000_000  # of this process, which begins the stage
    usage = run_stage([sys.executable, "-c", "sum(range(3_000_000)); print('{\"a\": 1}')"], tmp_path)
    assert len(own) > usage.peak_bytes > 5_000_000
    assert 0 < usage.processor_seconds < usage.seconds + 0.1
    assert usage.told == {"a": 1}
    assert usage.work_seconds is None


def test_what_a_stage_starts_counts(tmp_path):
    code = "b = b'x' * 200_000_000; sum(range(2_000_000))"
    usage = run_stage(["sh", "-c", f'{sys.executable} -c "{code}"; exit 0'], tmp_path)
    assert usage.peak_bytes > 200_000_000
    assert usage.processor_seconds > 0.01


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["sh", "-c", "echo went wrong >&2; exit 3"], "sh ended with status 3, and said: went wrong"),
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "was ended by signal 9, and said: nothing"),
        (
            ["sh", "-c", 'echo \'{"error": {"kind": "RangeError", "message": "is 2"}}\'; exit 1'],
            "said: RangeError: is 2",
        ),
        (["no-such-stage"], "no-such-stage in .* could not be started"),
    ],
)
def test_a_stage_that_fails_says_why(tmp_path, command, says):
    with pytest.raises(StageError, match=says):
        run_stage(command, tmp_path)


def test_seconds_without_start_are_those_that_commands_tell_of():
    steps = [
        {"name": name, "seconds": 1.0} for name in ("load plan and keys", "rotate", "load inputs", "write outputs")
    ]
    assert work_seconds({"seconds": 10.0, "steps": steps}) == 13.0
    assert work_seconds({"steps": steps}) == 4.0
    assert work_seconds({"steps": []}) is None
    assert read_told('noise\n{"a": 1}\nmore') == {"a": 1}
    assert read_told("noise") == {}


@lw.program
def double(x: lw.Secret[4]):
    return 2 * x


@pytest.fixture
def places(tmp_path):
    """The client's folder with keys, a sent file and a submission; and the server's."""
    client = tmp_path / "client"
    (client / "submission" / "build").mkdir(parents=True)
    (client / "io" / "sent").mkdir(parents=True)
    lw.compile(double, ring_degree=1024, insecure=True).client(allow_insecure=True).keygen(client / "io" / "secret_key")
    (client / "io" / "sent" / "data").write_text("sent")
    (client / "submission" / "build" / "stage").write_text("stage")
    return client, ServerPlace(client, tmp_path / "server")


def test_a_server_sees_what_is_sent_and_nothing_else(places):
    client, server = places
    server.send(["io/sent", "io/not there"])
    seen = {str(file.relative_to(server.root)) for file in server.root.rglob("*") if file.is_file()}
    assert seen == {"submission/build/stage", "io/sent/data"}
    listed = run_stage(["sh", "-c", "cat io/../io/sent/data && ! ls io/secret_key && ! ls ../io"], server.root)
    assert listed.told == {}
    (server.root / "io" / "result").mkdir()
    (server.root / "io" / "result" / "data").write_text("result")
    server.fetch("io/result")
    assert (client / "io" / "result" / "data").read_text() == "result"


@pytest.mark.parametrize("name", ["secret.lwkey", "evaluation.lwkeys"])
def test_a_secret_key_within_reach_of_a_server_is_refused_under_any_name(places, name):
    client, server = places
    (client / "io" / "sent" / name).write_bytes((client / "io" / "secret_key" / "secret.lwkey").read_bytes())
    with pytest.raises(SecretKeyError, match=f"{name} is a secret key, within reach of the server; keep it out"):
        server.send(["io/sent"])


def test_no_secret_key_is_anywhere_while_a_server_works(places):
    client, _ = places
    secret, other = client / "io" / "secret_key" / "secret.lwkey", client / "io" / "secret_key" / "evaluation.lwkeys"
    data = secret.read_bytes()
    with pytest.raises(ZeroDivisionError), without_secrets(client):
        assert not secret.exists() and other.exists()
        raise ZeroDivisionError
    assert secret.read_bytes() == data
    assert secret.stat().st_mode & 0o777 == 0o600


def test_a_link_to_the_client_is_refused(places):
    client, server = places
    (client / "io" / "sent" / "link").symlink_to(client / "io" / "secret_key")
    with pytest.raises(SecretKeyError, match=r"link to .*secret_key, outside of the server's folder"):
        server.send(["io/sent"])


def test_results_that_are_not_there_leave_no_old_ones(places):
    client, server = places
    (client / "io" / "result").mkdir()
    (client / "io" / "result" / "old").write_text("of an earlier run")
    server.fetch("io/result")
    assert not (client / "io" / "result").exists()


def test_sizes_by_name():
    assert [size.count for size in sizes_of(Similarity(), "small,toy")] == [50_000, 1_000]
    assert [size.name for size in sizes_of(Similarity(), "")] == ["toy"]
    with pytest.raises(UserError, match="no size 'huge'; give one of toy, small"):
        sizes_of(Similarity(), "toy,huge")


def test_published_figures_and_targets_are_of_sizes_that_there_are():
    names = {(workload.name, name) for workload in (Mnist, Similarity) for name in workload.sizes}
    assert set(TARGETS) == names
    assert set(PUBLISHED) <= names
    assert json.dumps([list(TARGETS.values()), list(PUBLISHED.values())])


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"pictures": np.zeros(3)}, "digits.npz does not hold images and labels .*images"),
        (
            {"images": np.zeros((5, 28, 28)), "labels": np.zeros(5)},
            r"holds \(5, 784\) pixels and \(5,\) labels; give more",
        ),
        ({"images": np.zeros((8001, 2, 2)), "labels": np.zeros(8001)}, r"holds \(8001, 4\) pixels"),
        ({"images": np.zeros((8001, 784)), "labels": np.zeros(8000)}, r"\(8000,\) labels"),
    ],
)
def test_files_without_enough_images_are_refused(tmp_path, arrays, says):
    np.savez(tmp_path / "digits.npz", **arrays)
    with pytest.raises(UserError, match=says):
        Mnist(tmp_path / "digits.npz")


def test_a_size_of_more_images_than_there_are_is_refused(tmp_path):
    np.savez(tmp_path / "digits.npz", images=np.zeros((8001, 784), np.uint8), labels=np.zeros(8001))
    with pytest.raises(UserError, match="large takes 10000 images, and there are 8001; give a file of more"):
        Mnist(tmp_path / "digits.npz").write_input(tmp_path, Mnist.sizes["large"], np.random.default_rng(0))
    with pytest.raises(UserError, match="no images; give --digits"):
        Mnist(None)
