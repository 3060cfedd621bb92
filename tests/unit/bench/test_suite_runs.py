"""Whole runs of the suite's submissions, with networks of four units: results, bad files, and stages that are killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bench.many_rows.networks import TRAINED
from bench.suite.driver import run_one, run_size
from bench.suite.figures import rows_of
from bench.suite.mnist_workload import Mnist
from bench.suite.server_place import ServerPlace
from bench.suite.similarity_workload import Similarity
from bench.suite.stage_process import StageError, run_stage
from latticework.errors import SecretKeyError

SINGLE, SMALL = Mnist.sizes["single"], Mnist.sizes["small"]
TOLD = '{"outputs": {"result": {"error_bound": 0.2}}}'
COMPUTE = "submission/build/server_encrypted_compute"


@pytest.fixture(scope="module")
def mnist(tmp_path_factory):
    """The workload on random images, and weights of four hidden units in a submission."""
    place = tmp_path_factory.mktemp("suite")
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (TRAINED + 110, 28, 28), dtype=np.uint8)
    np.savez(place / "digits.npz", images=images, labels=rng.integers(0, 10, len(images)))
    submission = place / "mnist" / "client" / "submission"
    submission.mkdir(parents=True)
    np.save(submission / "calibration.npy", images[:64].reshape(64, 784) / 255)
    weights = rng.normal(0, 0.05, (784, 4)), rng.normal(0, 1, 4), rng.normal(0, 1, (4, 10)), rng.normal(0, 1, 10)
    np.savez(submission / "weights.npz", **dict(zip(("w1", "b1", "w2", "b2"), weights, strict=True)))
    return Mnist(place / "digits.npz"), place / "mnist"


@pytest.fixture(scope="module")
def finished(mnist):
    """A run of one image, and what it took."""
    workload, folder = mnist
    return workload, folder, run_size(workload, SINGLE, folder, 1, 0)


@pytest.fixture
def copy(finished, tmp_path):
    """The client's folder after that run, to change."""
    _, folder, _ = finished
    return Path(shutil.copytree(folder / "client", tmp_path / "client"))


def io(client):
    return client / "io" / "single"


def change_middle(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_a_run_is_right_and_written(finished):
    workload, folder, (found,) = finished
    quality = found["quality"]
    assert quality["is_right"]
    assert quality["largest_error"] <= quality["error_bound"]
    stored = json.loads((folder / "client" / "measurements" / "single" / "results-1.json").read_text())
    assert stored["stages"].keys() == {*workload.once, *workload.each}
    assert stored["bytes"]["keys"] > stored["bytes"]["input"] > 0
    rows = {row.metric: row for row in rows_of(workload, SINGLE, [found])}
    assert rows["server_encrypted_compute"].target == 0.35
    assert rows["server_encrypted_compute"].checked
    assert 0 < rows["server_encrypted_compute, without start"].ours < rows["server_encrypted_compute"].ours


@pytest.mark.parametrize("bound", [0.2, None])
def test_a_wrong_digit_is_found(finished, copy, bound):
    workload, _, _ = finished
    told = json.dumps({"outputs": {"result": {"error_bound": bound}}})
    usages = {"client_decrypt_decode": run_stage(["sh", "-c", f"echo '{told}'"], copy)}
    assert workload.check(copy, SINGLE, usages)["is_right"]
    digits = io(copy) / "encrypted_model_predictions.txt"
    digits.write_text(f"{(int(digits.read_text()) + 1) % 10}\n")
    assert not workload.check(copy, SINGLE, usages)["is_right"]


def test_wrong_scores_are_found(finished, copy):
    workload, _, _ = finished
    usages = {"client_decrypt_decode": run_stage(["sh", "-c", f"echo '{TOLD}'"], copy)}
    scores = io(copy) / "scores.npy"
    found = np.load(scores)
    np.save(scores, found + 0.3)
    assert not workload.check(copy, SINGLE, usages)["is_right"]


@pytest.mark.parametrize(
    ("damage", "stage", "says", "output"),
    [
        (lambda c: truncate(io(c) / "ciphertexts_upload" / "images.lwct"), COMPUTE, "FormatError: .*images.lwct", "scores.lwct"),
        (lambda c: change_middle(io(c) / "public_keys" / "evaluation.lwkeys"), COMPUTE, "FormatError: .*evaluation", "scores.lwct"),
        (lambda c: (io(c) / "public_keys" / "evaluation.lwkeys").unlink(), COMPUTE, "evaluation.lwkeys", "scores.lwct"),
        (lambda c: shutil.copy(io(c) / "secret_key" / "secret.lwkey", io(c) / "public_keys"), COMPUTE, "SecretKeyError", "scores.lwct"),
        (lambda c: truncate(io(c) / "ciphertexts_download" / "scores.lwct"), "submission/build/client_decrypt_decode",
         "FormatError: .*scores.lwct", "scores.npy"),
        (lambda c: shutil.copy(io(c) / "ciphertexts_upload" / "images.lwct", io(c) / "ciphertexts_download" / "scores.lwct"),
         "submission/build/client_decrypt_decode", "Error: .*inputs", "scores.npy"),
        (lambda c: (io(c) / "scores.npy").unlink(), "submission/build/client_postprocess", "scores.npy", "predictions.txt"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_and_nothing_is_written(copy, damage, stage, says, output):
    damage(copy)
    with pytest.raises(StageError, match=says):
        run_stage([stage, "0"], copy)
    assert not list(io(copy).rglob(f"*{output}*"))


def truncate(file):
    file.write_bytes(file.read_bytes()[:-1000])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "stage"),
    [
        ("ciphertexts_upload/images.lwct", "server_encrypted_compute"),
        ("ciphertexts_download/scores.lwct", "client_decrypt_decode"),
    ],
)
def test_files_of_other_keys_are_refused(copy, tmp_path, file, stage):
    """Exchanged for those of another client of the same program: inputs, and results."""
    other = Path(shutil.copytree(copy, tmp_path / "other"))
    for before in ("client_key_generation", "client_encode_encrypt_input", "server_encrypted_compute"):
        run_stage([f"submission/build/{before}", "0"], other)
    shutil.copy(io(other) / file, io(copy) / file)
    with pytest.raises(StageError, match="ParameterMismatchError: .*key"):
        run_stage([f"submission/build/{stage}", "0"], copy)


def test_the_driver_starts_no_stage_where_a_secret_key_is_sent(finished, copy, tmp_path):
    workload, _, _ = finished
    shutil.copy(io(copy) / "secret_key" / "secret.lwkey", io(copy) / "ciphertexts_upload" / "images.lwct.begun")
    with pytest.raises(SecretKeyError, match="images.lwct.begun is a secret key, within reach"):
        run_one(workload, SINGLE, ServerPlace(copy, tmp_path / "server"), "server_encrypted_compute")


@pytest.mark.slow
def test_a_hundred_images_take_no_keys(mnist):
    workload, folder = mnist
    (found,) = run_size(workload, SMALL, folder, 1, 0)
    assert found["quality"]["is_right"]
    assert found["bytes"]["keys"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.0, 0.05, 0.15, 0.25, 0.3, 0.4])
def test_stages_that_are_killed_and_started_again_give_the_right_result(finished, copy, after):
    workload, _, _ = finished
    expected = (io(copy) / "encrypted_model_predictions.txt").read_text()
    ended = []
    for stage in (*workload.once, *workload.each):
        begun = subprocess.Popen(
            [str(copy / "submission" / "build" / stage), "0"], cwd=copy, start_new_session=True,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(after)
        if begun.poll() is None:
            os.killpg(begun.pid, signal.SIGKILL)  # the stage's own session: itself, and all that it started
        ended.append(begun.wait())
        run_stage([f"submission/build/{stage}", "0"], copy)
    assert set(ended) <= {0, -signal.SIGKILL}
    assert after > 0.1 or ended.count(-signal.SIGKILL) >= 5
    assert (io(copy) / "encrypted_model_predictions.txt").read_text() == expected


@pytest.mark.slow
def test_a_stage_after_one_that_was_killed_finds_nothing_old(copy):
    """Where encryption ends, results of the input before are gone, though they are of the same keys."""
    shutil.copy(copy / "datasets" / "single" / "intermediate" / "images.npy", copy / "images.npy")
    (copy / "datasets" / "single" / "intermediate" / "images.npy").unlink()
    with pytest.raises(StageError, match="images.npy"):
        run_stage(["submission/build/client_encode_encrypt_input", "0"], copy)
    for stage in ("server_encrypted_compute", "client_decrypt_decode", "client_postprocess"):
        with pytest.raises(StageError):
            run_stage([f"submission/build/{stage}", "0"], copy)


@pytest.mark.slow
def test_counts_are_exact_and_a_database_of_other_keys_is_refused(tmp_path):
    workload = Similarity()
    toy = workload.sizes["toy"]
    runs = run_size(workload, toy, tmp_path / "similarity", 3, 0)
    assert all(run["quality"]["is_right"] for run in runs)
    assert len({run["quality"]["expected"] for run in runs}) > 1
    client = tmp_path / "similarity" / "client"
    kept = (client / "io" / "toy" / "ciphertexts_upload" / "db.bin").read_bytes()
    for stage in ("client_key_generation", "client_encode_encrypt_db", "client_encode_encrypt_query"):
        run_stage([f"submission/build/{stage}", "0", "--count_only"], client)
    (client / "io" / "toy" / "ciphertexts_upload" / "db.bin").write_bytes(kept)
    with pytest.raises(StageError, match="ParameterMismatchError: .*key"):
        run_stage([COMPUTE, "0", "--count_only"], client)
    assert not list((client / "io" / "toy" / "ciphertexts_download").iterdir())
