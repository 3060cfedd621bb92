"""A single run of a command reads keys as it uses them, each about once, and its bytes are those with all in memory."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework.cli import app
from latticework.plan.analysis.trip_counts import TripCounts
from latticework.plan.key_schedule.schedule import budget_to_read_once, whole_key_bytes

RNG = np.random.default_rng(0)
W = RNG.normal(size=(784, 64)) / 28


@lw.program
def layers(x: lw.Secret[784], w):
    return np.square(x @ w)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("once")
    rows = RNG.uniform(-1, 1, (5, 784))
    model = lw.compile(layers, weights=(W,), calibrate=rows, precision_bits=8)
    client = model.client()
    model.save(where / "model.lwplan")
    client.keygen().public().save(where / "keys")
    for name, count in (("one", 1), ("five", 5)):
        client.encrypt(rows[:count]).save(where / f"{name}.lwct")
    return where


def call(folder, *words, out="out.lwct"):
    """What the command `run` comes to, with files of the folder."""
    files = [str(folder / word) if word.endswith(("lwct", "lwplan")) else word for word in words]
    return CliRunner().invoke(app, ["run", *files, "-k", str(folder / "keys"), "-o", str(folder / out), "--json"])


def run(folder, *words):
    """The facts that the command prints, and the bytes of its result."""
    done = call(folder, *words, "--force")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout), (folder / "out.lwct").read_bytes()


def test_a_single_run_reads_keys_about_once(folder):
    plan = lw.load(folder / "model.lwplan").plan
    budget, whole = budget_to_read_once(plan, TripCounts(plan)), whole_key_bytes(plan)
    assert budget <= whole // 2
    facts, found = run(folder, "model.lwplan", "one.lwct")
    traffic = facts["key_traffic"]
    assert traffic["peak_bytes"] <= budget == traffic["budget_bytes"]
    rows = whole // traffic["row_bytes"]
    assert 0 < traffic["loads"] <= 1.05 * rows
    all_facts, wanted = run(folder, "model.lwplan", "one.lwct", "--key-memory", "all")
    assert all_facts["key_traffic"] is None and found == wanted


@pytest.mark.parametrize("words", [("five.lwct",), ("one.lwct", "--memory", "2GB"), ("one.lwct", "--device", "sim")])
def test_several_runs_and_named_memory_have_all_keys_there(folder, words):
    assert run(folder, "model.lwplan", *words)[0]["key_traffic"] is None


def test_a_bound_that_is_named_is_taken(folder):
    facts, _ = run(folder, "model.lwplan", "one.lwct", "--key-memory", "20MB")
    assert facts["key_traffic"]["budget_bytes"] == 20_000_000


def test_a_file_of_anything_else_is_refused_as_before(folder):
    (folder / "other.lwct").write_bytes(b"nothing")
    for name in ("other.lwct", "none.lwct"):
        done = call(folder, "model.lwplan", name, out="new.lwct")
        assert done.exit_code != 0 and name in done.output and not (folder / "new.lwct").exists()
