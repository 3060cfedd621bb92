"""What `lw.from_torch` refuses, at once and at the user's line; and what it takes with a note."""

import inspect
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

import latticework as lw
from latticework.errors import DtypeError, FormatError, MissingPackageError, SecurityError, TraceError, UserError
from latticework.models.pytorch.export import own_warnings_only
from latticework.models.pytorch.exported_files import load_exported

torch = pytest.importorskip("torch")

import torch_refused as refused  # noqa: E402
from torch import nn  # noqa: E402

X = np.zeros((3, 3))


def exported(module: nn.Module, *args: object, **options: object) -> "torch.export.ExportedProgram":
    with own_warnings_only():
        return torch.export.export(module, (torch.zeros(3, 3), *args), strict=False, **options)


@pytest.mark.parametrize("kind", refused.REFUSED, ids=lambda kind: kind.__name__)
def test_modules_are_refused_at_their_line(kind: type[nn.Module], capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=refused.REFUSED[kind]) as caught:
        lw.from_torch(kind().eval(), X)
    lines, first = inspect.getsourcelines(kind)
    marked = [first + i for i, line in enumerate(lines) if "# here" in line]
    assert not marked or f"torch_refused.py:{marked[0]}" in str(caught.value)
    assert capfd.readouterr().err == ""


def test_all_operators_are_told_at_once() -> None:
    class Sorts(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(x)[0].round() + torch.floor(x)

    with pytest.raises(
        UserError, match=r"3 operators.*aten\.sort\.default.*aten\.round\.default.*aten\.floor\.default"
    ):
        lw.from_torch(Sorts().eval(), X)


def test_training_is_refused_where_it_matters() -> None:
    parts = nn.Linear(3, 3), nn.Dropout(), nn.BatchNorm1d(3)
    with pytest.raises(TraceError, match=r"training mode, in which 1 \(Dropout\), 2 \(BatchNorm1d\).*module.eval\(\)"):
        lw.from_torch(nn.Sequential(*parts), X)
    lw.from_torch(nn.Sequential(parts[0], nn.Dropout(0.0)), X)
    for module in (nn.BatchNorm1d(3), nn.Dropout()):
        with pytest.raises(UserError, match=r"programs keep nothing|call module.eval\(\)"):
            lw.from_torch(exported(module))


@pytest.mark.parametrize(
    ("example", "said"),
    [
        (None, "none is given; give one for input"),
        ((X, X), "Linear.forward takes input"),
        ({"x": X}, "missing a required argument"),
        (np.zeros((3, 4)), "must have same reduction dim.*shape that the module takes"),
        (torch.zeros(3, 3, dtype=torch.int64), "with embedding vectors as its input"),
        ("x", "torch.export stops here"),
    ],
)
def test_examples_that_do_not_fit(example: object, said: str) -> None:
    with pytest.raises(UserError, match=said):
        lw.from_torch(nn.Linear(3, 3), example)


def test_what_is_no_module() -> None:
    linear = nn.Linear(3, 3)
    for given, said in (
        ("model.pt2", "is a path"),
        (linear.state_dict(), "load_state_dict"),
        (nn.Linear, "is a class"),
        (torch.relu, "no nn.Module"),
        (nn.DataParallel(linear), "give its .module"),
        (nn.LazyLinear(3), "weight has no numbers yet"),
        (nn.Linear(3, 3, device="meta"), "weight has no numbers yet"),
    ):
        with pytest.raises(UserError, match=said):
            lw.from_torch(given, X)


def test_exported_programs() -> None:
    linear = nn.Linear(3, 3)
    program = lw.from_torch(exported(linear))
    assert program.name == "Linear" and list(program.signature.parameters) == ["input"]
    lw.from_torch(exported(linear), X)
    with pytest.raises(TraceError, match=r"exported for input \(3, 3\); the example has input \(2, 3\)"):
        lw.from_torch(exported(linear), X[:2])
    with pytest.raises(TraceError, match="sizes that are not fixed: input .*export it without dynamic_shapes"):
        lw.from_torch(exported(linear, dynamic_shapes=({0: torch.export.Dim("rows")},)))


def test_weights_of_few_bits_are_taken_with_a_note() -> None:
    for kind in (torch.float16, torch.bfloat16):
        linear = nn.Linear(3, 3).to(kind)
        program = lw.from_torch(linear, np.zeros((1, 3)))
        assert program.notes == (f"12 weights of {str(kind).removeprefix('torch.')} computed with in float64",)
        assert np.array_equal(program(np.eye(3)[:1])[0], (linear.weight[:, 0].double() + linear.bias.double()).detach())


def test_names_of_inputs_and_outputs() -> None:
    class Several(nn.Module):
        def forward(
            self, pair: tuple[torch.Tensor, ...], *, scale: float = 1.0, note: None = None
        ) -> dict[str, object]:
            return {"sum": pair[0] + scale * pair[1], "parts": [pair[0] * 2, None], "size": 3}

    x = torch.ones(2)
    program = lw.from_torch(Several(), {"pair": (x, x), "scale": 3.0})
    assert list(program.signature.parameters) == ["pair_0", "pair_1"]
    found = program(np.ones(2), np.arange(2))  # of two inputs, though the example has one tensor for both
    assert {name: part.tolist() for name, part in found.items()} == {"sum": [1, 4], "parts.0": [2, 2]}
    said = "; ".join(program.notes)
    assert "scale is 3.0, as in the example" in said and "parts.1 is always None" in said and "size is always 3" in said


def test_inputs_that_nothing_reads_are_given_all_the_same() -> None:
    class Ignores(nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x.exp() @ x) + y

    program = lw.from_torch(Ignores().eval(), (X, X, X))
    assert list(program.signature.parameters) == ["x", "exp", "mask", "y"]
    x, y = np.random.default_rng(0).normal(size=(2, 3, 3))
    np.testing.assert_allclose(program(x, X, y), np.exp(x) @ x + y)
    with pytest.raises(DtypeError, match="the input mask is of torch.int64; nothing reads it"):
        lw.from_torch(Ignores().eval(), (X, X.astype(int), X))


def test_what_forward_assigns_and_changes_is_noted() -> None:
    class Keeps(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.hidden = x * 2
            x += 1
            return self.hidden + x

    module = Keeps()
    program = lw.from_torch(module, np.zeros(2))
    assert program(np.ones(2)).tolist() == [4, 4]
    assert any("self.hidden" in note for note in program.notes) and any("in place" in note for note in program.notes)


def test_warnings_of_the_module_come_through() -> None:
    class Warns(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            warnings.warn("mine", UserWarning, stacklevel=1)
            return x * 2

    with pytest.warns(UserWarning, match="mine"):
        lw.from_torch(Warns(), np.zeros(2))


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"pip install latticework\[torch\]"):
        lw.from_torch(object(), X)


class Executes:
    """Unpickled, it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_files_are_read_where_they_are_trusted_only(tmp_path: Path) -> None:
    good, bad, trace = tmp_path / "good.pt2", tmp_path / "bad.pt2", tmp_path / "executed"
    torch.export.save(exported(nn.Linear(3, 3)), good)
    pickled = tmp_path / "pickled"
    torch.save(Executes(trace), pickled)
    with zipfile.ZipFile(good) as whole, zipfile.ZipFile(bad, "w") as changed:
        for name in whole.namelist():
            inputs = name.endswith("sample_inputs/model.pt")
            changed.writestr(name, pickled.read_bytes() if inputs else whole.read(name))
    for path in (good, bad):
        with pytest.raises(SecurityError, match="executes code that the file holds.*trust=True"):
            load_exported(path)
    assert not trace.exists()
    with pytest.raises(FormatError, match="no exported program"):
        load_exported(bad, trust=True)
    assert trace.exists()  # which is why
    assert lw.from_torch(load_exported(good, trust=True))(np.zeros((3, 3))).shape == (3, 3)
    with pytest.raises(FormatError, match="cannot be read"):
        load_exported(tmp_path / "missing.pt2", trust=True)


def test_integers_as_inputs_of_exported_programs() -> None:
    with pytest.raises(DtypeError, match="the input indices is of torch.int64|the input input is of torch.int64"):
        with own_warnings_only():
            made = torch.export.export(nn.Embedding(4, 3), (torch.tensor([1, 2]),), strict=False)
        lw.from_torch(made)
