"""Why the suite's submissions have 128 bits of security: what their pages say, held against plans and the guidelines."""

import re
import subprocess

import numpy as np
import pytest

from bench.suite.stage_process import run_stage
from bench.suite.workload import SUITE
from latticework import Model
from latticework.plan.parameters.security import modulus_limit_bits

# Bossuat et al., Security Guidelines for Implementing Homomorphic Encryption (2024), Table 5.2: ternary secrets,
# 128 bits, classical attacks.
GUIDELINES = {12: 106, 13: 214, 14: 430, 15: 868, 16: 1747}
ROW = re.compile(r"^\| (\w+) \| 2\^(\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
PAGES = {name: ROW.findall((SUITE / name / "README.md").read_text()) for name in ("mnist", "similarity")}


@pytest.mark.parametrize(("name", "row"), [(name, row) for name, rows in PAGES.items() for row in rows])
def test_pages_state_what_the_guidelines_allow(name, row):
    _, log2_n, bits, limit = row
    assert int(bits) <= int(limit) == GUIDELINES[int(log2_n)]
    assert int(limit) <= modulus_limit_bits(1 << int(log2_n), 128)


def test_pages_have_a_row_for_each_plan():
    assert [row[0] for row in PAGES["mnist"]] == ["single", "small", "medium", "large"]
    assert [row[0] for row in PAGES["similarity"]] == ["toy", "small"]


def held_to_page(name, size, plan):
    (row,) = [row for row in PAGES[name] if row[0] == size]
    assert plan.chain.ring_degree == 1 << int(row[1])
    assert plan.chain.log2_qp <= GUIDELINES[int(row[1])]
    assert plan.chain.log2_qp <= int(row[3])
    assert not plan.chain.insecure
    return round(plan.chain.log2_qp), int(row[2])


@pytest.mark.slow
def test_plans_of_mnist_are_as_its_page_says(tmp_path):
    submission = copy(tmp_path, "mnist")
    rng = np.random.default_rng(0)
    np.save(submission / "calibration.npy", rng.uniform(0, 1, (64, 784)) * (rng.uniform(0, 1, (64, 784)) < 0.2))
    np.savez(
        submission / "weights.npz", w1=rng.normal(0, 0.025, (784, 128)), b1=rng.normal(0, 0.1, 128),
        w2=rng.normal(0, 0.1, (128, 10)), b2=rng.normal(0, 0.1, 10),
    )  # fmt: skip
    run_stage([f"{submission}/scripts/build_task.sh", str(submission), "single", "small", "large"], tmp_path)
    for size in ("single", "small", "large"):
        plan = Model.load(submission / "build" / f"{size}.lwplan").plan
        held_to_page("mnist", size, plan)
        assert (len(plan.client.manifest.uses) == 0) == (size != "single")


@pytest.mark.slow
def test_the_plan_of_similarity_is_as_its_page_says(tmp_path):
    submission = copy(tmp_path, "similarity")
    run_stage([f"{submission}/scripts/build_task.sh", str(submission), "toy"], tmp_path)
    found, stated = held_to_page("similarity", "toy", Model.load(submission / "build" / "toy.lwplan").plan)
    assert found == stated  # that of mnist depends on its weights


def copy(folder, name):
    submission = folder / "submission"
    subprocess.run(["cp", "-r", SUITE / name, submission], check=True)
    return submission


def test_a_submission_without_weights_is_not_built(tmp_path):
    submission = copy(tmp_path, "mnist")
    done = subprocess.run(
        [submission / "scripts" / "build_task.sh", submission], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "weights.npz; its README says how it is trained" in done.stderr
    assert not (submission / "build").exists()
