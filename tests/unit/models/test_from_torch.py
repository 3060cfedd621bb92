"""Modules of PyTorch as programs: the numbers of PyTorch, the places of the user, names of inputs and outputs."""

import numpy as np
import pytest

import latticework as lw
from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret
from latticework.plan.analysis.simulate import simulate

torch = pytest.importorskip("torch")

import torch_nets as nets  # noqa: E402


def relative(found: np.ndarray, module: "torch.nn.Module", *x: np.ndarray) -> float:
    """The largest difference from what PyTorch computes, relative to its largest number."""
    with torch.no_grad():
        exact = module(*(torch.from_numpy(part) for part in x)).numpy()
    assert found.shape == exact.shape
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def encrypted(program: lw.Program, x: np.ndarray, data: np.ndarray) -> np.ndarray:
    model = lw.compile(program, calibrate=data, precision_bits=8, ring_degree=2048, insecure=True)
    client = model.client()
    return client.decrypt(model.server(client.keygen().public())(client.encrypt(x))).reveal()


@pytest.mark.parametrize(("kind", "shape"), [(nets.Mlp, (1, 6)), (nets.ConvNet, (1, 1, 6, 6))])
def test_a_network_computes_on_arrays_and_encrypted(kind: type, shape: tuple[int, ...]) -> None:
    module, rng = nets.made(kind), np.random.default_rng(0)
    program = lw.from_torch(module, torch.zeros(shape))
    x = rng.normal(size=shape)
    assert relative(program(x), module.double(), x) < 1e-6
    data = rng.normal(size=(40, *shape[1:]))
    assert np.abs(encrypted(program, x, data) - program(x)).max() < 0.02 * np.abs(program(x)).max() + 0.01


def test_resnet_as_usually_written() -> None:
    module, rng = nets.made(nets.ResNet20, 0, 4), np.random.default_rng(1)
    program = lw.from_torch(module, np.zeros((1, 3, 16, 16)))
    x = rng.normal(size=(1, 3, 16, 16)).astype(np.float32)
    assert relative(program(x), module, x) < 1e-5
    assert relative(program(x), module.double(), x.astype(np.float64)) < 1e-6


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {"num_layers": 2, "bidirectional": True, "bias": False}),
        ("GRU", {}),
        ("RNN", {}),
        ("RNN", {"nonlinearity": "relu"}),
        *((f"{cell}Cell", {}) for cell in ("LSTM", "GRU", "RNN")),
        ("RNNCell", {"nonlinearity": "relu"}),
    ],
)
def test_recurrent_layers_and_cells(kind: str, options: dict[str, object]) -> None:
    module, x = nets.made(nets.Recurrent, 0, kind, **options).double(), np.random.default_rng(2).normal(size=(4, 1, 3))
    program = lw.from_torch(module, x)
    assert relative(program(x), module, x) < 1e-12
    assert relative(interpret(trace(program), [x])[0], module, x) < 1e-10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*out of the interval")  # twenty samples are few, and say so
def test_lstm_encrypted() -> None:
    module, rng = nets.made(nets.Recurrent), np.random.default_rng(3)
    program = lw.from_torch(module, np.zeros((3, 1, 3)))
    model = lw.compile(
        program, calibrate=rng.normal(size=(20, 3, 1, 3)), precision_bits=6, ring_degree=4096, insecure=True
    )
    x = rng.normal(size=(3, 1, 3))
    assert np.abs(simulate(model.plan, [x])[0] - program(x)).max() < 0.05


@pytest.mark.parametrize(("made", "shape"), [(nets.LeNet5, (1, 1, 28, 28)), (nets.bert_block, (1, 5, 16))])
def test_networks_that_are_known(made: object, shape: tuple[int, ...]) -> None:
    module = nets.made(made).double()
    x = np.random.default_rng(4).normal(size=shape)
    program = lw.from_torch(module, x)
    assert relative(program(x), module, x) < 1e-12
    assert relative(interpret(trace(program), [x])[0], module, x) < 1e-10


@pytest.mark.slow
def test_loops_of_pytorch() -> None:
    x = np.random.default_rng(5).normal(size=(3, 3))
    for kind in (nets.Whiles, nets.Scans):
        module = nets.made(kind).double()
        program = lw.from_torch(module, x)
        found, exact = program(x), module(torch.from_numpy(x))
        pairs = zip(found, exact, strict=True) if isinstance(exact, tuple) else [(found, exact)]
        assert all(np.abs(one - other.detach().numpy()).max() < 1e-12 for one, other in pairs)
    assert [op.name for op in trace(program).body.ops].count("loop.for") == 1  # a scan stays a loop


def test_places_are_modules_and_lines() -> None:
    program = lw.from_torch(nets.made(nets.ResNet20, 0, 2), np.zeros((1, 3, 8, 8)))
    conv = [node for node in program.graph.nodes if node.operator == "aten.conv2d.default"][1]
    assert conv.loc.file.endswith("torch_nets.py") and "self.relu(self.bn1(self.conv1(x)))" in conv.loc.text
    assert conv.loc.text.startswith("layer1.0.conv1: ")
    bare = lw.from_torch(torch.nn.Sequential(torch.nn.Linear(2, 2)), np.zeros((1, 2)))
    assert bare.graph.nodes[0].loc.file == __file__ and bare.graph.nodes[0].loc.text == "0"


def test_weights_are_copied() -> None:
    module, x = nets.made(nets.Mlp), np.ones((1, 6))
    program = lw.from_torch(module, x)
    before = program(x)
    with torch.no_grad():
        module.first.weight.zero_()
    assert np.array_equal(program(x), before)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of PyTorch, by its own export
def test_memory_that_is_written_later_is_zeros_until_then() -> None:
    """PyTorch decomposes circular padding to writes into an empty tensor, which here begins with NaNs."""
    padded = torch.export.export(
        torch.nn.CircularPad1d(1).eval(), (torch.zeros(1, 2, 3, dtype=torch.float64),), strict=False
    ).run_decompositions()
    torch.use_deterministic_algorithms(True)  # fills what is not initialised with NaNs
    try:
        program = lw.from_torch(padded)
    finally:
        torch.use_deterministic_algorithms(False)
    x = np.arange(6.0).reshape(1, 2, 3)
    np.testing.assert_array_equal(program(x), np.pad(x, ((0, 0), (0, 0), (1, 1)), mode="wrap"))
