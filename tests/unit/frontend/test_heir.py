"""Programs that HEIR compiled: read from recorded texts, in NumPy, simulated and encrypted; what is refused."""

from __future__ import annotations

import gzip
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import latticework as lw
from latticework.errors import UserError
from latticework.frontend.heir import HeirProgram

DATA = Path(__file__).parents[2] / "data" / "heir"
NAMES = ("dot", "matvec16", "matvec128", "mlp", "conv", "boot", "mlp_generic", "exp")
FITTED = {"exp": 1e-4}  # how far HEIR's own polynomial is off


def _load_make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_heir", DATA / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = _load_make()


def text_of(name: str) -> str:
    return gzip.decompress((DATA / f"{name}.mlir.gz").read_bytes()).decode()


def read(folder: Path, text: str, limits: lw.ReadingLimits | None = None) -> HeirProgram:
    path = folder / "program.mlir"
    path.write_text(text)
    return lw.from_heir(path, limits=limits or lw.ReadingLimits())


def draw(program: HeirProgram) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.uniform(-1, 1, parameter.kind.shape) for parameter in program.inputs]


def oracle(name: str, inputs: list[np.ndarray]) -> np.ndarray:
    return make.expected(name.removesuffix("_generic"), *inputs)


SLOW = "matvec128"  # whose packing of the matrix takes 1.6 million steps


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == SLOW else ()) for n in NAMES])
def test_called_with_arrays_it_computes_in_numpy(name: str, tmp_path: Path) -> None:
    program = read(tmp_path, text_of(name))
    inputs = draw(program)
    result = program(*inputs)
    assert result.shape == oracle(name, inputs).shape
    np.testing.assert_allclose(result, oracle(name, inputs), rtol=1e-12, atol=FITTED.get(name, 1e-12))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (SLOW, "mlp_generic")])
def test_encrypted_it_is_within_the_predicted_error(name: str, tmp_path: Path) -> None:
    program = read(tmp_path, text_of(name))
    model = lw.compile(program, ring_degree=1024, insecure=True)
    client = model.client()
    inputs = draw(program)
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(*inputs))).reveal()
    (output,) = model.plan.client.outputs
    np.testing.assert_allclose(result, oracle(name, inputs), rtol=0, atol=output.error_bound + FITTED.get(name, 0.0))
    np.testing.assert_allclose(np.squeeze(model.simulate(*inputs)), program(*inputs), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_large_matrix_is_within_the_predicted_error(tmp_path: Path) -> None:
    program = read(tmp_path, text_of("matvec128"))
    model = lw.compile(program)
    client = model.client()
    inputs = draw(program)
    result = client.decrypt(model.server(client.keygen().public())(client.encrypt(*inputs))).reveal()
    (output,) = model.plan.client.outputs
    np.testing.assert_allclose(result, oracle("matvec128", inputs), rtol=0, atol=output.error_bound)


def test_generic_and_pretty_forms_are_the_same_program(tmp_path: Path) -> None:
    pretty, generic = (read(tmp_path, text_of(name)).code for name in ("mlp", "mlp_generic"))
    assert [op.name for op in pretty.module.walk()] == [op.name for op in generic.module.walk()]
    assert (pretty.inputs, pretty.outputs) == (generic.inputs, generic.outputs)
    assert pretty.module.sources.keys() == generic.module.sources.keys()


def test_levels_and_bootstraps_of_the_text_are_dropped(tmp_path: Path) -> None:
    assert "openfhe.bootstrap" in text_of("boot")
    names = {op.name for op in read(tmp_path, text_of("boot")).code.module.walk()}
    assert names <= {"vec.add", "vec.mul", "vec.rotate", "vec.constant", "vec.splat", "loop.yield"}
    model = lw.compile(read(tmp_path, text_of("boot")), ring_degree=1024, insecure=True)
    assert not model.plan.bootstraps


def squarings(count: int) -> str:
    """The dot product with its result squared so many times, as HEIR would write it."""
    lines, value = [], "ct_7"
    for i in range(count):
        lines.append(f"    %s{i} = openfhe.square %cc, %{value} : (!cc, !ct) -> !ct")
        value = f"s{i}"
    old = "    %0 = tensor.empty() : tensor<1x!ct>\n    %ct_8 = openfhe.mod_reduce_inplace %cc, %ct_7"
    text = text_of("dot")
    assert old in text
    return text.replace(old, "\n".join([*lines, old.replace("%ct_7", f"%{value}")]))


def test_bootstraps_are_placed_where_levels_run_out(tmp_path: Path) -> None:
    program = read(tmp_path, squarings(3))
    inputs = [np.full(8, 8**-0.5), np.full(8, 8**-0.5)]
    expected = (inputs[0] @ inputs[1]) ** 8
    np.testing.assert_allclose(program(*inputs), expected, rtol=1e-12)
    calibrate = tuple(np.stack([x, 0.9 * x]) for x in inputs)
    model = lw.compile(program, calibrate=calibrate, bootstrap_set="T11", insecure=True, precision_bits=4)
    assert model.plan.bootstraps
    np.testing.assert_allclose(model.simulate(*inputs), expected, atol=model.plan.client.outputs[0].error_bound)


def test_all_operations_that_are_not_known_are_named(tmp_path: Path) -> None:
    text = text_of("dot").replace("openfhe.relin_inplace", "openfhe.renew").replace("openfhe.rot ", "openfhe.turn ")
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines, 1) if "openfhe.renew" in line)
    with pytest.raises(UserError) as error:
        read(tmp_path, text.replace("    %c1 = arith.constant 1 : index", "    %c1 = odd.one {a = [1]} -> index", 1))
    for named in (f"openfhe.renew in line {first}", "openfhe.turn in line", "odd.one in line"):
        assert named in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("client.decrypt", "client.other", "client functions"),
        ("%ct_3, %ct_4", "%ct_3, %nowhere", "%nowhere, which is nowhere"),
        ("tensor<8xf64>) -> !pt", "tensor<8xf64> -> !pt", r"program.mlir:\d+: expected"),
        ("arith.constant 4 : index", "arith.constant dense<[1, 2, 3]> : tensor<2xindex>", "3 numbers"),
        ("arith.constant 8 : i32", "arith.constant 9 : i32", "outside of an array"),
        ('roles = ["client.encrypt"]', 'roles = ["other"]', "client functions"),
    ],
)
def test_faults_name_the_line(old: str, new: str, match: str, tmp_path: Path) -> None:
    text = text_of("dot")
    assert old in text
    with pytest.raises(UserError, match=match):
        program = read(tmp_path, text.replace(old, new))
        program(*draw(program))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        # client functions that do something else
        ("@dot__decrypt__result0(%cc: !cc, %arg0: tensor<1x!ct>", "@dot__decrypt__result0(%cc: !cc, %arg0: !cc",
         "takes ciphertexts and returns one array"),
        ('roles = ["client.encrypt"]', "roles = true", "client functions"),
        ('roles = ["client.decrypt"]', 'roles = ["client.encrypt"]', "of its kind takes one array"),
        # literals
        ("-> tensor<f32> attributes", "-> tensor<7xf32> attributes", r"returns an array of shape \(\)"),
        ("arith.constant 4 : index", "arith.constant 0x1FFFFFFFFFFFFFFFF : f64", "int too big"),
        ("arith.constant 4 : index", 'arith.constant dense<"0xZZ"> : tensor<1xf32>', r"program.mlir:\d+"),
        # loops
        ("scf.for", "scf.while", "scf.while in line"),
    ],
)  # fmt: skip
def test_more_faults_name_the_line(old: str, new: str, match: str, tmp_path: Path) -> None:
    text = text_of("dot") if old in text_of("dot") else text_of("mlp")
    assert old in text
    with pytest.raises(UserError, match=match):
        program = read(tmp_path, text.replace(old, new))
        program(*draw(program))


def main_of(*lines: str) -> str:
    """The dot product with these lines at its beginning."""
    text = text_of("dot")
    start = text.index("\n", text.index("func.func @dot("))
    return text[: start + 1] + "\n".join(lines) + "\n" + text[start + 1 :]


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        (["%z = arith.constant 0 : index", "%o = arith.constant 3 : index", "scf.for %i = %z to %o step %z {", "}"],
         "scf.for: .*steps of 0|loop by steps of 0"),
        (["%z = arith.constant 0 : index", "%o = arith.constant 1 : index", "%m = arith.constant 1000000000000 : index",
          "scf.for %i = %z to %m step %o {", "}"], r"program.mlir:\d+: .* more operations are carried out than the 4000 units of work"),
        (["%z = arith.constant 1 : index", "scf.for %i = %z to %cc step %z {", "}"], r"program.mlir:\d+: scf.for"),
        (["%a = arith.addi %cc, %cc : index", "%b = arith.muli %a, %cc : index"], r"program.mlir:\d+: arith.addi"),
        (["%a = arith.divsi %zero, %zero : index"], "%zero, which is nowhere"),
        (["%z = arith.constant 0 : index", "%a = arith.divsi %z, %z : index"], r"program.mlir:\d+: arith.divsi"),
        (["%m = memref.alloc() : memref<99999999999x!openfhe.ciphertext>"], r"program.mlir:\d+: memref.alloc"),
        (["%m = tensor.empty() : tensor<4xf64>", "%i = arith.constant 4 : index", "%e = tensor.extract %m[%i] : tensor<4xf64>"],
         r"program.mlir:\d+: tensor.extract: .*outside"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_out_names_the_line(lines: list[str], match: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=match):
        program = read(tmp_path, main_of(*lines), lw.ReadingLimits(work=4000))
        program(*draw(program))


COUNT = "%c4 = arith.constant 4 : index"  # steps of the last of three rotations in the dot product


@pytest.mark.parametrize(
    ("lines", "steps"),
    [
        (["%a = arith.constant -1 : i32", "%b = arith.constant 5 : i32", "%l = arith.cmpi ult, %a, %b : i32"], 3),
        (["%a = arith.constant -1 : i32", "%b = arith.constant 5 : i32", "%l = arith.cmpi slt, %a, %b : i32"], 6),
        (["%a = arith.constant 127 : i8", "%b = arith.addi %a, %a : i8", "%l = arith.cmpi slt, %b, %a : i8"], 6),
        (["%a = arith.constant true", "%l = arith.addi %a, %a : i1"], 3),
        (["%a = arith.constant true", "%b = arith.constant false", "%l = arith.cmpi slt, %a, %b : i1"], 6),
        (["%a = arith.constant 0x7FF8000000000000 : f64", "%l = arith.cmpf ueq, %a, %a : f64"], 6),
        (["%a = arith.constant 0x7FF8000000000000 : f64", "%l = arith.cmpf one, %a, %a : f64"], 3),
        (["%a = arith.constant 259 : i32", "%b = arith.trunci %a : i32 to i8", "%c4 = arith.index_cast %b : i8 to index"], 3),
        (["%a = arith.constant true", "%b = arith.extsi %a : i1 to i32", "%c4 = arith.index_cast %b : i32 to index"], -1),
        (["%a = arith.constant -8 : i8", "%b = arith.extui %a : i8 to i32", "%c = arith.constant 3 : i32",
          "%d = arith.divsi %b, %c : i32", "%c4 = arith.index_cast %d : i32 to index"], 82),
        (["%a = arith.constant -8 : i8", "%b = arith.constant 3 : i8", "%d = arith.divui %a, %b : i8",
          "%c4 = arith.index_cast %d : i8 to index"], 82),
        (["%a = arith.constant -8 : i8", "%b = arith.constant 5 : i8", "%d = arith.remui %a, %b : i8",
          "%c4 = arith.index_cast %d : i8 to index"], 3),
        (["%a = arith.constant dense<127> : tensor<1xi8>", "%b = arith.addi %a, %a : tensor<1xi8>",
          "%d = tensor.extract %b[%c0] : tensor<1xi8>", "%c4 = arith.index_cast %d : i8 to index"], -2),
        (["%a = arith.constant 9223372036854775807 : index", "%b = arith.addi %a, %a : index",
          "%c4 = arith.subi %b, %c1 : index"], -3),
    ],
)  # fmt: skip
def test_integers_have_their_width(lines: list[str], steps: int, tmp_path: Path) -> None:
    if "%l" in lines[-1]:
        lines = [*lines, "%six = arith.constant 6 : index", "%three = arith.constant 3 : index",
                 "%c4 = arith.select %l, %six, %three : index"]  # fmt: skip
    program = read(tmp_path, text_of("dot").replace(COUNT, "\n".join(lines)))
    a, b = inputs = draw(program)
    expected = a * b
    for count in (1, 2, steps):
        expected = expected + np.roll(expected, -count)
    np.testing.assert_allclose(program(*inputs), expected[0], rtol=1e-12, atol=1e-12)


ADD = "openfhe.add_inplace %cc, %ct_3, %ct_4 : (!cc, !ct, !ct)"


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (COUNT, "%c4 = arith.constant 260 : i8", "program.mlir:15: 260 does not fit in i8"),
        (COUNT, "%c4 = arith.constant 4.7 : index", "program.mlir:15: 4.7 is no index"),
        (COUNT, "%c4 = arith.constant 4.0 : f64", "program.mlir:23: openfhe.rot: .*integer"),
        (COUNT, "%four = arith.constant 4.0 : f64\n%c4 = arith.constant 1.0 : f64\n"
         "%l = arith.cmpf slt, %c4, %four : f64", "arith.cmpf in line 16"),
        ("%ct_4 = openfhe.rot", "%ct_2 = openfhe.rot", "program.mlir:21: %ct_2 is made in line 19 already"),
        (COUNT, "scf.if %c1 {\n%c4 = arith.constant 4 : index\n}", "program.mlir:25: openfhe.rot reads %c4, which is nowhere"),
        ("%0[0, 0] [1, 8]", "%0[0, %no] [1, 8]", "tensor.extract_slice reads %no, which is nowhere"),
        ("%cc, %ct_5, %ct_6", "%cc, %ct_3, %ct_6", "reads %ct_3, which line 22 overwrites"),
        (ADD, "openfhe.add %cc, %ct_3, %c4 : (!cc, !ct, index)", "program.mlir:22: openfhe.add: it takes .* and a number"),
        (ADD, "openfhe.add %cc, %ct_3, %ct_4, %ct_4 : (!cc, !ct, !ct, !ct)", "program.mlir:22: openfhe.add: it takes"),
        ("index = 1 : i64, roles", "index = 0 : i64, roles", "dot__encrypt__arg1 has the index of dot__encrypt__arg0"),
        ("@dot__generate_crypto_context", "@dot", "dot is a function of line 10 already"),
    ],
)  # fmt: skip
def test_text_that_could_mean_something_else_is_refused(old: str, new: str, match: str, tmp_path: Path) -> None:
    text = text_of("dot")
    assert old in text
    with pytest.raises(UserError, match=match):
        program = read(tmp_path, text.replace(old, new))
        program(*draw(program))


def test_constants_that_are_infinite_are_refused(tmp_path: Path) -> None:
    new = "openfhe.mul_const %cc, %ct_3, %inf : (!cc, !ct, f64)"
    text = text_of("dot").replace(COUNT, COUNT + "\n%inf = arith.constant 0x7FF0000000000000 : f64").replace(ADD, new)
    with pytest.raises(UserError, match="program.mlir:23: openfhe.mul_const: a constant that is infinite or NaN"):
        lw.compile(read(tmp_path, text), ring_degree=1024, insecure=True)


@pytest.mark.parametrize("bound", ["0.0", "-1.0e+6", "0.5"])
def test_client_functions_that_cut_numbers_off_are_refused(bound: str, tmp_path: Path) -> None:
    old = "    %from_elements = tensor.from_elements %extracted_0 : tensor<f32>"
    new = (
        f"    %low = arith.constant {bound} : f32\n    %cut = arith.maximumf %extracted_0, %low : f32\n"
        "    %from_elements = tensor.from_elements %cut : tensor<f32>"
    )
    assert old in text_of("dot")
    with pytest.raises(UserError, match="does more than moving elements"):
        _ = read(tmp_path, text_of("dot").replace(old, new)).code


def test_locations_at_the_top_are_skipped(tmp_path: Path) -> None:
    program = read(tmp_path, '#loc = loc("model.mlir":1:2)\n' + text_of("dot"))
    np.testing.assert_allclose(program(*[np.ones(8)] * 2), 8.0)


def test_functions_that_call_themselves_are_refused(tmp_path: Path) -> None:
    text = text_of("dot").rstrip().removesuffix("}") + (
        "  func.func @again(%cc: !cc) -> !cc {\n    %0 = call @again(%cc) : (!cc) -> !cc\n    return %0 : !cc\n  }\n}\n"
    )
    call = "    %again = call @again(%cc) : (!cc) -> !cc\n"
    start = text.index("\n", text.index("func.func @dot(")) + 1
    program = read(tmp_path, text[:start] + call + text[start:])
    with pytest.raises(UserError, match=r"program.mlir:\d+: calls of again are nested 50 deep"):
        program(*draw(program))


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01\x02", b"\xff\xfe\xfd", bytes(range(256)), b"LWPLAN\x00\x00", b"module {"]
)
def test_files_that_are_no_text_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_bytes(data)
    with pytest.raises(UserError, match="program.mlir"):
        lw.from_heir(path)
    with pytest.raises(UserError, match="cannot be read"):
        lw.from_heir(tmp_path)


def test_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    text = text_of("dot")
    for end in range(0, len(text) - 4, 97):
        with pytest.raises(UserError):
            read(tmp_path, text[:end])


def test_wrong_inputs_are_refused(tmp_path: Path) -> None:
    program = read(tmp_path, text_of("matvec16"))
    with pytest.raises(UserError, match="declared is"):
        program(np.zeros(15))
    with pytest.raises(UserError, match="weights="):
        lw.compile(program, weights={"w": 1})
    with pytest.raises(UserError, match="cannot be read"):
        lw.from_heir(tmp_path / "none.mlir")


@pytest.mark.parametrize("name", ["dot", "conv"])
def test_heir_opt_still_prints_what_was_recorded(name: str) -> None:
    installed = importlib.util.find_spec("heir")
    found = shutil.which("heir-opt")
    if installed is not None and installed.origin is not None:
        found = str(Path(installed.origin).parent / "heir-opt")
    if found is None or not Path(found).is_file():
        pytest.skip("heir-py is not installed: pip install 'latticework[heir]'")
    assert make.compiled(name, found) == text_of(name)
