"""`like=`: a model that was trained again keeps the secret key, the keys, and the client file where that is true of it.

The client file says ranges, error bounds and steps of the owner. The adversary is a new model of which some of that is
false, and a client that goes on with the old file: it would call results right that are not.
"""

import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import latticework as lw
from latticework.compiler.retraining.same_client import EQUAL, RULED, TOLD, find_differences
from latticework.errors import LevelError, ParameterMismatchError, UserError
from latticework.owner import Affine, Extreme, Finished, Given, Labels, OwnerStages, Piece, Prepared
from latticework.plan.client_steps import OwnerArray
from latticework.plan.files.serialise import read_plan, write_client, write_plan

SMALL = {"ring_degree": 2048, "insecure": True, "precision_bits": 10}
ROWS = np.random.default_rng(0).uniform(-1, 1, (64, 4))
WEIGHTS = np.random.default_rng(1).normal(size=(4, 3)) / 2
FURTHER = {"weights": (0.9 * WEIGHTS,), "calibrate": ROWS}


@lw.program
def scores(x: lw.Secret[4], w):
    return x @ w


@lw.program
def likely(x: lw.Secret[4], w):
    return lw.sigmoid(x @ w)


@pytest.fixture(scope="module")
def linear():
    return lw.compile(scores, weights=(WEIGHTS,), calibrate=ROWS, **SMALL)


@pytest.fixture(scope="module")
def logistic():
    return lw.compile(likely, weights=(WEIGHTS,), calibrate=ROWS, **SMALL)


@pytest.fixture(scope="module")
def owned(logistic):
    client = logistic.client()
    return client, client.keygen()


def compile_again(program, old, **changed):
    return lw.compile(program, like=old, **{**SMALL, **FURTHER, **changed})


def test_a_client_goes_on_with_a_model_trained_again(logistic, owned):
    client, keys = owned
    new = compile_again(likely, logistic)
    assert write_client(new.plan.client) == write_client(logistic.plan.client)
    assert new.plan.kept.list_kept() == ("secret key", "evaluation keys", "client file")
    request = client.encrypt(ROWS[0])  # before it knows of a new model
    got = client.decrypt(new.server(keys.public())(request))
    wanted = 1 / (1 + np.exp(-(ROWS[0] @ (0.9 * WEIGHTS))))
    assert np.abs(got.reveal() - wanted).max() <= got.error_bound
    assert np.abs(got.reveal() - 1 / (1 + np.exp(-(ROWS[0] @ WEIGHTS)))).max() > got.error_bound
    assert read_plan(write_plan(new.plan)).kept == new.plan.kept


CHANGES = {
    "larger outputs": ({"weights": (3 * WEIGHTS,)}, "large, not"),
    "inputs in wider ranges": ({"calibrate": 2 * ROWS}, r"input x is accepted in|can be|error bound"),
    "lower precision": ({"precision_bits": 7}, "precision_bits=7 is less than 10"),
    "another number of outputs": ({"weights": (np.ones((4, 2)) / 9,)}, r"output result is of shape \(2,\), not \(3,\)"),
}


@pytest.mark.parametrize(("changed", "why"), CHANGES.values(), ids=CHANGES)
def test_what_the_old_client_file_does_not_state_takes_a_new_one(linear, changed, why):
    new = compile_again(scores, linear, **changed)
    kept = new.plan.kept
    assert new.plan.chain == linear.plan.chain and kept.list_kept()[0] == "secret key" and not kept.client
    assert any(re.search(why, said) for said in kept.why), kept.why
    client = new.client()
    got = client.decrypt(new.server(client.keygen().public())(client.encrypt(changed.get("calibrate", ROWS)[3])))
    exact = changed.get("calibrate", ROWS)[3] @ changed.get("weights", FURTHER["weights"])[0]
    assert np.abs(got.reveal() - exact).max() <= got.error_bound


def test_activations_that_leave_the_old_ranges_take_a_new_client_file(logistic):
    new = compile_again(likely, logistic, weights=(1.4 * WEIGHTS,), precision_bits=10)
    assert not new.plan.kept.client
    assert any("error" in said for said in new.plan.kept.why)


def scaled(mean, labels=("a", "b", "c")):
    step = Affine(OwnerArray.of([1.0] * 4), OwnerArray.of([-mean] * 4))
    return OwnerStages(
        (Given("x", (4,)),),
        (Prepared("x", (Piece("x", (step,)),)),),
        (Finished("class", "result", (Extreme(Labels(labels)),)),),
    )


@pytest.mark.parametrize("owner", [scaled(0.0625), scaled(0.125, ("a", "c", "b"))], ids=["mean", "order of classes"])
def test_other_steps_of_the_owner_take_a_new_client_file(owner):
    old = lw.compile(scores, owner=scaled(0.125), weights=(WEIGHTS,), calibrate=ROWS, **SMALL)
    same = compile_again(scores, old, owner=scaled(0.125))
    new = compile_again(scores, old, owner=owner)
    assert same.plan.kept.client and not new.plan.kept.client
    assert new.plan.kept.why[0].startswith("what the owner computes")
    assert new.plan.client.owner == owner


def test_requests_of_the_old_client_file_are_refused_by_name(logistic, owned):
    client, keys = owned
    new = compile_again(likely, logistic, weights=(1.4 * WEIGHTS,))
    old, own = (part.hex()[:16] for part in (new.plan.kept.interface, new.client()._interface))
    server = new.server(keys.public())  # that the keys serve
    with pytest.raises(ParameterMismatchError, match=f"another compilation of program likely .{old}, not {own}"):
        server(client.encrypt(ROWS[0]))
    other = new.client(keys=keys)
    got = other.decrypt(server(other.encrypt(ROWS[0])))
    assert np.abs(got.reveal() - 1 / (1 + np.exp(-(ROWS[0] @ (1.4 * WEIGHTS))))).max() <= got.error_bound


def test_a_model_that_needs_more_levels_is_refused_with_what_to_relax(logistic):
    with pytest.raises(LevelError, match=r"at least 8 levels .* at most 3; ask for fewer bits, .*leave like= out"):
        compile_again(likely, logistic, weights=(40 * WEIGHTS,))


def test_what_is_too_noisy_is_computed_larger_by_functions_that_reach_less_far(logistic):
    weights = 1.1 * WEIGHTS
    new = compile_again(likely, logistic, weights=(weights,), precision_bits=12.5)
    (scale,), kept = [o.scale for o in new.plan.client.outputs], new.plan.kept
    assert new.plan.chain == logistic.plan.chain and not kept.new_keys and "margin=0.1" in kept.notes[0]
    assert scale > 1.05 * new.plan.chain.main.scales[0]
    assert 4 * new.plan.client.outputs[0].magnitude * scale < new.plan.chain.modulus(0) / 2  # the usual room
    client = new.client()
    got = client.decrypt(new.server(client.keygen().public())(client.encrypt(ROWS[5])))
    off = np.abs(got.reveal() - 1 / (1 + np.exp(-(ROWS[5] @ weights)))).max()
    assert off <= got.error_bound <= 2**-12.5


def test_fewer_levels_run_on_the_old_chain(logistic):
    new = compile_again(scores, logistic)
    assert new.plan.chain == logistic.plan.chain and new.plan.kept.new_keys == 0
    assert new.plan.client.outputs[0].level == 0


def test_a_file_is_a_model_too(logistic, tmp_path):
    logistic.save(tmp_path / "old.lwplan")
    new = compile_again(likely, tmp_path / "old.lwplan")
    assert new.plan.kept.client and new.plan.kept.program == "likely"


def test_only_keys_that_are_missing_are_new(linear):
    @lw.program
    def wide(x: lw.Secret[16], w):
        return x @ w

    rows = np.tile(ROWS, (1, 4))
    new = compile_again(wide, linear, weights=(np.tile(WEIGHTS, (4, 1)) / 8,), calibrate=rows)
    assert 0 < new.plan.kept.new_keys < new.plan.kept.num_keys


def test_other_parameters_beside_those_of_the_old_model_are_refused(logistic):
    with pytest.raises(UserError, match="ring_degree=4096, but the model given as like= has 2048"):
        compile_again(likely, logistic, ring_degree=4096)


def test_a_retrained_model_does_not_take_what_an_exact_one_has():
    @lw.circuit
    def product(a: lw.scalar(), b: lw.scalar()):
        return a * b

    exact = lw.compile(product, scheme="bfv", ring_degree=4096, insecure=True, effort="fast")
    with pytest.raises(UserError, match="is a program on arrays, and the model given as like= is of bfv"):
        lw.compile(scores, like=exact, weights=(WEIGHTS,), calibrate=ROWS)
    again = lw.compile(product, scheme="bfv", like=exact, effort="fast")
    assert again.plan.kept.client


def test_every_part_of_a_client_file_has_a_rule(logistic):
    spec = logistic.plan.client
    assert not set(EQUAL) & set(RULED) and TOLD == ("declared",)
    assert find_differences(spec, spec) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            str(compile_again(likely, logistic).report()).count("keeps: secret key, evaluation keys, client file") == 1
        )


@lw.program
def wide(x: lw.Secret[16], w):
    return x @ w


@pytest.fixture(scope="module")
def widened(linear):
    weights = np.random.default_rng(2).normal(size=(16, 3)) / 16
    return compile_again(wide, linear, weights=(weights,), calibrate=np.tile(ROWS, (1, 4))), weights


def check_run(client, server, weights):
    x = np.tile(ROWS[1], 4)
    got = client.decrypt(server(client.encrypt(x)))
    assert np.abs(got.reveal() - x @ weights).max() <= got.error_bound


def test_a_client_makes_only_the_keys_that_are_missing(linear, widened):
    old, (new, weights) = linear.client(), widened
    keys = old.keygen()
    client = new.client(keys=keys)
    more = client.public_keys(beside=keys.public())
    assert len(more.evaluation) == new.plan.kept.new_keys
    with pytest.raises(lw.errors.MissingKeyError, match=r"public_keys\(beside=keys\) \(`latticework keygen --add`"):
        new.server(keys.public())
    both = keys.public().merged(more)
    check_run(client, new.server(both), weights)
    assert len(client.public_keys(beside=both).evaluation) == 0
    with pytest.raises(ParameterMismatchError, match="the keys that are there are of key set"):
        client.public_keys(beside=old.keygen().public())


def test_commands_keep_keys_and_add_those_that_are_missing(linear, widened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new, weights = widened
    linear.client().save("old.lwclient")
    new.client().save("new.lwclient")
    linear.client().keygen("keys")
    Path("server").mkdir()
    shutil.copy("keys/evaluation.lwkeys", "server")
    shutil.copy("server/evaluation.lwkeys", "before.lwkeys")
    made = run_command("keygen", "new.lwclient", "--add", "--insecure")
    assert (made["num_added"], made["num_evaluation_keys"]) == (new.plan.kept.new_keys, new.plan.kept.num_keys)
    told = run_command("addkeys", "new.lwclient", "keys/added.lwkeys", "-k", "server")
    assert told["num_added"] == made["num_added"]
    assert run_command("addkeys", "new.lwclient", "keys/added.lwkeys", "-k", "server")["num_added"] == 0
    assert run_command("keygen", "new.lwclient", "--add", "--insecure", "--force")["num_added"] == 0
    client = new.client()
    client.load_keys("keys")
    new.save("new.lwplan")
    check_run(client, lw.Server.load("new.lwplan", "server"), weights)


def test_the_command_compiles_like_a_plan(logistic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logistic.save("old.lwplan")
    np.save("rows.npy", ROWS)
    np.savez("weights.npz", w=0.9 * WEIGHTS)
    text = "import latticework as lw\n\n\n@lw.program\ndef likely(x: lw.Secret[4], w):\n    return lw.sigmoid(x @ w)\n"
    Path("program.py").write_text(text)
    given = ("--weights", "weights.npz", "--calibrate", "rows.npy", "--precision-bits", "10", "--insecure")
    told = run_command("compile", "program.py", "--like", "old.lwplan", "-o", "new.lwplan", *given)
    assert told["kept"]["keeps"] == ["secret key", "evaluation keys", "client file"], told["kept"]
    facts = [run_command("explain", f"{name}.lwplan") for name in ("old", "new")]
    assert facts[0]["interface"] == facts[1]["interface"] and facts[0]["parameters"] == facts[1]["parameters"]
    assert facts[1]["report"]["kept"] == told["kept"] and facts[0]["report"]["kept"] is None


def run_command(*arguments):
    """The JSON that a command prints."""
    done = subprocess.run([sys.executable, "-m", "latticework", *arguments, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_functions_go_less_far_beyond_calibration_before_a_level_more(logistic):
    (old,) = logistic.plan.approximations
    new = compile_again(likely, logistic, weights=(1.5 * WEIGHTS,)).plan
    assert new.approximations[0].degree.bit_length() == old.degree.bit_length()
    assert "less far beyond calibration than margin=0.1" in new.kept.notes[0]
