"""Texts of stages: what comes of one as it was written is the same plan; an edit is checked, and marked or refused."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from stage_programs import ARRAYS, CIRCUITS, HEIR, LOOPS, MODELS, SMALL

import latticework as lw
from latticework.compiler.stage_table import NAMES, STAGES
from latticework.errors import IrError, LevelError, ParameterMismatchError, RangeError, ScaleError, SecurityError
from latticework.plan.files.serialise import write_plan

PROGRAMS = {**ARRAYS, **CIRCUITS, **LOOPS, **HEIR, **{f"imported {name}": make for name, make in MODELS.items()}}
QUICK = {"relu", "two functions of one name", "batch", "as arrays", "scalar code", "exact rows"}
QUICK |= {"exact arrays", "rolled", "heir dot"}


def compiled(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, and of degrees
        return PROGRAMS[name]()


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS])
def test_a_text_as_it_was_written_gives_the_same_plan(name):
    model = compiled(name)
    plan = write_plan(model.plan)
    for stage in model.ir_stages:
        again = lw.compile_ir(model.ir(stage), model)
        assert write_plan(again.plan) == plan, stage
        assert again.ir(stage) == model.ir(stage)


WEIGHTS = np.linspace(-1, 1, 8)
ROWS = np.random.default_rng(0).uniform(-1, 1, (10, 8))
SCORE = {"weights": (WEIGHTS,), "calibrate": ROWS}


@lw.program
def score(x: lw.Secret[8], w):
    return np.sum(w * x) * x + 0.25


def scored(x):
    return np.sum(WEIGHTS * x) * x + 0.25


@pytest.fixture(scope="module")
def model():
    return lw.compile(score, **SCORE, **SMALL)


def edited(model, stage, old, new, **options):
    text = model.ir(stage)
    assert old in text
    return lw.compile_ir(text.replace(old, new), model, **options)


def test_every_stage_has_a_text_that_says_what_it_is(model):
    assert model.ir_stages == NAMES
    for stage in STAGES:
        first, second, *_ = model.ir(stage.name).splitlines()
        assert first == f"// latticework IR 1: stage {stage.name} of program score, under ckks"
        assert second == f"// {stage.holds}"
        assert "test_stage_texts.py" in model.ir(stage.name)
    assert "// galois key" in model.ir("primitives") and "// relin key" in model.ir("primitives")
    assert "drop to level" in model.ir("levels")
    with pytest.raises(IrError, match="there is no stage 'keys'; stages are traced, polynomials"):
        model.ir("keys")


def test_the_page_has_the_table_of_stages():
    page = (Path(__file__).parents[3] / "docs" / "ir.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{stage.name}` | {stage.holds} |" for stage in STAGES]


def test_a_stage_that_a_kind_of_program_does_not_have_is_named():
    circuit = PROGRAMS["scalar code"]()
    with pytest.raises(IrError, match="run has no stage layouts; its stages are traced, vectors, levels, ciphertexts"):
        circuit.ir("layouts")


def test_models_without_stages_say_what_to_do(model, tmp_path):
    plain = lw.compile(score, **SCORE, **{**SMALL, "keep_ir": False})
    model.save(tmp_path / "model.lwplan")
    loaded = lw.load(tmp_path / "model.lwplan", allow_insecure=True)
    for empty in (plain, loaded):
        with pytest.raises(IrError, match=r"compile it again, lw.compile\(..., keep_ir=True\)"):
            empty.ir("vectors")
        with pytest.raises(IrError, match="keep_ir=True"):
            lw.compile_ir(model.ir("vectors"), empty)
    assert write_plan(plain.plan) == write_plan(model.plan)


def same_by_other_operations(model):
    """%4 + 0.25 as (%4 + %4) - %4 + 0.25"""
    add = '"vec.add"(%4, %5)'
    more = '"vec.add"(%4, %4) : (!secret_1x8, !secret_1x8) -> !secret_1x8\n'
    more += '  %91 = "vec.sub"(%90, %4) : (!secret_1x8, !secret_1x8) -> !secret_1x8\n  %6 = "vec.add"(%91, %5)'
    text = model.ir("vectors")
    return lw.compile_ir(text.replace(f"%6 = {add}", f"%90 = {more}"), model)


def test_an_edit_that_keeps_results_is_named_and_no_bound_counts_as_proved(model):
    made = same_by_other_operations(model)
    (output,) = made.plan.client.outputs
    assert model.plan.client.outputs[0].is_proved and not output.is_proved
    assert made.plan.changes == (
        "An edited text came after stage vectors, and moved no result beyond what is allowed in tests.",
    )
    assert made.plan.changes[0] in str(made.report())
    assert "not proved, as the program was changed while it was compiled" in str(made.report())
    keys = (client := made.client()).keygen()
    x = ROWS[0]
    result = client.decrypt(made.server(keys.public())(client.encrypt(x)))
    assert not result.is_proved and "was changed" in result.doubt()
    assert np.max(np.abs(result.reveal() - scored(x))) <= result.error_bound


def test_an_edit_of_an_edit_goes_on_and_both_are_named(model):
    first = same_by_other_operations(model)
    again = edited(first, "levels", "0.25", "0.2500001")
    assert [change.split()[6] for change in again.plan.changes] == ["vectors,", "levels,"]


def test_what_an_edit_moves_is_in_the_bound(model):
    made = edited(model, "vectors", "value = 0.25", "value = 0.25003")
    assert made.plan.client.outputs[0].error_bound >= 3e-5 + model.plan.client.outputs[0].error_bound / 2
    x = ROWS[1]
    off = np.max(np.abs(made.simulate(x)[0] - scored(x)))
    assert 2e-5 < off <= made.plan.client.outputs[0].error_bound


def test_other_results_belong_to_the_first_stage_and_are_allowed_by_name(model):
    subtract = "traced", '"tensor.add"', '"tensor.sub"'
    with pytest.raises(IrError, match="an edited text after stage traced: changes results: result moves by 0.5"):
        edited(model, *subtract)
    made = edited(model, *subtract, changes_results=True)
    assert made.plan.client.outputs[0].is_proved
    x = ROWS[2]
    wanted = scored(x) - 0.5
    assert np.allclose(made.plaintext(x), wanted) and np.allclose(made.simulate(x), wanted, atol=1e-3)
    with pytest.raises(IrError, match="results may change at stage traced alone"):
        edited(model, "vectors", "value = 0.25", "value = 0.5", changes_results=True)


@pytest.mark.parametrize(
    ("stage", "old", "new", "error", "message"),
    [
        ("vectors", "value = 0.25", "value = 0.26", IrError, "changes results: result moves by 0.01"),
        ("ciphertexts", "{steps = 4}", "{steps = 1}", IrError, "changes results"),
        ("primitives", "{steps = 4}", "{steps = 1}", IrError, r"IR text:\d+:\d+: rlwe.rotate: the key of galois"),
        ("primitives", "galois_element = 625,", "galois_element = 5,", IrError, r"IR text:\d+:\d+: rlwe.rotate: the"),
        ("primitives", "galois_element = 25,", "galois_element = 5,", IrError, "changes results: result moves by"),
        ("ciphertexts", '"rlwe.rescale"(%', '"rlwe.neg"(%', IrError, r"IR text:\d+:\d+: rlwe.neg: results are"),
        (
            "primitives",
            "galois_element = 625, track = 0, level = 1",
            "galois_element = 625, track = 0, level = 0",
            IrError,
            r"IR text:\d+:\d+: rlwe.rotate: the key serves level 0 and below",
        ),
        ("vectors", '"vec.add"(%4', '"rlwe.add"(%4', IrError, r"IR text:\d+:\d+: rlwe.add: takes !rlwe.cipher"),
        ("vectors", '"vec.add"(%4', '"vec.plus"(%4', IrError, r"IR text:\d+:\d+: no op is called vec.plus"),
        ("vectors", '"vec.add"(%4', '"vec.add"(%44', IrError, r"IR text:\d+:\d+: %44 is not defined"),
        ("vectors", 'inputs = ["x"]', 'inputs = ["y"]', IrError, r"inputs and outputs are \['y'\]"),
        ("vectors", "IR 1:", "IR 2:", IrError, "IR text:1:1: the text is of format 2"),
        ("vectors", "// latticework", "# latticework", IrError, "IR text:1:1: this is no text of a stage"),
        ("vectors", "stage vectors", "stage layouts", ParameterMismatchError, "written of stage layouts"),
        ("vectors", "stage vectors", "stage plans", IrError, "there is no stage 'plans'"),
        ("vectors", "// from ", "// from 0", ParameterMismatchError, "compile again with the same program, data"),
        ("ciphertexts", "// parameters [2048", "// parameters [1000", IrError, r"IR text:4:1: the parameters are"),
        ("ciphertexts", "// parameters ", "// parameter ", IrError, "the line of parameters is missing"),
    ],
)
def test_an_edit_that_breaks_something_is_refused(model, stage, old, new, error, message):
    text = model.ir(stage)
    assert old in text
    with pytest.raises(error, match=message):
        lw.compile_ir(text.replace(old, new), model)


def test_a_level_edit_that_overflows_is_refused(model):
    """The result times 2^24 at 2^24 times its scale, at the last level: right in the clear, beyond the modulus."""
    text = model.ir("ciphertexts")
    end = re.search(r'"loop.yield"\(%(\d+)\) : \((!\w+)\)', text)
    scale = model.plan.client.outputs[0].scale * 2.0**24
    longer = f'%90 = "rlwe.mul_int"(%{end[1]}) {{factor = 16777216, scale = {scale!r}}} : ({end[2]}) -> !wide1\n'
    kind = '!wide1 = !rlwe.cipher<scheme = "ckks", count = 1, slots = 8, level = #level<track = 0, index = 0>, scale = '
    kind += f'{scale.hex()}, degree = 1, basis = "Q", secret_key = "main">\n'
    text = text.replace(end[0], f'{longer}  "loop.yield"(%90) : (!wide1)') + kind
    with pytest.raises((RangeError, LevelError), match="there is room for|do not fit"):
        lw.compile_ir(text, model)


def test_a_scale_that_does_not_follow_is_refused(model):
    text = model.ir("ciphertexts")
    scale = re.search(r'"rlwe.rescale".*?scale = ([0-9.]+)', text)[1]
    other = repr(float(scale) * 1.5)
    text = text.replace(f"scale = {scale}", f"scale = {other}")
    text = text.replace(f"scale = {float(scale).hex()}", f"scale = {float(other).hex()}")
    with pytest.raises((ScaleError, IrError, RangeError, LevelError)):
        lw.compile_ir(text, model)


def test_parameters_below_the_security_table_are_refused():
    secure = lw.compile(score, **SCORE, keep_ir=True)
    degree = secure.plan.chain.ring_degree
    text = secure.ir("ciphertexts")
    with pytest.raises(SecurityError, match="128-bit security allows"):
        lw.compile_ir(text.replace(f"parameters [{degree}", f"parameters [{degree // 2}"), secure)
    with pytest.raises(SecurityError, match="promise less than 128 bits; compile with insecure=True"):
        lw.compile_ir(text.replace("128, false", "128, true"), secure)


@lw.program
def chance(x: lw.Secret[8]):
    return lw.sigmoid(x)


def test_another_function_is_fitted_anew():
    model = lw.compile(chance, calibrate=ROWS, precision_bits=6, **SMALL)
    made = lw.compile_ir(model.ir("traced").replace('"sigmoid"', '"tanh"'), model, changes_results=True)
    assert np.abs(made.plaintext(ROWS[0]) - np.tanh(ROWS[0])).max() < 2.0**-5
    with pytest.raises(IrError, match="no function is called 'tan_h'"):
        lw.compile_ir(model.ir("traced").replace('"sigmoid"', '"tan_h"'), model, changes_results=True)


def test_constants_travel_by_hash_and_others_are_given(model):
    text = model.ir("traced")
    weights = np.linspace(-0.5, 1, 8)
    old, new = (lw.ir.source_hash(np.asarray(array)) for array in (WEIGHTS, weights))
    assert np.array_equal(model.ir_constants()[old], WEIGHTS)
    text = text.replace(old, new)
    with pytest.raises(IrError, match=f"names constants that are not there: {new}; give constants="):
        lw.compile_ir(text, model)
    made = lw.compile_ir(text, model, constants=[weights], changes_results=True)
    assert np.allclose(made.plaintext(ROWS[0]), np.sum(weights * ROWS[0]) * ROWS[0] + 0.25)


def test_a_rotation_without_its_key_is_refused(model):
    text = model.ir("primitives")
    without = re.sub(r'("rlwe.rotate"\(%\d+), %\d+\) \{steps = 4\} : \((!\w+), !\w+\)', r"\1) {steps = 4} : (\2)", text)
    assert without != text
    with pytest.raises(IrError, match=r"IR text:\d+:\d+: rlwe.rotate: has 1 operands, needs 2, its key among them"):
        lw.compile_ir(without, model)


NEGATE = '%80 = "{0}"(%0) : ({1}) -> {1}\n  "loop.yield"('


@pytest.mark.parametrize(
    ("stage", "operation", "message"),
    [
        ("primitives", "rlwe.conjugate", r"IR text:\d+:\d+: rlwe.conjugate is no instruction: it stands for several"),
        ("ciphertexts", "key.demand", r"IR text:\d+:\d+: key.demand"),
        ("traced", "loop.index", r"IR text:\d+:\d+: "),
    ],
)
def test_operations_of_other_stages_are_refused(model, stage, operation, message):
    text = model.ir(stage)
    kind = re.search(r"%0: (!\w+)", text)[1]
    with pytest.raises(IrError, match=message):
        lw.compile_ir(text.replace('"loop.yield"(', NEGATE.format(operation, kind), 1), model)


def test_noise_of_an_edit_is_checked_on_integers():
    """The product at the lowest level, where the modulus has no room for it."""
    exact = PROGRAMS["exact dot"]()
    text = exact.ir("ciphertexts")
    product = re.search(r'%(\d+) = "bfv.mul"\(%0, %(\d+)\) : \((!\w+), .*?\) -> (!\w+)', text)
    end = re.search(r'"loop.yield"\(%\d+\) : \((!\w+)\)', text)[1]
    assert product[3] != end
    down = '"rlwe.mod_down"(%{}) {{level = #level<track = 0, index = 0>, scale = 1.0}} : ({}) -> {}\n  '
    lower = f"%90 = {down.format(0, product[3], end)}%91 = {down.format(product[2], product[3], end)}"
    lower += f'%92 = "bfv.mul"(%90, %91) : ({end}, {end}) -> !low2\n'
    lower += (
        f'  %93 = "rlwe.relinearize"(%92) : (!low2) -> {end}\n  %94 = "rlwe.sub"(%93, %93) : ({end}, {end}) -> {end}'
    )
    result = re.search(r'  "loop.yield"\(%(\d+)\)', text)
    added = f'  {lower}\n  %95 = "rlwe.add"(%{result[1]}, %94) : ({end}, {end}) -> {end}\n  "loop.yield"(%95)'
    kind = re.search(rf"{end} = (.*)", text)[1].replace("degree = 1", "degree = 2")
    with pytest.raises(LevelError, match="noise takes .* bits more than the parameters leave"):
        lw.compile_ir(text.replace(result[0], added) + f"!low2 = {kind}\n", exact)


def test_integers_are_compared_exactly():
    exact = PROGRAMS["exact sums"]()
    text = exact.ir("traced")
    assert '"scalar.add"' in text
    with pytest.raises(IrError, match="changes results: .* at most 0 is allowed"):
        lw.compile_ir(text.replace('"scalar.add"', '"scalar.sub"', 1), exact)
    made = lw.compile_ir(text.replace('"scalar.add"', '"scalar.sub"', 1), exact, changes_results=True)
    assert made.simulate([1, 2, 3, -3]) != exact.simulate([1, 2, 3, -3])
