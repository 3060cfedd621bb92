"""Prices of this machine: they scale what is predicted and shown, and choose nothing; the file that keeps them."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

import latticework as lw
from latticework.commands.machine import machine_measurement
from latticework.plan.cost import CostModel, default_table, parse_table
from latticework.plan.files.serialise import write_plan
from latticework.plan.instructions.work_units import Shape
from latticework.plan.machine import kept_probe, probe, shown_prices
from latticework.plan.machine.adapted_prices import adapt_prices, compare_speeds
from latticework.plan.machine.measured_operations import MeasuredChain
from latticework.plan.machine.processor import name_backend, name_processor
from latticework.report import under_budget
from latticework.values.cores import count_cores

X = np.random.default_rng(0).uniform(-1, 1, (20, 4))
W = np.random.default_rng(1).normal(size=(4, 4))


@lw.program
def smooth(x: lw.Secret[1, 4], w):
    return lw.tanh(x @ w) @ w


def compiled(**options):
    return lw.compile(smooth, weights=(W,), calibrate=X, precision_bits=8, **options)


def measured(factor, **facts):
    """What a probe would say of a machine that is so many times slower than what the table's prices come to.

    Not than each row of it: rows scatter, as measured ones do.
    """
    base = CostModel.load()
    rows = [row for row in default_table().ops if row.ring_degree in (1 << 12, 1 << 14) and row.is_exact]
    return {
        "format": 1, "machine": {"cpu": name_processor(), "cores": count_cores()}, "date": "2026-01-02",
        "command": "quick probe", "source": "measured", "backend": name_backend(), "threads": 1,
        "units": [
            {"unit": unit, "ring_degree": degree, "seconds": factor * default_table().units[unit][degree]}
            for unit in ("ntt", "pointwise") for degree in (1 << 14, 1 << 16)
        ],
        "ops": [machine_measurement.op_row(row.op, row.shape, factor * base.seconds(row.op, row.shape)) for row in rows],
    } | facts  # fmt: skip


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A function that lets a probe find a machine; without it nothing may be measured."""
    monkeypatch.delenv(shown_prices.SWITCH)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_probe, "probe_machine", lambda: pytest.fail("it is measured where nothing is shown"))
    probes = []

    def find(factor, **facts):
        def probe_machine():
            probes.append(factor)
            return measured(factor, **facts)

        monkeypatch.setattr(kept_probe, "probe_machine", probe_machine)
        return probes

    return find


def test_plans_are_the_same_bytes_on_every_machine(machine, monkeypatch):
    by_machine = compiled()  # measures nothing
    repr(by_machine)
    machine(100.0)
    shown = by_machine.report(), by_machine.costs(), under_budget(by_machine.plan, "40MB")
    again = compiled()
    monkeypatch.setenv(shown_prices.SWITCH, "table")
    without = compiled()
    assert write_plan(by_machine.plan) == write_plan(again.plan) == write_plan(without.plan)
    table = without.report(), without.costs(), under_budget(without.plan, "40MB")
    ratio = shown[1].later_run_seconds / table[1].later_run_seconds
    assert ratio == pytest.approx(100, rel=0.05)
    assert shown[0].execution.estimate.warm_seconds == shown[1].later_run_seconds
    assert shown[1].client.encrypt_seconds > 50 * table[1].client.encrypt_seconds
    assert replace(shown[1], later_run_seconds=0, first_run_seconds=0, key_loading_seconds=0, client=None) == replace(
        table[1], later_run_seconds=0, first_run_seconds=0, key_loading_seconds=0, client=None
    )
    shares = [each.shares for each in (shown[2].chosen, table[2].chosen)]
    assert shares[0].seconds == pytest.approx(100 * shares[1].seconds, rel=0.1)
    assert [s.peak_bytes for s in shares] == [shares[0].peak_bytes] * 2
    assert [s.keys.loads for s in shares] == [shares[0].keys.loads] * 2
    assert "quick probe of 2026-01-02" in shown[0].text() and "quick probe" not in table[0].text()


def test_a_table_that_was_chosen_stays_as_it_is(machine, tmp_path):
    content = json.loads(json.dumps(measured(3.0))) | {"units": [
        {"unit": unit, "ring_degree": degree, "seconds": 3 * seconds}
        for unit, prices in default_table().units.items() for degree, seconds in prices.items()
    ]}  # fmt: skip
    path = tmp_path / "own.json"
    path.write_text(json.dumps(content))
    model = compiled(cost_table=str(path))
    assert "quick probe" not in model.report().text()  # and nothing is measured


def test_processors_of_one_family_have_different_names(tmp_path, monkeypatch):
    """A folder of prices may be shared by machines: those of ARM have numbers in place of a name."""
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    info = tmp_path / "cpuinfo"
    lines = "processor\t: {}\nCPU implementer\t: 0x41\nCPU part\t: {}\n"
    info.write_text(lines.format(0, "0xd0c") + lines.format(1, "0xd0c"))
    assert name_processor(info) == "aarch64 (implementer 0x41, part 0xd0c)"
    info.write_text(lines.format(0, "0xd4f"))
    assert name_processor(info) == "aarch64 (implementer 0x41, part 0xd4f)"
    info.write_text("cpu family\t: 26\nmodel\t\t: 2\nmodel name\t: EPYC\n")
    assert name_processor(info) == "EPYC (family 26, model 2)"
    info.write_text("")
    assert name_processor(info) == "aarch64"


def test_a_machine_is_measured_once_and_kept(machine):
    probes = machine(2.0)
    first, second = kept_probe.probed_prices(), kept_probe.probed_prices()
    assert probes == [2.0] and first is second
    (file,) = (kept_probe.cache_folder() / "prices").iterdir()
    assert kept_probe.read_kept(file) == first


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "\xff", json.dumps(measured(2.0)) + " " * kept_probe.MOST_BYTES,
        json.dumps(measured(2.0, machine={"cpu": "another", "cores": 2})), json.dumps(measured(2.0, backend="another")),
        json.dumps(measured(2.0, threads=2)), json.dumps(measured(2.0)).replace("1e-", "-1e-").replace("e-05", "e+999"),
    ],
)  # fmt: skip
def test_files_that_are_of_no_use_are_written_anew(machine, text):
    path = kept_probe.cache_folder() / "prices" / f"{kept_probe._fingerprint()}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("latin-1"))
    assert kept_probe.read_kept(path) is None
    assert machine(5.0) == []
    assert kept_probe.probed_prices().ops and kept_probe.read_kept(path) is not None


def test_a_cache_that_cannot_be_written_is_no_fault(machine, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert machine(2.0) == []
    assert shown_prices.shown_costs().table.adapted


def test_measured_prices_that_no_machine_has_are_left_alone(machine):
    machine(1e7)
    assert shown_prices.shown_costs().table is default_table()


def test_what_measure_wrote_comes_before_the_probe(machine):
    folder = kept_probe.cache_folder()
    folder.mkdir(parents=True)
    (folder / shown_prices.KEPT_TABLE).write_text(json.dumps(measured(7.0, date="2026-03-04")))
    model, shape = shown_prices.shown_costs(), Shape(1 << 15, 6)  # without a probe
    assert "latticework measure` of 2026-03-04" in model.table.adapted
    assert model.seconds("add", shape) == pytest.approx(7 * CostModel.load().seconds("add", shape), rel=0.05)


def test_a_slower_machine_is_slower_at_everything_and_measured_prices_are_kept():
    found = parse_table(json.dumps(measured(4.0)))
    base, model = CostModel.load(), CostModel(adapt_prices(default_table(), found, "x"))
    shapes = [Shape(n, q, 2, (2,) * (q // 2), target=q - 1) for n in (1 << 13, 1 << 14, 1 << 16) for q in (4, 8)]
    for op in ("add", "rotate", "relinearize", "mod_down", "encode", "hoist", "bfv.mul", "diag_sums", "generate_key"):
        for shape in shapes:
            assert model.seconds(op, shape) == pytest.approx(4 * base.seconds(op, shape), rel=0.02), (op, shape)
    for row in found.ops:
        assert model.seconds(row.op, row.shape) == pytest.approx(4 * base.seconds(row.op, row.shape), rel=1e-3)
    same = compare_speeds(default_table(), parse_table(json.dumps(measured(1.0))))
    assert same.of_op("mul", 1 << 14) == pytest.approx(1.0, rel=1e-3)


def test_the_probe_is_a_cost_table(monkeypatch):
    monkeypatch.setattr(probe, "CHAINS", ((MeasuredChain(1 << 12, 2, 1), 1),))
    monkeypatch.setattr(probe, "DEGREES", (1 << 12,))
    found = parse_table(json.dumps(probe.probe_machine()))
    assert kept_probe.is_of_this_machine(found) and os.path.isabs(kept_probe._core.__file__)
    assert adapt_prices(default_table(), found, "x").units.keys() == default_table().units.keys()
