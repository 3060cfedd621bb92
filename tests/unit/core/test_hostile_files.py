"""Small files that would never end, or take all memory, are refused before work and memory are spent; limits can be raised."""

import io
import json
import zipfile
from pathlib import Path

import hostile_files as hostile
import hostile_onnx as onnx_made
import numpy as np
import pytest
from onnx import TensorProto

import latticework as lw
from latticework.commands.array_files import read_arrays
from latticework.errors import FormatError, ShapeError
from latticework.values.inputs.archives import check_archive

HERE = Path(__file__).parents[2] / "cases"


@pytest.mark.slow
def test_all_hostile_files_are_refused(start_python) -> None:
    """Each in a process of its own, which may take half a minute of processor time before it counts as endless."""
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import hostile_files; hostile_files.main([])"
    told, faults = start_python(script).communicate()
    found = [json.loads(line) for line in told.splitlines()]
    assert len(found) >= 200, faults
    bad = [f for f in found if f["said"].startswith(("FAULT", "imported")) or f["megabytes"] > hostile.MEGABYTES]
    assert not bad


FAST = {
    "empty loop": (hostile.read_onnx, lambda: onnx_made.loop(onnx_made.graph([], onnx_made.STATE, onnx_made.AFTER))),
    "nested loops": (hostile.read_onnx, lambda: onnx_made.nested_loops(6, 100)),
    "empty scan": (hostile.read_onnx, lambda: onnx_made.scan(2**26)),
    "call tree": (hostile.read_onnx, lambda: onnx_made.call_tree(49)),
    "branches that call": (hostile.read_onnx, lambda: onnx_made.if_tree(40)),
    "dims": (hostile.read_onnx, lambda: onnx_made.tensor(0, 2**62, 2**62)),
    "message": (hostile.read_onnx, lambda: onnx_made.deep_message(500)),
    "einsum": (hostile.read_onnx, lambda: onnx_made.added(
        onnx_made.node("Einsum", ["u"] * 4, ["k"], equation="a,b,c,d->"), arrays=[onnx_made.const("u", np.ones(3000, "f4"))])),
    "directed acyclic graph": (hostile.read_trees, lambda: onnx_made.dag(4, 11)),
    "one root many times": (hostile.read_trees, lambda: onnx_made.tree_ensemble([0] * 1000, [0], [-1])),
    "empty loop of HEIR": (hostile.read_heir, lambda: hostile.heir(main=hostile.heir_loop(2**60))),
    "empty loop of a client": (hostile.read_heir, lambda: hostile.heir(decrypt=hostile.heir_loop(2**60))),
    "computed end": (hostile.read_heir, lambda: hostile.heir(encrypt=hostile.heir_loop(2**30, computed=True))),
    "aliases": (hostile.read_heir, lambda: hostile.heir(aliases="!a0 = i32\n" + hostile.heir_aliases("tuple<{0}, {0}>"))),
    "many results": (hostile.read_heir, lambda: hostile.heir(main=['%m:999999999999 = "func.call"() : () -> ()'])),
    "wide integers": (hostile.read_heir, lambda: hostile.heir(main=["%m = arith.constant 1 : i9999999999"])),
    "constant": (hostile.read_heir, lambda: hostile.heir(main=["%m = arith.constant dense<0> : tensor<1099511627776xi32>"])),
    "shape of an array": (hostile.read_array, lambda: hostile.npy("(1099511627776,)")),
    "entries in one place": (hostile.read_array, lambda: hostile.overlapping(300)),
}  # fmt: skip


@pytest.mark.parametrize("name", FAST)
def test_hostile_files_are_refused(name, tmp_path) -> None:
    read, made = FAST[name]
    with pytest.raises(lw.UserError):
        read(made(), tmp_path)


@pytest.mark.parametrize("where", ["main", "encrypt", "decrypt"])
def test_calls_of_programs_of_heir_have_a_budget_of_their_own(where, tmp_path) -> None:
    """A loop whose end is computed is found when it is carried out; each call may take as much again."""
    text = hostile.heir(**{where: hostile.heir_loop(40, computed=True)})
    program = lw.from_heir(text, limits=lw.ReadingLimits(work=10_000))
    for _ in range(60):  # of 1600 turns each, together more than all that is allowed for one
        np.testing.assert_array_equal(program(np.arange(4.0)), np.arange(4.0))
    small = lw.from_heir(text, limits=lw.ReadingLimits(work=100))
    small.text.size = 0
    for what in (lambda: small(np.arange(4.0)), lambda: small.code):
        with pytest.raises(lw.UserError, match=r"more operations .* 100 units of work .*ReadingLimits\(work="):
            what()


def test_calls_that_double_are_counted_when_the_text_is_read() -> None:
    functions, lines = hostile.heir_calls(40)
    with pytest.raises(lw.UserError, match="units of work"):
        lw.from_heir(hostile.heir(main=lines, functions=functions))
    functions, lines = hostile.heir_calls(8)
    assert lw.from_heir(hostile.heir(main=lines, functions=functions))(np.arange(4.0)).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_arrays_that_are_given_back_are_not_counted() -> None:
    """A loop whose arrays take a gigabyte one after the other holds one of them at a time."""
    body = ["%m = tensor.empty() : tensor<1000000xf32>", "%k = tensor.splat %f : tensor<1000000xf32>"]
    lines = ["%f = arith.constant 1.0 : f32", *hostile.heir_loop(60, body)]
    assert lw.from_heir(hostile.heir(main=lines))(np.arange(4.0)).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_limits_of_onnx_files_can_be_raised() -> None:
    turns = onnx_made.loop(
        onnx_made.graph([onnx_made.node("Neg", ["s"], ["w"])], onnx_made.STATE, (onnx_made.AFTER[0], ("w", 1, None))),
        101,
    )
    with pytest.raises(ShapeError, match=r"more than 100 steps .*limits=lw.ReadingLimits\(work="):
        lw.from_onnx(turns, limits=lw.ReadingLimits(work=10_000))
    x = np.array([[1.0, -2.0, 3.0, 0.5]])
    np.testing.assert_array_equal(lw.from_onnx(turns, limits=lw.ReadingLimits(work=20_000))(x), -x)
    calls = onnx_made.call_tree(6)
    with pytest.raises(FormatError, match="more than 20 nodes, with functions unfolded"):
        lw.from_onnx(calls, limits=lw.ReadingLimits(work=800))
    with pytest.raises(FormatError, match="nested too deeply"):
        lw.from_onnx(calls, limits=lw.ReadingLimits(depth=3))
    with pytest.raises(FormatError, match=r"more than 100 bytes.*file_bytes="):
        lw.from_onnx(calls, limits=lw.ReadingLimits(file_bytes=100))
    np.testing.assert_array_equal(lw.from_onnx(calls)(x), x)


def test_loops_that_end_by_their_condition_may_say_any_number_of_turns() -> None:
    """As exporters write `while`: a number of turns that is never reached."""
    body = onnx_made.graph(
        [onnx_made.node("Less", ["i", "far"], ["go"]), onnx_made.node("Neg", ["s"], ["w"])],
        onnx_made.STATE, (("go", TensorProto.BOOL, []), ("w", TensorProto.FLOAT, None)))  # fmt: skip
    program = lw.from_onnx(onnx_made.loop(body, 2**63 - 1, extra=[onnx_made.const("far", 3, np.int64)]))
    np.testing.assert_array_equal(program(np.ones((1, 4))), np.ones((1, 4)))  # four turns


def test_models_are_read_from_paths_bytes_and_open_files(tmp_path) -> None:
    for data, read, ending in (
        (onnx_made.long_chain(3), lw.from_onnx, "onnx"),
        (hostile.heir(), lw.from_heir, "mlir"),
    ):
        path = tmp_path / f"model.{ending}"
        path.write_bytes(data)
        x = np.arange(4.0).reshape((1, 4) if ending == "onnx" else (4,))
        wanted = -x if ending == "onnx" else x
        with path.open("rb") as file:
            for given in (path, str(path), data, bytearray(data), io.BytesIO(data), file):
                np.testing.assert_array_equal(read(given)(x), wanted)
        for wrong in (3, None, [data], tmp_path, tmp_path / "none", "a\0b", "/dev/zero", io.StringIO("no model")):
            with pytest.raises(lw.UserError):
                read(wrong)
        with path.open("rb") as file, pytest.raises(FormatError, match="more than 10 bytes"):
            read(file, limits=lw.ReadingLimits(file_bytes=10))


def test_what_is_no_limit_is_refused() -> None:
    for wrong in (0, -1, 1.5, "many", True, None):
        with pytest.raises(lw.UserError, match="work=.*give a whole number from 1 on"):
            lw.ReadingLimits(work=wrong)


def archive(*entries, method=zipfile.ZIP_DEFLATED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, data in entries:
            file.writestr(name, data)
    return made.getvalue()


def test_archives_unpack_to_what_they_declare() -> None:
    limits = lw.ReadingLimits(memory_bytes=1000)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        good = archive(("a", b"x" * 900), ("b", b""), method=method)
        check_archive(good, "it", limits, len(good))
        for size in (899, 901, 0):
            wrong = hostile.lying(archive(("a", b"x" * 900), method=method), size)
            with pytest.raises(FormatError, match=r"does not unpack to|cannot be unpacked|no zip archive"):
                check_archive(wrong, "it", limits, len(wrong))
    bomb = archive(("a", bytes(1 << 20)))
    with pytest.raises(FormatError, match=r"unpacks to 1048576 bytes, more than \d+: .*memory_bytes="):
        check_archive(bomb, "it", limits, len(bomb))
    check_archive(bomb, "it", lw.ReadingLimits(memory_bytes=1 << 20), len(bomb))


@pytest.mark.parametrize("ending", ["npy", "npz"])
@pytest.mark.parametrize(
    "array",
    [np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(6).reshape(2, 3)), np.float32(2.5), np.zeros((0, 3)),
     np.array(["a", "bc"]), np.array([True, False]), np.arange(3, dtype=">i4")],
)  # fmt: skip
def test_arrays_are_read_as_numpy_reads_them(array, ending, tmp_path) -> None:
    path = tmp_path / f"a.{ending}"
    if ending == "npy":
        np.save(path, array)
        found = {"one": read_arrays(path)}
    else:
        np.savez_compressed(path, one=array)
        found = read_arrays(path)
    (name,) = found
    assert name == "one"
    np.testing.assert_array_equal(found[name], array)
    assert found[name].dtype == array.dtype
    assert found[name].flags.writeable


def test_products_of_powers_are_counted_before_they_are_listed():
    """Whatever degree a fitted estimator states: scikit-learn would list them all."""
    from sklearn.preprocessing import PolynomialFeatures

    fitted = PolynomialFeatures(2).fit(np.zeros((3, 4)))
    for degree in (10**8, (0, 10**8), -1, "2"):
        fitted.degree = degree
        with pytest.raises(lw.UserError, match=r"products of up to 100000000 factors|its degree is"):
            lw.from_sklearn(fitted, "transform")
    fitted.degree = (1, 2)
    assert lw.from_sklearn(PolynomialFeatures((1, 2)).fit(np.zeros((3, 4))), "transform").graph.nodes
