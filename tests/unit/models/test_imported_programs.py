"""Graphs as programs: evaluated on arrays and compiled, with all refusals told at once at the user's places."""

import numpy as np
import pytest

import latticework as lw
from latticework.errors import TraceError, UnsupportedError, UserError
from latticework.errors.remedies import Remedy
from latticework.ir.location import Loc
from latticework.models.converters import Converter, Converters
from latticework.models.imported_program import ImportedProgram, identifier
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.plan.client_steps import (
    Elementary,
    Extreme,
    Finished,
    Given,
    Labels,
    OwnerArray,
    OwnerStages,
    Piece,
    Prepared,
    Softmax,
    TableRows,
)

AT = Loc("model", 1)
KNOWN = Converters(
    [
        Converter("Linear", lambda x, w, *, bias=0.0: x @ w + bias),
        Converter("Square", np.square),
        Converter("Halves", lambda x: (x[:, :2], x[:, 2:])),
        Converter("Scale", lambda x: x, since=1),
        Converter("Scale", lambda x, factor: x * factor, since=9),
        Converter("Shape", lambda x: np.array(np.shape(x))),
        Converter("Strict", lambda x: np.sort(x)),
    ],
    {"Sort": Remedy("it compares", "sort after decryption")},
)


def node(
    operator: str, *args: object, results: tuple[str, ...], line: int = 2, version: int = 0, **options: object
) -> ModelNode:
    return ModelNode(operator, args, options, results, Loc("model", line, f"node {line}"), version)


def graph(
    *nodes: ModelNode,
    outputs: tuple[str, ...] = ("y",),
    inputs: int = 1,
    labels: tuple[str, ...] = (),
    **constants: object,
) -> ModelGraph:
    given = tuple(GraphInput("input.1" if i == 0 else f"input_{i}", (1, 4), AT) for i in range(inputs))
    return ModelGraph("net 1", given, constants, nodes, tuple(map(Ref, outputs)), AT, labels)


def linear(rng: np.random.Generator) -> ImportedProgram:
    weights = rng.normal(size=(4, 3)).astype(np.float32)
    return ImportedProgram(
        graph(
            node("Linear", Ref("input.1"), Ref("w"), results=("h",), bias=Ref("b")),
            node("Square", Ref("h"), results=("y",), line=3),
            w=weights, b=np.arange(3.0),
        ),
        KNOWN,
    )  # fmt: skip


def test_a_graph_computes_on_arrays_and_encrypted() -> None:
    rng = np.random.default_rng(0)
    program = linear(rng)
    x = rng.normal(size=(1, 4))
    weights = program.graph.constants["w"].astype(np.float64)
    np.testing.assert_allclose(program(x), (x @ weights + np.arange(3.0)) ** 2, rtol=1e-12)
    model = lw.compile(program, calibrate=rng.normal(size=(50, 4)), ring_degree=4096, insecure=True)
    client = model.client()
    y = client.decrypt(model.server(client.keygen().public())(client.encrypt(x)))
    assert np.all(np.abs(y.reveal() - program(x)) <= y.error_bound)


def test_lines_of_the_report_are_places_of_the_model() -> None:
    report = lw.compile(linear(np.random.default_rng(1)), ring_degree=4096, insecure=True).report()
    assert {line.where for line in report.execution.lines} == {"model:2", "model:3"}


def test_inputs_have_names_of_python() -> None:
    assert [identifier(n) for n in ("input.1", "3d", "", "x")] == ["input_1", "x3d", "x", "x"]
    program = ImportedProgram(graph(node("Square", Ref("input_1"), results=("y",)), inputs=2), KNOWN)
    assert list(program.signature.parameters) == ["input_1", "input_1_2"]
    assert program(np.zeros((1, 4)), np.full((1, 4), 3.0)).tolist() == [[9.0] * 4]


def test_versions_give_meanings() -> None:
    old = ImportedProgram(graph(node("Scale", Ref("input.1"), results=("y",), version=8)), KNOWN)
    new = ImportedProgram(graph(node("Scale", Ref("input.1"), 3.0, results=("y",), version=9)), KNOWN)
    assert old(np.ones((1, 4)))[0, 0] == 1 and new(np.ones((1, 4)))[0, 0] == 3


def test_several_outputs_are_a_tuple_or_named() -> None:
    halves = node("Halves", Ref("input.1"), results=("a", "b"))
    x = np.arange(4.0)[None]
    first, second = ImportedProgram(graph(halves, outputs=("a", "b")), KNOWN)(x)
    assert first.tolist() == [[0, 1]] and second.tolist() == [[2, 3]]
    named = ImportedProgram(graph(halves, outputs=("a", "b"), labels=("left", "right")), KNOWN)(x)
    assert named["right"].tolist() == [[2, 3]]


def test_what_only_shapes_decide_is_computed_at_once() -> None:
    nodes = (
        node("Shape", Ref("input.1"), results=("s",)),
        node("Scale", Ref("input.1"), Ref("s"), results=("y",), version=9),
    )
    known = Converters([*KNOWN, Converter("Scale", lambda x, shape: x * float(shape[-1]), since=9)])
    program = ImportedProgram(graph(*nodes), known)
    assert program(np.full((1, 4), 2.0)).tolist() == [[8.0] * 4]


def test_all_unknown_operators_and_options_are_told_at_once() -> None:
    nodes = (
        node("Sort", Ref("input.1"), results=("a",), line=2),
        node("Sort", Ref("a"), results=("b",), line=5),
        node("Square", Ref("b"), results=("c",), line=7, axis=1),
        node("Scale", Ref("c"), results=("y",), line=8),
    )
    with pytest.raises(UnsupportedError) as caught:
        ImportedProgram(graph(*nodes), KNOWN)
    said = str(caught.value)
    assert "net 1: 4 operators" in said and "model:2" in said and "also model:5" in said and "model:7" in said
    assert "sort after decryption" in said and "model:8" in said and "version" not in said.split("model:8")[1]


def test_faults_of_several_nodes_are_told_at_once_and_followers_left_out() -> None:
    nodes = (
        node("Strict", Ref("input.1"), results=("a",), line=2),
        node("Square", Ref("a"), results=("b",), line=3),
        node("Linear", Ref("input.1"), np.ones((5, 2)), results=("c",), line=4),
    )
    with pytest.raises(UnsupportedError) as caught:
        ImportedProgram(graph(*nodes, outputs=("b", "c")), KNOWN)
    said = str(caught.value)
    assert "2 operators" in said and "model:2" in said and "model:4" in said and "model:3" not in said


def test_one_fault_is_told_at_its_place() -> None:
    with pytest.raises(UserError, match=r"^model:4: .*\(1, 4\).*\(5, 2\)"):
        ImportedProgram(graph(node("Linear", Ref("input.1"), np.ones((5, 2)), results=("y",), line=4)), KNOWN)


def test_an_output_without_a_secret_is_refused() -> None:
    with pytest.raises(TraceError, match="output s depends on no input"):
        ImportedProgram(graph(node("Shape", Ref("input.1"), results=("s",)), outputs=("s",)), KNOWN)


def owned(rng: np.random.Generator) -> ImportedProgram:
    """Three scores of the logarithms of four numbers: a class and probabilities."""
    stages = OwnerStages(
        (Given("age", (1, 4)),),
        (Prepared("input_1", (Piece("age", (Elementary("log"),)),)),),
        (
            Finished("label", "result", (Extreme(Labels.of(["a", "b", "c"])),)),
            Finished("chance", "result", (Softmax(),)),
        ),
    )
    nodes = (node("Linear", Ref("input.1"), Ref("w"), results=("y",), bias=Ref("b")),)
    return ImportedProgram(graph(*nodes, w=rng.normal(size=(4, 3)), b=np.arange(3.0)), KNOWN, (), stages)


def test_what_the_owner_computes_is_part_of_the_model() -> None:
    rng = np.random.default_rng(0)
    program = owned(rng)
    x = rng.uniform(1, 100, size=(5, 4))
    exact = np.log(x) @ program.graph.constants["w"] + np.arange(3.0)
    found = program(x)
    assert found["label"].tolist() == np.array(list("abc"))[exact.argmax(-1)].tolist()
    np.testing.assert_allclose(found["chance"], np.exp(exact) / np.exp(exact).sum(-1, keepdims=True), rtol=1e-12)
    assert program(age=x[:1])["label"].tolist() == found["label"][:1].tolist()
    for wrong in ((x, x), ()):
        with pytest.raises(TraceError, match="net 1 takes the inputs age"):
            program(*wrong)
    model = lw.compile(program, calibrate=x, ring_degree=4096, insecure=True)
    client = model.client(threads=1)
    y = client.decrypt(model.server(client.keygen().public())(client.encrypt(age=x)))
    assert y["label"].is_certain.all() and y["label"].reveal().tolist() == found["label"].tolist()
    assert np.abs(y["chance"].reveal() - found["chance"]).max() <= y["chance"].error_bound < 0.01


def test_columns_of_imported_models_are_scaled_unless_told_otherwise() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, size=(20, 4)) * [1, 1e3, 1e-2, 1]
    small = {"ring_degree": 4096, "insecure": True, "calibrate": x}
    scaled = lw.compile(linear(rng), **small).plan.client
    assert scaled.owner is not None and scaled.secret_inputs[0].high < 1.21
    assert lw.compile(linear(rng), scale_columns=False, **small).plan.client.owner is None
    few = {**small, "calibrate": x[:3]}  # of four columns: most other rows are beyond the range of some
    assert lw.compile(linear(rng), **few).plan.client.owner is None
    assert lw.compile(linear(rng), scale_columns=True, **few).plan.client.owner is not None
    assert lw.compile(linear(rng), **{**small, "calibrate": x / x.max(0)}).plan.client.owner is None
    assert (
        scaled.levels_spent == lw.compile(linear(rng), **{**small, "calibrate": x / x.max(0)}).plan.client.levels_spent
    )


def test_steps_that_do_not_fit_are_refused_when_importing() -> None:
    wrong = OwnerStages(
        (Given("x", (1, 4)),), (Prepared("input_1", (Piece("x", (TableRows(OwnerArray.of(np.ones((2, 3)))),)),)),)
    )
    with pytest.raises(UserError, match=r"steps of the owner: what is computed for input .* has shape \(1, 4, 3\)"):
        ImportedProgram(graph(node("Square", Ref("input.1"), results=("y",))), KNOWN, (), wrong)
