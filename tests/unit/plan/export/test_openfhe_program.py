"""Exported programs, run on a stand-in for OpenFHE's package that keeps slots in the clear and refuses what it would."""

import importlib.util
import sys

import numpy as np
import pytest
import slot_openfhe
from tiny_plans import INDEX, PACK, TOP, make_plan, reads

import latticework as lw
from bench.export.agreement import flattened
from bench.export.programs import CASES
from latticework._core import opcodes
from latticework.errors import UnsupportedError, UserError
from latticework.plan.export import export_plan
from latticework.plan.export.lift_plan import KEPT, RULES, SAME, lift_plan
from latticework.plan.export.product_depth import count_depth
from latticework.plan.instructions.executable import Instruction, PlanBlock
from latticework.plan.schema.schema import IndexInput, SecretInput

QUICK = (
    "affine", "several-inputs-and-outputs", "short-vectors", "large-results", "small-constants", "transposed",
    "wide-matrix", "encrypted-matrices", "many-vectors", "strassen", "convolution", "polynomial", "comparison",
    "circuit-distances", "circuit-of-secure-rows", "circuit-of-digits", "nested-results", "loop-of-products",
    "nested-loops", "loop-with-bootstraps-of-pairs", "line-with-bootstraps", "rows-side-by-side",
)  # fmt: skip
SMALL = {"ring_degree": 2048, "insecure": True}


@pytest.fixture
def imported(monkeypatch, tmp_path):
    """A function that exports a plan and imports the program."""
    monkeypatch.setitem(sys.modules, "openfhe", slot_openfhe)

    def load(plan, name="exported"):
        export_plan(plan, "openfhe", tmp_path / name)
        spec = importlib.util.spec_from_file_location(name, tmp_path / name / "program.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def model_of(name):
    case = CASES[name]()
    return lw.compile(case.program, **case.options), case


@pytest.mark.parametrize("name", QUICK)
def test_results_are_those_of_the_plan(imported, name):
    model, case = model_of(name)
    found = imported(model.plan).run(**case.inputs)
    wanted = list(flattened(model.simulate(**case.inputs)))
    for (name, array), exact in zip(found.items(), wanted, strict=True):
        size = max(1.0, float(np.max(np.abs(exact))))
        assert np.max(np.abs(array.reshape(exact.shape) - exact)) <= 1e-6 * size, name


@pytest.mark.parametrize("name", ["polynomial", "line-with-bootstraps", "comparison"])
def test_depth_is_what_the_program_takes_and_no_less(imported, name):
    model, case = model_of(name)
    program = imported(model.plan)
    program.DEPTH -= 1
    with pytest.raises(AssertionError, match="level|adjusts"):
        program.run(**case.inputs)


def test_every_instruction_is_lifted_or_is_of_bootstraps():
    assert set(opcodes()) == {*SAME, *KEPT, *RULES, "yield", "to_sparse", "mod_raise"}


@lw.program
def two_lines(x: lw.Secret[8]):
    return np.roll(x, 1) * x + 0.25


@pytest.fixture(scope="module")
def two_lines_plan():
    return lw.compile(two_lines, calibrate=np.ones((2, 8)), **SMALL).plan


def test_inputs_are_checked_before_encryption(imported, two_lines_plan):
    program = imported(two_lines_plan)
    for wrong, why in ((np.ones(7), "shape"), (np.full(8, 9.0), "outside"), (np.full(8, np.nan), "outside")):
        with pytest.raises(ValueError, match=why):
            program.run(x=wrong)
    with pytest.raises(ValueError, match="missing"):
        program.run()


def test_sums_of_elements_are_held_to_where_functions_are_right(imported):
    @lw.program
    def of_a_sum(x: lw.Secret[4]):
        return lw.sigmoid(np.sum(x))

    model = lw.compile(of_a_sum, calibrate=np.array([[1, -1, 1, -1], [-1, 1, -1, 0.5]]), precision_bits=6, **SMALL)
    assert model.plan.client.constraints
    with pytest.raises(ValueError, match="sums of them"):
        imported(model.plan).run(x=np.ones(4))


def test_a_trip_count_beyond_the_limit_is_refused(imported):
    model, case = model_of("loop-of-sums")
    with pytest.raises(ValueError, match="iterations"):
        imported(model.plan).run(x=case.inputs["x"], n=8)


def test_insecure_parameters_stay_marked(imported, two_lines_plan, capsys):
    imported(two_lines_plan).run(x=np.ones(8))
    assert "INSECURE" in capsys.readouterr().err
    secure = lw.compile(two_lines, calibrate=np.ones((2, 8))).plan
    program = imported(secure, "secure")
    assert program.make_context().set["SecurityLevel"] == "HEStd_128_classic" and not program.INSECURE


def test_precise_programs_get_a_finer_scale_and_room_for_their_results(imported):
    @lw.program
    def scaled(x: lw.Secret[8]):
        return 3.0 * x

    plan = lw.compile(scaled, calibrate=np.ones((2, 8)), precision_bits=30, insecure=True, ring_degree=4096).plan
    program = imported(plan)
    assert (program.SCALE_BITS, program.DEPTH) == (59, 1)  # a product by additions, and a prime for the result
    assert np.allclose(program.run(x=np.ones(8))["result"], 3.0)


def test_names_of_a_plan_are_no_code(imported):
    name = 'x"""\nraise SystemExit\n"""'
    code = (Instruction("neg", 0, reads(0), (1,)), Instruction("yield", 1, reads(1), ()))
    plan = make_plan((TOP, TOP), (PlanBlock((0,), code),), name=name)
    assert plan.kind(0) == TOP
    assert imported(plan).run(x=np.full(5, 0.5))["y"].tolist() == [-0.5] * 5


def test_a_refusal_writes_nothing(tmp_path):
    code = (Instruction("mod_raise", 0, reads(0), (1,), (1,)), Instruction("yield", 1, reads(1), ()))
    with pytest.raises(UnsupportedError, match=r"program.py:3.*mod_raise has no meaning"):
        export_plan(make_plan((TOP, TOP), (PlanBlock((0,), code),)), "openfhe", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def loop_of(factor, most):
    """A loop whose body multiplies by an integer, of a number of iterations known at run time."""
    body = PlanBlock(
        (2, 3), (Instruction("mul_int", 0, reads(3), (4,), (factor,)), Instruction("yield", 1, reads(4), ()))
    )
    code = (Instruction("for", 0, reads(1, 0), (5,), (1, most)), Instruction("yield", 1, reads(5), ()))
    inputs = (SecretInput("x", (5,), PACK, 2, 2.0**30, -1.0, 1.0), IndexInput("n", most))
    return make_plan((TOP, INDEX, INDEX, TOP, TOP, TOP), (PlanBlock((0, 1), code), body), inputs)


def test_a_loop_that_spends_levels_without_end_is_refused(tmp_path):
    assert count_depth(lift_plan(loop_of(100, 3))) == 3  # a product for each iteration
    assert count_depth(lift_plan(loop_of(3, 1 << 20))) == 0  # additions
    with pytest.raises(UnsupportedError, match=r"program.py:3.*iterations spend levels"):
        export_plan(loop_of(100, 1 << 20), "openfhe", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_files_that_are_there_stay(two_lines_plan, tmp_path):
    export_plan(two_lines_plan, "openfhe", tmp_path)
    with pytest.raises(FileExistsError, match=r"program\.py"):
        export_plan(two_lines_plan, "openfhe", tmp_path)
    export_plan(two_lines_plan, "openfhe", tmp_path, force=True)
    with pytest.raises(UserError, match="openfhe or heir"):
        export_plan(two_lines_plan, "lattigo", tmp_path)


def test_the_readme_tells_bounds_and_edits(tmp_path):
    @lw.program
    def square(x: lw.Secret[4]):
        return x * x + 0.25

    model = lw.compile(square, ring_degree=2048, insecure=True, keep_ir=True)
    edited = lw.compile_ir(model.ir("vectors").replace("value = 0.25", "value = 0.25001"), model)
    edited.export("openfhe", tmp_path / "there")
    readme = (tmp_path / "there" / "README.md").read_text()
    assert f"result: error bound {edited.plan.client.outputs[0].error_bound:.3g}" in readme
    assert "An edited text came after stage vectors" in readme
