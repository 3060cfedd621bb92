"""Random programs with loops that bootstrap: in every way to plan them NumPy's results, at the levels, scales and sizes
that were planned; by our way also within the bounds that they state, with noise, and encrypted.

The two hundred take about 5 minutes of one core: `pytest -m slow tests/property/test_bootstrapped_programs.py`, twenty of
them with `-k "0-20"`.
"""

from pathlib import Path

import numpy as np
import pytest
from bootstrapped_programs import RandomProgram, programs
from hypothesis import HealthCheck, assume, given, seed, settings
from loop_compilations import Compilation

from latticework.compiler.levels.loops.plan_loops import MODES, OURS
from latticework.errors import LevelError, PrecisionError, UserError
from latticework.runtime.events import Event
from latticework.runtime.exchange.encrypted import Encrypted
from latticework.runtime.server.server import Server

PARTS, OF_A_PART = 10, 20
USUAL = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}


def check(random: RandomProgram, name: str = "T11") -> None:
    made = Compilation(random, name)
    assume(made.has_results)
    for mode in MODES:
        try:
            made.check_mode(mode)
        except LevelError:
            if mode == OURS:
                raise
            # HALO has no bootstraps in what runs on a condition
    try:
        made.check_plan()
    except PrecisionError as error:  # small values in between: it says how many bits were reached
        assert "is not reached with bootstraps" in str(error)


@settings(max_examples=2, derandomize=True, **USUAL)
@given(random=programs())
def test_random_programs_are_numpys_however_they_are_planned(random):
    check(random)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS), ids=lambda part: f"{part * OF_A_PART}-{(part + 1) * OF_A_PART}")
def test_two_hundred_random_programs_are_numpys_however_they_are_planned(part):
    @seed(part)
    @settings(max_examples=OF_A_PART, **USUAL)
    @given(random=programs())
    def run(random):
        check(random, ("T11", "T12")[part % 2])

    run()


def check_encrypted(random: RandomProgram, folder: Path) -> None:
    """One plan, two trip counts, one and two threads, and stopped on one and gone on with on two."""
    made = Compilation(random, "T11")
    assume(made.has_results)
    model = made.model
    client = model.client(threads=1)
    public = client.keygen().public()
    servers = [model.server(public, threads=threads) for threads in (1, 2)]
    for n, m in ((2, 1), (7, 3)):
        given = made.arguments(n, m)
        sent = client.encrypt(**{i.name: given[i.name] for i in model.plan.client.inputs})
        found = [server(sent) for server in servers]
        assert found[0].to_bytes() == found[1].to_bytes()
        again = stopped_once(servers, sent, folder / f"{n}.ckpt")
        assert again is None or again.to_bytes() == found[0].to_bytes()
        values = client.decrypt(found[0])
        assert isinstance(values, tuple)
        for got, want in zip(values, made.expected(given), strict=True):
            assert np.max(np.abs(got.reveal() - want)) <= got.error_bound < np.inf


def stopped_once(servers: list[Server], sent: Encrypted, path: Path) -> Encrypted | None:
    """Of a run that the first stops in a second iteration, what the second makes; None where loops are copied."""

    def stop(event: Event) -> None:
        if event.iteration == 2:
            raise KeyboardInterrupt

    try:
        return servers[0](sent, checkpoint=path, on_event=stop)
    except KeyboardInterrupt:
        return servers[1](sent, checkpoint=path)
    except UserError as error:
        assert "is for programs with loops" in str(error)
        return None


@settings(max_examples=2, derandomize=True, **USUAL)
@given(random=programs())
def test_encrypted_random_programs_keep_their_bounds(tmp_path_factory, random):
    check_encrypted(random, tmp_path_factory.mktemp("stopped"))


@pytest.mark.slow
@settings(max_examples=30, derandomize=True, **USUAL)
@given(random=programs())
def test_thirty_encrypted_random_programs_keep_their_bounds(tmp_path_factory, random):
    check_encrypted(random, tmp_path_factory.mktemp("stopped"))
