"""Where models are cut: what moves to the owner unasked and asked, with the same results, and what cannot."""

import numpy as np
import pytest
from scipy.special import expit, softmax

import latticework as lw
from latticework.errors import UnsupportedError, UserError
from latticework.errors.remedies import Remedy
from latticework.ir.location import Loc
from latticework.models.client_rules.aten import ATEN_RULES
from latticework.models.client_rules.classes import ML, VOTED
from latticework.models.client_rules.onnx import ONNX_RULES
from latticework.models.converters import Converter, Converters
from latticework.models.cuts import cut_program
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref

AT = Loc("model", 1)
RNG = np.random.default_rng(0)
W, B = RNG.normal(size=(4, 3)), RNG.normal(size=3)
NAMES = ["iris", "rose", "tulip"]
KNOWN = Converters(
    [
        Converter("MatMul", lambda a, b: a @ b),
        Converter("Add", lambda a, b: a + b),
        Converter("Mul", lambda a, b: a * b),
        Converter("Relu", lw.relu),
        Converter("Softmax", lambda x, *, axis=-1: lw.softmax(x, axis)),
        Converter("Sigmoid", lw.sigmoid),
        Converter("Reshape", lambda x, shape: np.reshape(x, tuple(shape))),
        Converter("Shape", lambda x: np.array(np.shape(x))),
        Converter("Concat", lambda *parts, axis: np.concatenate(parts, axis)),
        Converter("Log", np.log),
        Converter(f"{ML}.LinearClassifier", lambda x, *, coefficients, wanted=(), **names: (
            None, x @ np.reshape(coefficients, (3, 4)).T)),
        Converter("aten.mm.default", lambda a, b: a @ b),
    ],
    {"ArgMax": Remedy("it compares", "take the place after decryption")},
)  # fmt: skip


def node(operator, *args, to="y", name="", version=13, **options):
    results = (to,) if isinstance(to, str) else to
    return ModelNode(operator, args, options, results, Loc("model", 2, f"{operator} {name}".strip()), version)


def graph(*nodes, inputs=(("x", (2, 4)),), outputs=("y",), labels=(), **constants):
    given = tuple(GraphInput(name, shape, AT) for name, shape in inputs)
    return ModelGraph("net", given, constants, nodes, tuple(map(Ref, outputs)), AT, labels)


def steps_of(program):
    """Names of the steps before each encrypted input and after each output."""
    stages = program.owner
    before = {p.input: [s.NAME for piece in p.pieces for s in piece.steps] + [s.NAME for s in p.steps]
              for p in stages.before}  # fmt: skip
    return before, {r.name: [s.NAME for s in r.steps] for r in stages.after}


def scores():
    return node("MatMul", Ref("x"), Ref("w"), to="h"), node("Add", Ref("h"), Ref("b"), to="z")


def test_probabilities_and_names_of_classes_are_the_owners():
    program = cut_program(
        graph(
            *scores(),
            node("Softmax", Ref("z"), to="p", axis=1),
            node("ArgMax", Ref("p"), to="c", axis=1, keepdims=0),
            node(f"{ML}.ArrayFeatureExtractor", Ref("names"), Ref("c"), to="l"),
            node("CastLike", Ref("l"), np.array(["a text"]), to="label"),
            node(f"{ML}.ZipMap", Ref("p"), to="chance", classlabels_strings=NAMES),
            outputs=("label", "chance"), labels=("label", "chance"), w=W, b=B, names=np.array(NAMES),
        ),
        KNOWN, ONNX_RULES,
    )  # fmt: skip
    assert [n.operator for n in program.graph.nodes] == ["MatMul", "Add"] and list(program.graph.constants) == [
        "w",
        "b",
    ]
    assert steps_of(program) == ({}, {"label": ["softmax", "extreme", "names_of"], "chance": ["softmax", "by_name"]})
    assert "the owner of the data computes ArgMax after decryption" in program.notes and len(program.notes) == 5
    x = RNG.normal(size=(6, 4))
    found, exact = program(x), x @ W + B
    assert found["label"].tolist() == np.array(NAMES)[exact.argmax(1)].tolist()
    assert [list(row) for row in found["chance"]] == [NAMES] * 6
    np.testing.assert_allclose([list(row.values()) for row in found["chance"]], softmax(exact, 1), rtol=1e-9)


def test_a_classifier_is_its_scores_and_a_class():
    options = {"coefficients": W.T.reshape(-1), "classlabels_strings": NAMES, "wanted": (True, False)}
    classifier = node(f"{ML}.LinearClassifier", Ref("x"), to=("label", ""), **options)
    program = cut_program(graph(classifier, outputs=("label",)), KNOWN, ONNX_RULES)
    x = RNG.normal(size=(5, 4))
    assert program(x).tolist() == np.array(NAMES)[(x @ W).argmax(1)].tolist()
    assert steps_of(program) == ({}, {"result": ["extreme"]})
    both = node(f"{ML}.LinearClassifier", Ref("x"), to=("label", "p"), post_transform="SOFTMAX", **options)
    program = cut_program(graph(both, outputs=("label", "p"), labels=("label", "p")), KNOWN, ONNX_RULES)
    np.testing.assert_allclose(program(x)["p"], softmax(x @ W, 1), rtol=1e-9)
    assert steps_of(program) == ({}, {"label": ["extreme"], "p": ["softmax"]}) and len(program.graph.nodes) == 1
    votes = node(f"{ML}.SVMClassifier", Ref("x"), to=("label", "s"), vectors_per_class=[1, 1, 1], **options)
    (_, label) = ONNX_RULES.split(votes)
    assert label.operator == VOTED and label.args == (Ref("s"),)


def test_encodings_scales_and_logarithms_are_the_owners():
    """Three inputs: numbers scaled, logarithms, and a category, joined as one encrypted input."""
    program = cut_program(
        graph(
            node(f"{ML}.Scaler", Ref("age"), to="a", offset=[10.0, 20.0], scale=[0.1, 0.5]),
            node("Log", Ref("pay"), to="p"),
            node(f"{ML}.OneHotEncoder", Ref("kind"), to="k", cats_strings=["dry", "wet"], zeros=0),
            node("Reshape", Ref("k"), np.array([-1, 2]), to="kk"),
            node("Concat", Ref("a"), Ref("p"), Ref("kk"), to="joined", axis=1),
            node("MatMul", Ref("joined"), Ref("m"), to="y"),
            inputs=(("age", (1, 2)), ("pay", (1, 1)), ("kind", (1, 1))), m=np.arange(5.0)[:, None],
        ),
        KNOWN, ONNX_RULES,
    )  # fmt: skip
    assert [i.name for i in program.graph.inputs] == ["joined"]
    age, pay, kind = np.array([[30.0, 40.0]]), np.array([[2.0]]), np.array([["wet"]])
    wanted = np.array([[2.0, 10.0, np.log(2), 0, 1]]) @ np.arange(5.0)[:, None]
    np.testing.assert_allclose(program(age, pay, kind), wanted)
    asked = cut_program(program_graph(), KNOWN, ONNX_RULES, server=["Concat"], columns={"age": ("years", "months")})
    assert [i.name for i in asked.graph.inputs] == ["a", "p"] and asked.owner.given[0].columns == ("years", "months")
    np.testing.assert_allclose(asked(age, pay), [[2 + 10 + np.log(2)]])
    with pytest.raises(lw.errors.RangeError, match=r"input pay, row 0, column 0 is not above 0, which its log takes"):
        asked(age, -pay / 2)


@pytest.mark.parametrize("order", [("y", "x", "z"), ("z", "x"), ("x", "z"), ("x", "y", "z")])
def test_arguments_come_in_the_order_of_the_model_whatever_is_joined(order):
    """Given one after the other they would else be taken for each other, with no sign of it."""
    left = next((name for name in "xyz" if name not in order), None)
    program = cut_program(
        graph(
            *(node(f"{ML}.Scaler", Ref(name), to=f"{name}_s", offset=[1.0] * 2, scale=[0.5] * 2) for name in order),
            node("Concat", *(Ref(f"{name}_s") for name in order), to="joined", axis=1),
            node("MatMul", Ref("joined"), Ref("m"), to="h"),
            *([node("Mul", Ref("h"), Ref(left), to="out")] if left else [node("Relu", Ref("h"), to="out")]),
            inputs=tuple((name, (1, 2)) for name in "xyz"), outputs=("out",), m=np.arange(1.0, 2 * len(order) + 1)[:, None],
        ),
        KNOWN, ONNX_RULES,
    )  # fmt: skip
    given = {"x": np.array([[5.0, 2.0]]), "y": np.array([[7.0, 3.0]]), "z": np.array([[11.0, 4.0]])}
    joined = np.hstack([(given[name] - 1) / 2 for name in order]) @ np.arange(1.0, 2 * len(order) + 1)
    wanted = joined * given[left] if left else joined[None]
    np.testing.assert_allclose(program(*given.values()), wanted)
    np.testing.assert_allclose(program(**given), wanted)
    assert ("Concat" in program.at_owner_before) == (order == ("x", "y", "z"))


def program_graph():
    return graph(
        node(f"{ML}.Scaler", Ref("age"), to="a", offset=[10.0, 20.0], scale=[0.1, 0.5]),
        node("Log", Ref("pay"), to="p"),
        node("Concat", Ref("a"), Ref("p"), to="joined", axis=1),
        node("MatMul", Ref("joined"), Ref("ones"), to="y"),
        inputs=(("age", (1, 2)), ("pay", (1, 1))), ones=np.ones((3, 1)),
    )  # fmt: skip


def test_embeddings_are_the_owners_also_of_inputs_used_twice():
    table = RNG.normal(size=(7, 3))
    program = cut_program(
        graph(
            node("Gather", Ref("table"), Ref("ids"), to="e"),
            node("Mul", Ref("ids"), Ref("two"), to="d"),
            node("MatMul", Ref("e"), Ref("w"), to="s"),
            node("Reshape", Ref("s"), np.array([1, 2]), to="r"),
            node("Add", Ref("r"), Ref("d"), to="y"),
            inputs=(("ids", (1, 2)),), table=table, two=np.array(2.0), w=np.ones((3, 1)),
        ),
        KNOWN, ONNX_RULES,
    )  # fmt: skip
    assert [i.name for i in program.graph.inputs] == ["ids", "e"] and "table" not in program.graph.constants
    np.testing.assert_allclose(program(np.array([[3, 6]])), table[[3, 6]].sum(1)[None] + np.array([[6, 12]]))
    aten = cut_program(
        graph(
            node("aten.embedding.default", Ref("table"), Ref("ids"), to="e", version=0),
            node("aten.cat.default", (Ref("e"), Ref("more")), 1, to="j", version=0),
            node("aten.mm.default", Ref("j"), Ref("w"), to="h", version=0),
            node("aten.argmax.default", Ref("h"), 1, to="y", version=0),
            inputs=(("ids", (4,)), ("more", (4, 1))), table=table, w=np.eye(4),
        ),
        KNOWN, ATEN_RULES,
    )  # fmt: skip
    more = RNG.normal(size=(4, 1))
    assert [i.name for i in aten.graph.inputs] == ["j"]
    assert aten(np.array([0, 5, 2, 6]), more).tolist() == np.hstack([table[[0, 5, 2, 6]], more]).argmax(1).tolist()


def test_what_is_needed_by_the_server_stays_there():
    inner = (*scores(), node("Softmax", Ref("z"), to="p"), node("Add", Ref("p"), Ref("z"), to="y"))
    program = cut_program(graph(*inner, w=W, b=B), KNOWN, ONNX_RULES)
    assert program.owner is None and len(program.graph.nodes) == 4
    last = (*scores(), node("Sigmoid", Ref("z"), to="y", name="end"))
    for options, count in (({}, 2), ({"server": ["end"]}, 3), ({"client": ["end", "Add"]}, 1)):
        program = cut_program(graph(*last, w=W, b=B), KNOWN, ONNX_RULES, **options)
        assert len(program.graph.nodes) == count
        x = RNG.normal(size=(2, 4))
        np.testing.assert_allclose(program(x), expit(x @ W + B), rtol=1e-9)


def test_shapes_at_the_cut_are_those_of_the_program():
    last = (node("Softmax", Ref("h"), to="p", axis=0), node("Reshape", Ref("p"), np.array([6]), to="y"))
    program = cut_program(graph(scores()[0], *last, w=W), KNOWN, ONNX_RULES)
    x = RNG.normal(size=(2, 4))
    np.testing.assert_allclose(program(x), softmax(x @ W, 0).reshape(6), rtol=1e-9)
    old = node("Softmax", Ref("t"), to="y", version=9)  # over all axes after the first
    deep = (node("Reshape", Ref("x"), np.array([2, 2, 2]), to="t"), old)
    kept = cut_program(graph(*deep), Converters([*KNOWN, Converter("Softmax", lambda x: x)]), ONNX_RULES)
    assert kept.owner is None and len(kept.graph.nodes) == 2


def test_a_mean_over_mirrored_maps_of_what_the_owner_computes():
    """Softmax of every map, and their mean: as exported where a network averages over views of one thing."""
    ends = (
        node("Softmax", Ref("z"), to="p", axis=1),
        node("Reshape", Ref("p"), np.array([2, -1]), to="r"),
        node("Transpose", Ref("r"), to="t", perm=[1, 0]),
        node("ReduceMean", Ref("t"), to="m", axes=[1], keepdims=0),
        node("Reshape", Ref("m"), np.array([-1, 3]), to="y"),
    )
    program = cut_program(graph(*scores(), *ends, w=W, b=B), KNOWN, ONNX_RULES)
    assert steps_of(program) == ({}, {"result": ["softmax", "transpose", "reduce", "reshape"]})
    x = RNG.normal(size=(2, 4))
    np.testing.assert_allclose(program(x), softmax(x @ W + B, 1).mean(0)[None], rtol=1e-9)
    model = lw.compile(program, calibrate=RNG.normal(size=(30, 2, 4)), ring_degree=4096, insecure=True, progress=False)
    client = model.client(threads=1)
    found = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(x)))
    off = np.abs(found.reveal() - softmax(x @ W + B, 1).mean(0)[None])
    assert (off <= found.error_bound).all() and found.error_bound < 1e-2


@pytest.mark.parametrize(
    ("last", "meaning", "steps"),
    [
        (node("ReduceSum", Ref("p"), Ref("axes"), to="y", keepdims=1), lambda p: p.sum(1, keepdims=True), ["reduce"]),
        (node("ReduceMax", Ref("p"), to="y", keepdims=0), lambda p: p.max(), ["reduce", "reduce"]),
        (node("ReduceMin", Ref("p"), to="y", noop_with_empty_axes=1), lambda p: p, []),
        (node("Transpose", Ref("p"), to="y"), lambda p: p.T, ["transpose"]),
        (node("Transpose", Ref("p"), to="y", perm=[0, 1]), lambda p: p, []),
    ],
)
def test_reductions_and_orders_of_axes_after_what_the_owner_computes(last, meaning, steps):
    ends = (node("Softmax", Ref("z"), to="p", axis=1), last)
    program = cut_program(graph(*scores(), *ends, w=W, b=B, axes=np.array([1])), KNOWN, ONNX_RULES)
    assert steps_of(program) == ({}, {"result": ["softmax", *steps]})
    x = RNG.normal(size=(2, 4))
    np.testing.assert_allclose(program(x), meaning(softmax(x @ W + B, 1)), rtol=1e-9)


def test_a_mean_of_scores_stays_encrypted():
    """It is cheap there, and fewer numbers come back; alone it is no reason to move."""
    mean = node("ReduceMean", Ref("z"), to="y", axes=[0], keepdims=0)
    means = Converters([*KNOWN, Converter("ReduceMean", lambda x, *, axes, keepdims: np.mean(x, axis=tuple(axes)))])
    program = cut_program(graph(*scores(), mean, w=W, b=B), means, ONNX_RULES)
    assert program.owner is None and len(program.graph.nodes) == 3


def test_what_cannot_move_is_told():
    late = (*scores(), node("ArgMax", Ref("z"), to="c", name="best", axis=1), node("Mul", Ref("c"), Ref("b"), to="y"))
    with pytest.raises(UnsupportedError, match=r"model:2: ArgMax .*take the place after decryption"):
        cut_program(graph(*late, w=W, b=B), KNOWN, ONNX_RULES)
    with pytest.raises(UserError, match=r"client= names what its owner cannot compute: MatMul \(no rule says how"):
        cut_program(graph(*scores(), outputs=("z",), w=W, b=B), KNOWN, ONNX_RULES, client=["MatMul"])
    with pytest.raises(
        UserError, match=r"take names of nodes, each in one of them; got nowhere: there are Add, MatMul"
    ):
        cut_program(graph(*scores(), outputs=("z",), w=W, b=B), KNOWN, ONNX_RULES, server=["nowhere"])


def test_a_cut_model_runs_encrypted():
    program = cut_program(
        graph(*scores(), node("ArgMax", Ref("z"), to="y", axis=1, keepdims=0), w=W, b=B), KNOWN, ONNX_RULES
    )
    x = RNG.normal(size=(30, 4))
    model = lw.compile(program, calibrate=x, ring_degree=4096, insecure=True, progress=False)
    client = model.client(threads=1)
    y = client.decrypt(model.server(client.keygen().public(), threads=1)(client.encrypt(x[:7])))
    assert y.is_certain.all() and y.reveal().tolist() == (x[:7] @ W + B).argmax(1).tolist()


def test_whole_numbers_of_pytorch_are_looked_up_by_the_owner():
    torch = pytest.importorskip("torch")

    class Text(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.last = torch.nn.Embedding(9, 4), torch.nn.Linear(4, 3)

        def forward(self, ids):
            return torch.argmax(self.last(self.table(ids)).mean(1), -1)

    torch.manual_seed(0)
    text = Text().eval()
    example = torch.zeros(1, 2, dtype=torch.int64)
    program = lw.from_torch(text, example)
    ids = RNG.integers(0, 9, (30, 2))
    assert program(ids).tolist() == text(torch.tensor(ids)).tolist()
    assert program.at_owner_before == ("aten.embedding.default",) and program.at_owner_after == ("aten.argmax.default",)

    class Twice(torch.nn.Module):
        def forward(self, ids):
            return ids * 2.0

    with pytest.raises(lw.errors.DtypeError, match=r"the input ids is of torch.int64; whole numbers are not encrypted"):
        lw.from_torch(Twice().eval(), example)


def test_a_mean_of_views_of_pytorch_is_the_owners():
    torch = pytest.importorskip("torch")

    class Mirrored(torch.nn.Module):
        def forward(self, x):
            return torch.softmax(x @ torch.tensor(W), 1).permute(1, 0).mean(1, keepdim=True).transpose(0, 1).amax(1)

    x = RNG.normal(size=(2, 4))
    program = lw.from_torch(Mirrored().eval(), torch.tensor(x))
    assert [s.NAME for s in program.owner.after[0].steps] == ["softmax", "transpose", "reduce", "transpose", "reduce"]
    np.testing.assert_allclose(program(x), softmax(x @ W, 1).mean(0).max()[None])
