"""pools="average": means in the place of the largest elements, where the user asks for them, and said everywhere."""

import json

import numpy as np
import pytest

import latticework as lw
from latticework.models.inspection import inspect_program

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
nn, F = torch.nn, torch.nn.functional
X = np.random.default_rng(0).normal(size=(1, 2, 7, 9))

POOLS = {
    "2d": (lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 2)),
    "stride, padding": (
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    ),
    "ceil": (
        lambda x: F.max_pool2d(x, (2, 3), ceil_mode=True),
        lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True, count_include_pad=False),
    ),
    "1d": (lambda x: F.max_pool1d(x[0], 2, 1), lambda x: F.avg_pool1d(x[0], 2, 1)),
    "with places": (
        lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
        lambda x: F.avg_pool2d(x, 2),
    ),
    "adaptive": (lambda x: F.adaptive_max_pool2d(x, (3, 4)), lambda x: F.adaptive_avg_pool2d(x, (3, 4))),
    "adaptive 1d": (lambda x: F.adaptive_max_pool1d(x[0], 2), lambda x: F.adaptive_avg_pool1d(x[0], 2)),
}


class Net(nn.Module):
    """One pool."""

    def __init__(self, pool):
        super().__init__()
        self.pool = pool

    def forward(self, x):
        return 2 * self.pool(x)


@pytest.mark.parametrize("name", POOLS)
def test_means_take_the_place_of_largest_elements_of_torch(name):
    largest, mean = POOLS[name]
    given = torch.tensor(X, dtype=torch.float32)
    program = lw.from_torch(Net(largest).eval(), given, pools="average")
    np.testing.assert_allclose(program(X), 2 * mean(torch.tensor(X)).numpy(), atol=1e-12)
    assert 'pools="average": the mean takes the place of the largest element in 1 pool' in program.notes[-1]
    kept = lw.from_torch(Net(largest).eval(), given)
    np.testing.assert_allclose(kept(X), 2 * largest(torch.tensor(X)).numpy(), atol=1e-12)
    assert not kept.changes and not any("pools" in note for note in kept.notes)


def model_of(*nodes):
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(list(nodes), "g", [value("x", 1, X.shape)], [value("y", 1, None)])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def pool(operator="MaxPool", **options):
    return onnx.helper.make_node(operator, ["x"], ["y"], name="pool", **options)


@pytest.mark.parametrize(
    ("node", "mean"),
    [
        (pool(kernel_shape=[2, 2], strides=[2, 2]), lambda x: F.avg_pool2d(x, 2)),
        (
            pool(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], dilations=[1, 1], storage_order=0),
            lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        ),
        (pool("GlobalMaxPool"), lambda x: x.mean((2, 3), keepdim=True)),
    ],
)
def test_means_take_the_place_of_largest_elements_of_onnx(node, mean):
    program = lw.from_onnx(model_of(node), pools="average")
    np.testing.assert_allclose(program(X), mean(torch.tensor(X)).numpy(), atol=1e-12)
    assert "in 1 pool (" in program.notes[-1] and program.changes == program.notes[-1:]


def test_report_inspect_and_file_say_so(tmp_path):
    net = nn.Sequential(nn.Conv2d(2, 2, 3), nn.MaxPool2d(2), nn.MaxPool2d(2), nn.Flatten()).eval()
    program = lw.from_torch(net, torch.tensor(X, dtype=torch.float32), pools="average")
    found = inspect_program(program)
    assert any("in 2 pools" in note for note in found.notes)
    assert not any("max_pool" in use.operator for use in found.uses)
    model = lw.compile(program, calibrate=np.stack([X, -X]), ring_degree=1 << 13, insecure=True)
    assert model.plan.client.precision_bits == 12
    assert 'pools="average"' in str(model.report()) and "pools=&quot;average&quot;" in model.report().html()
    model.save(tmp_path / "m.lwplan")
    assert lw.load(tmp_path / "m.lwplan").plan.changes == program.changes
    kept = lw.from_torch(nn.Sequential(nn.Flatten()).eval(), torch.zeros(1, 4), pools="average")
    assert kept.changes == ()


@pytest.mark.parametrize("value", ["mean", None, True])
def test_other_words_are_refused(value):
    with pytest.raises(lw.UserError, match='from_torch: pools=.*; give "keep" or "average"'):
        lw.from_torch(nn.Sequential(nn.MaxPool2d(2)).eval(), torch.zeros(1, 1, 4, 4), pools=value)
    with pytest.raises(lw.UserError, match='from_onnx: pools=.*; give "keep" or "average"'):
        lw.from_onnx(model_of(pool(kernel_shape=[2, 2])), pools=value)


def test_windows_with_gaps_are_refused():
    with pytest.raises(lw.UserError, match=r'pools="average" and dilation=\[2, 2\]') as caught:
        lw.from_torch(nn.Sequential(nn.MaxPool2d(2, dilation=2)).eval(), torch.zeros(1, 1, 6, 6), pools="average")
    assert caught.value.at is not None
    with pytest.raises(lw.UserError, match=r'MaxPool: pools="average" and dilation=\[2, 2\]'):
        lw.from_onnx(model_of(pool(kernel_shape=[2, 2], dilations=[2, 2])), pools="average")


def test_the_command_line_has_it_too(tmp_path):
    from typer.testing import CliRunner

    from latticework.cli import app

    onnx.save(model_of(pool(kernel_shape=[2, 2], strides=[2, 2])), tmp_path / "m.onnx")
    found = CliRunner().invoke(app, ["inspect", str(tmp_path / "m.onnx"), "--pools", "average", "--json"])
    facts = json.loads(found.output)
    assert [each["operator"] for each in facts["operators"]] == ["AveragePool"]
    (tmp_path / "p.py").write_text("")
    found = CliRunner().invoke(app, ["inspect", str(tmp_path / "p.py"), "--pools", "average"])
    assert found.exit_code != 0 and "is for models of ONNX and PyTorch" in found.output
