"""Costs of this machine: a table that is measured is a table that the cost model reads; kernel loops; micro rows."""

import gc
import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import latticework as lw
from latticework import _core
from latticework.cli import app
from latticework.commands.benchmarks import suites
from latticework.commands.machine import MeasuredExtent, default_place, measure_machine, table_text, write_table
from latticework.commands.machine.bootstrap_timing import EncryptedBootstrap, MeasuredBootstrap, kinds_of
from latticework.commands.machine.operations_bfv import BfvOperations
from latticework.compiler.codegen.bootstrap_plans import bootstrap_plan
from latticework.plan.cost import UNITS, CostModel, parse_table
from latticework.plan.instructions.table import RECORDS
from latticework.plan.machine.measured_operations import MeasuredChain, Operations
from latticework.plan.parameters import bootstrap_chain

suites()  # puts the source tree on the path
from bench.micro.cycles import Cycles  # noqa: E402
from bench.micro.kernels import kernel_rows, references  # noqa: E402

TINY = MeasuredExtent((10, 11), {10: ((2, 1), (4, 2)), 11: ((3, 1),)}, repeats=1, rounds=1)


@pytest.fixture(scope="module")
def measured():
    steps = []
    return measure_machine(TINY, threads=(1, 2), on_step=lambda *step: steps.append(step)), steps


def test_every_unit_and_operation_is_measured(measured):
    content, _ = measured
    for part in (content, content["parallel"]):
        assert {row["unit"] for row in part["units"]} == set(UNITS)
        assert {row["ring_degree"] for row in part["units"]} == {1 << 10, 1 << 11}
        assert {(row["q_limbs"], row["p_limbs"]) for row in part["ops"] if row["op"] == "rotate"} == {
            (2, 1), (4, 2), (3, 1),
        }  # fmt: skip
        assert set(part["overhead"]) == {row["op"] for row in part["ops"]}


def test_progress_counts_up_to_the_end(measured):
    _, steps = measured
    total = 2 * len(TINY.steps)
    assert [done for done, _, _ in steps] == list(range(total + 1))
    assert {of for _, of, _ in steps} == {total}


def test_written_tables_are_read_back(measured, tmp_path):
    content, _ = measured
    path = tmp_path / "folder" / "table.json"
    write_table(content, path)
    assert json.loads(path.read_text()) == content
    assert max(map(len, table_text(content).splitlines())) < 1000
    model = CostModel.load(path)
    assert (model.table.threads, model.on(2).table.threads, model.on(1).table.threads) == (1, 2, 1)
    for row in model.table.ops:
        if row.ring_degree == 1 << 10:  # chains differ in everything: the price of each is what was measured
            assert model.seconds(row.op, row.shape) == pytest.approx(row.seconds)
    for op in (name for record in RECORDS.values() for name in record.work):
        assert model.seconds(op, Operations(MeasuredChain(1 << 10, 4, 2), "ref", 1).shape) >= 0


def test_unmeasured_shapes_take_the_overhead_of_the_nearest(measured):
    content, _ = measured
    rows = [{"op": "rotate", "ring_degree": 1024, "q_limbs": q, "p_limbs": p, "digits": 2} for q, p in ((2, 1), (4, 2))]
    table = content | {"ops": []}
    bare = CostModel(parse_table(json.dumps(table | {"overhead": {}})))
    shapes = [Operations(MeasuredChain(1024, q, p), "ref", 1).shape for q, p in ((2, 1), (4, 2), (3, 1))]
    for row, shape, factor in zip(rows, shapes, (2.0, 4.0), strict=False):
        row["seconds"] = factor * bare.kernel_seconds("rotate", shape)
    model = CostModel(parse_table(json.dumps(table | {"ops": rows})))
    assert model.seconds("rotate", shapes[0]) == pytest.approx(2 * bare.kernel_seconds("rotate", shapes[0]))
    assert model.seconds("rotate", shapes[2]) == pytest.approx(3 * bare.kernel_seconds("rotate", shapes[2]))


def test_a_quick_table_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.setattr("latticework.commands.measure.QUICK", MeasuredExtent((10,), {10: ((2, 1),)}, 1, 1))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = CliRunner().invoke(app, ["measure", "--quick"])
    assert found.exit_code == 0, found.output
    assert default_place().parent == tmp_path / "latticework"
    assert CostModel.load(default_place()).table.command == "latticework measure --quick"


def test_compile_predicts_by_the_table_that_it_is_given(measured, tmp_path):
    @lw.program
    def double(x: lw.Secret[4]):
        return x + x

    path = tmp_path / "table.json"
    write_table(measured[0] | {"date": "2001-02-03"}, path)
    options = {"calibrate": np.ones((2, 4)), "precision_bits": 4}
    shipped, own = lw.compile(double, **options), lw.compile(double, cost_table=path, **options)
    assert "2001-02-03" in str(own.report()) and "2001-02-03" not in str(shipped.report())
    assert replace(own.plan, placing=shipped.plan.placing) == shipped.plan  # but for the seconds that it predicted


@pytest.mark.parametrize("backend", _core.backend_names())
def test_kernels_that_are_timed_are_checked(backend):
    cycles = Cycles()
    found = list(kernel_rows(10, backend, 1, _core.kernel_names(), 1, cycles))
    cycles.close()
    assert {row.case.partition(",")[0] for row in found} >= set(_core.kernel_names())
    assert all(row.checked for row in found)


def test_references_name_kernels_and_metrics_that_exist():
    metrics = {(row.case.partition(",")[0], row.metric) for row in kernel_rows_of_everything()}
    for _, kernel, metric, _ in references():
        assert (kernel, metric) in metrics


def kernel_rows_of_everything():
    return kernel_rows(10, "ref", 1, _core.kernel_names(), 1, Cycles(threads=2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("frobnicate", [0]), "frobnicate"),
        (("ntt", []), "at least one limb"),
        (("ntt", [7]), "limb number 7"),
        (("base_convert", [0]), "to_limbs"),
        (("ntt", [0], [1]), "to_limbs"),
        (("dot", [0], [], 0), "one term"),
    ],
)
def test_bad_loops_are_refused(arguments, message):
    ring = _core.Ring(1024, _core.primes_near(2.0**30, 2048, 2), backend="ref", threads=1)
    with pytest.raises(ValueError, match=message):
        _core.KernelLoop(ring, *arguments)


def test_a_loop_leaves_memory_as_it_was():
    ring = _core.Ring(1024, _core.primes_near(2.0**30, 2048, 2), backend="ref", threads=1)
    before = ring.live_bytes
    loop = _core.KernelLoop(ring, "dot", [0, 1], terms=3)
    loop.run(3)
    assert ring.live_bytes > before
    del loop
    assert ring.live_bytes == before
    assert _core.dependent_steps(64) >= 0


def test_unknown_names_are_users_faults():
    for command, text in (
        (["measure", "--quick", "--backend", "gpu"], "there is no backend 'gpu' to be timed; choose one of"),
        (["bench", "nosuite"], "there is no suite 'nosuite'; choose one of"),
    ):
        found = CliRunner().invoke(app, command)
        assert found.exit_code == 1 and text in found.output
    listed = CliRunner().invoke(app, ["bench"])
    assert listed.exit_code == 0 and "suites: " in listed.output
    assert "`bench SUITE --help`" in " ".join(CliRunner().invoke(app, ["--help"]).output.replace("│", " ").split())


def test_bootstraps_are_measured_as_a_whole(monkeypatch):
    kind = MeasuredBootstrap("T11", 1, 16, real=True)
    monkeypatch.setattr(
        "latticework.commands.machine.machine_measurement.kinds_of", lambda name: [kind] if name == "T11" else []
    )
    extent = MeasuredExtent((11,), {}, repeats=1, rounds=1, sets=("T11",))
    steps = []
    content = measure_machine(extent, threads=(1,), on_step=lambda *step: steps.append(step))
    model = CostModel(parse_table(json.dumps(content)))
    (row,) = model.table.bootstraps
    assert (row.ring_degree, row.target, row.slots, row.real) == (1 << 11, 1, 16, True)
    chain = bootstrap_chain("T11")
    assert model.bootstrap_seconds(chain, 1, 16, lambda: 0.0, real=True) == row.seconds > 0.001
    assert str(kind) in steps[1][2] and steps[-1][:2] == (2, 2)
    assert json.loads(table_text(content)) == content


def test_what_is_measured_of_a_set():
    found = kinds_of("T12L16")
    assert {(k.target, k.slots) for k in found} == {(1, 2048), (8, 2048), (16, 2048), (16, 128)}
    assert len(found) == 8 and len({(k.target, k.slots, k.real) for k in found}) == 8


def test_sets_to_measure_are_known_ones():
    result = CliRunner().invoke(app, ["measure", "--quick", "--sets", "T12,A15"])
    assert result.exit_code == 1
    assert "there is no bootstrapping set 'A15'" in result.output


def test_keys_of_a_measured_bootstrap_are_gone_with_it():
    """Those of A14 take 8 GB: two sets of them at a time are more than many machines have."""
    chain = bootstrap_chain("T11")
    case = EncryptedBootstrap(chain, bootstrap_plan(chain, 16, 1, real=True), slots=16, threads=1)
    held = weakref.ref(case)
    gc.disable()
    try:
        del case
        assert held() is None
    finally:
        gc.enable()


# Operations whose price is that of their kernels alone: no call of the core's is one of them and nothing else, or they
# are only in bootstraps, which are measured as a whole, or are priced by the numbers of a matrix.
NOT_MEASURED = {"mul_monomial", "extend", "diag_sums", "to_sparse", "mod_raise", "public_matmul"}


def test_no_operation_of_a_record_is_forgotten_where_operations_are_measured():
    chain = MeasuredChain(1 << 10, 2, 1)
    measured = {op for of in (Operations, BfvOperations) for op, _, _ in of(chain, "ref", 1).calls()}
    for op in (name for record in RECORDS.values() for name in record.work):
        place = "operations_bfv.py" if op.startswith("bfv.") else "measured_operations.py"
        assert (op in measured) != (op in NOT_MEASURED), f"{op}: add a call of it to {place}"
    assert {name for record in RECORDS.values() for name in record.work} >= NOT_MEASURED
