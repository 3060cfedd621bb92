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
from latticework.interop.heir import HeirProgram, evaluate

DATA = Path(__file__).parent.parent / "data" / "heir"
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


def read(folder: Path, text: str) -> HeirProgram:
    path = folder / "program.mlir"
    path.write_text(text)
    return lw.from_heir(path)


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
        ("tensor.extract %arg0[%c0]", "tensor.extract %arg0[%c2]", "outside of an array"),
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
          "scf.for %i = %z to %m step %o {", "}"], r"program.mlir:\d+: more than 2000 operations"),
        (["%z = arith.constant 1 : index", "scf.for %i = %z to %cc step %z {", "}"], r"program.mlir:\d+: scf.for"),
        (["%a = arith.addi %cc, %cc : index", "%b = arith.muli %a, %cc : index"], r"program.mlir:\d+: arith.muli"),
        (["%a = arith.divsi %zero, %zero : index"], "%zero, which is nowhere"),
        (["%z = arith.constant 0 : index", "%a = arith.divsi %z, %z : index"], r"program.mlir:\d+: arith.divsi"),
        (["%m = memref.alloc() : memref<99999999999x!openfhe.ciphertext>"], r"program.mlir:\d+: memref.alloc"),
        (["%m = tensor.empty() : tensor<4xf64>", "%i = arith.constant 4 : index", "%e = tensor.extract %m[%i] : tensor<4xf64>"],
         r"program.mlir:\d+: tensor.extract: .*outside"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_out_names_the_line(
    lines: list[str], match: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "MOST_OPERATIONS", 2000)
    with pytest.raises(UserError, match=match):
        program = read(tmp_path, main_of(*lines))
        program(*draw(program))


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
