"""The same programs give the same plans, byte for byte, and the same ciphertexts, as when the witness was written.

On a machine of another kind than the witness was written on, a plan may have other last bits of calibrated numbers;
wherever it has the same bytes, its outputs have to be the same too.
"""

import json

import numpy as np
import process
import pytest
import record
from cases import SMALL, one, uniform
from stored import RECORD, Store, differences, read_runs

import latticework as lw
from latticework import _core

QUICK = record.read(record.QUICK)["cases"]
SLOW = record.read(record.SLOW)["cases"]


@pytest.fixture(scope="module")
def found():
    return process.run()


@pytest.fixture(scope="module")
def found_slow():
    return process.run("--slow")


def check(name, was, now, path):
    lines = list(record.differences("", was, now))
    if lines:
        written = record.read(path)["versions"]
        here = process.versions()
        elsewhere = "" if here == written else f"\n(the witness was written with {written}, this is {here})"
        shown = "\n ".join(lines[:40])
        raise AssertionError(
            f"{name} is compiled or run to other bytes than in {path.name}:\n {shown}{elsewhere}\n"
            f"`python tests/witness --dump DIR {name}` on this commit and the one before writes what to compare. "
            f"If plans are meant to change: {record.ANEW}"
        )


def check_here(name, was, now, path):
    """As `check`; elsewhere of cases whose plans have the same bytes."""
    if not process.PINNED_MACHINE and not has_pinned_plans(was, now):
        pytest.skip("compiled to other last bits than on x86-64; `python tests/witness --check` runs plans from there")
    check(name, was, now, path)


def has_pinned_plans(was, now):
    plans = now.get("plans", {})
    return all(plans.get(part, {}).get("files") == plan["files"] for part, plan in was["plans"].items())


@pytest.mark.parametrize("name", QUICK)
def test_same_bytes(name, found):
    check_here(name, QUICK[name], found.get(name, {}), record.QUICK)


def test_many_plans_have_the_same_bytes_on_every_machine(found):
    """So that there is something to compare; on ARM about half of them."""
    assert sum(has_pinned_plans(was, found[name]) for name, was in QUICK.items()) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_same_bytes_of_larger_programs(name, found_slow):
    check_here(name, SLOW[name], found_slow.get(name, {}), record.SLOW)


def test_every_case_is_in_the_witness(found):
    assert sorted(found) == sorted(QUICK), f"cases without a record, or records without a case; {record.ANEW}"


@pytest.mark.slow
def test_every_slow_case_is_in_the_witness(found_slow):
    assert sorted(found_slow) == sorted(SLOW), f"cases without a record, or records without a case; {record.ANEW}"


def test_every_opcode_occurs():
    had = {op for made in QUICK.values() for plan in made["plans"].values() for op in plan["instructions"]}
    assert set(_core.opcodes()) == had


def test_everything_that_is_run_has_outputs(found):
    """Plans without a run are among the slow cases only."""
    assert all(made["outputs"] for made in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("backend", [*(name for name, runs in _core.backend_variants("cpu") if runs), "ref"])
def test_ciphertexts_do_not_depend_on_the_machine(backend, found):
    """Another backend, more threads, another seed of hashes."""
    again = process.run("--backend", backend, "--threads", "2", environment={"PYTHONHASHSEED": "7"})
    for name, made in found.items():
        assert not list(record.differences(name, made, again[name]))


@lw.program
def halved_square(x: lw.Secret[4]):
    return 0.5 * x * x


def test_stored_runs_are_repeated_and_other_outputs_told(tmp_path):
    model = lw.compile(halved_square, calibrate=uniform((8, 4)), **SMALL)
    made = one(model, uniform(4, 1)).and_run(uniform(4, 2))
    made.run(Store(folder=tmp_path))
    runs = read_runs(tmp_path)
    assert len(runs) == 2
    assert not list(differences(tmp_path, threads=2))
    runs[1]["inputs"] = runs[0]["inputs"]
    (tmp_path / RECORD).write_text(json.dumps(runs))
    [line] = differences(tmp_path, threads=1)
    assert "run 1, of 0.lwplan, has another output" in line


def test_differences_are_told_by_figure():
    was = {"plans": {"model": {"sizes": {"keys": 3}, "instructions": {"add": 2}}}, "outputs": ["a"], "seconds": [1, 2]}
    now = {"plans": {"model": {"sizes": {"keys": 4}, "instructions": {}}}, "outputs": ["a"], "seconds": [3, 4]}
    assert list(record.differences("", was, now)) == [
        " plans model sizes keys: was 3, is 4", " plans model instructions add: was 2, is none",
    ]  # fmt: skip
    assert not list(record.differences("", was, was | {"seconds": [5, 6]}))


def test_pins_name_features_that_numpy_knows():
    names = process.pins()["NPY_DISABLE_CPU_FEATURES"].split()
    assert set(names) <= set(np._core._multiarray_umath.__cpu_dispatch__)
