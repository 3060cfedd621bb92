"""Every operator of ATen that is known, through PyTorch, in NumPy and traced."""

from functools import cache
from unittest.mock import patch

import numpy as np
import pytest

import latticework as lw
from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret
from latticework.ir.location import Loc
from latticework.models.client_rules.aten import ATEN_RULES
from latticework.models.client_rules.table_rules import OwnerRules
from latticework.models.cuts import cut_program
from latticework.models.evaluate_graph import run
from latticework.models.imported_program import ImportedProgram
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref
from latticework.models.pytorch import import_pytorch
from latticework.models.pytorch.export import own_warnings_only
from latticework.models.pytorch.operators import CONVERTERS
from latticework.models.pytorch.read import flat_labels

torch = pytest.importorskip("torch")

import torch_cases as cases  # noqa: E402
import torch_overloads as overloads  # noqa: E402

AT = Loc("model", 1)


@cache
def imported(family: str) -> ImportedProgram:
    """All of it at the server, also what the owner would compute."""
    module = cases.Family(cases.FAMILIES[family][0]).eval()
    with patch.object(import_pytorch, "ATEN_RULES", OwnerRules({})):
        return lw.from_torch(module, tuple(cases.inputs_of(family)))


def expected(family: str, inputs: list["torch.Tensor"]) -> dict[str, np.ndarray]:
    """What PyTorch computes, by names of cases and of parts of their results."""
    made = cases.Family(cases.FAMILIES[family][0]).eval()(*inputs)
    leaves = torch.utils._pytree.tree_leaves(made)
    structure = torch.utils._pytree.tree_structure(made)
    names = flat_labels(torch.utils._pytree.tree_unflatten(range(len(leaves)), structure))
    return {name: leaves[i].detach().numpy() for i, name in names}


@pytest.mark.parametrize("family", cases.FAMILIES)
def test_operators_compute_what_pytorch_does(family: str) -> None:
    program, inputs = imported(family), cases.inputs_of(family, seed=7)
    arrays, wanted = [x.numpy() for x in inputs], expected(family, inputs)
    found, cut = program(*arrays), cut_program(program.graph, CONVERTERS, ATEN_RULES)(*arrays)
    assert list(found) == list(cut) == list(wanted)
    module = trace(program)
    traced = dict(zip(module.outputs, interpret(module, arrays), strict=True))
    for name, exact in wanted.items():
        size = max(1.0, float(np.abs(exact).max()))
        assert found[name].shape == exact.shape, name
        np.testing.assert_allclose(found[name], exact, rtol=0, atol=1e-12 * size, err_msg=name)
        np.testing.assert_allclose(cut[name], exact, rtol=0, atol=1e-12 * size, err_msg=name)
        np.testing.assert_allclose(traced[name], exact, rtol=0, atol=1e-10 * size, err_msg=name)


@pytest.mark.parametrize("overload", [*overloads.OVERLOADS, *overloads.PUBLIC])
def test_overloads_that_exporting_decomposes(overload: str) -> None:
    args, options = {**overloads.OVERLOADS, **overloads.PUBLIC}[overload]
    name, _, kind = overload.partition(".")
    exact = getattr(getattr(torch.ops.aten, name), kind)(*map(as_tensor, args), **options)
    converter = CONVERTERS.find(f"aten.{overload}")
    assert converter is not None
    parts = [exact] if isinstance(exact, torch.Tensor) else list(exact)
    alone = any(part in name for part in ("pool", "norm", "log_sigmoid", "dropout", "flash"))
    names = tuple(f"y{i}" for i in range(1 if alone else len(parts)))
    given = tuple(np.dtype(np.float64) if isinstance(arg, torch.dtype) else arg for arg in args)
    secret = overload in overloads.OVERLOADS
    first = GraphInput("x", np.shape(given[0]), AT)
    options = {key: np.dtype(np.float64) if isinstance(value, torch.dtype) else value for key, value in options.items()}
    node = ModelNode(converter.operator, (Ref("x"), *given[1:]), options, names, AT)
    graph = ModelGraph("net", (first,), {}, (node,), tuple(map(Ref, names)), AT)
    results = [run(graph, CONVERTERS, {"x": given[0]})]
    if secret and not overload.startswith("fill"):
        results.append(interpret(trace(ImportedProgram(graph, CONVERTERS)), [given[0]]))
    for found in results:
        for one, other in zip(found, parts, strict=False):
            assert np.shape(one) == tuple(other.shape)
            np.testing.assert_allclose(one, other.numpy(), rtol=0, atol=1e-12)


def as_tensor(value: object) -> object:
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return [as_tensor(part) for part in value]
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray | np.generic) else value


@pytest.mark.slow
@pytest.mark.parametrize("family", [family for family in cases.FAMILIES if family not in ("copies", "shapes")])
def test_programs_decomposed_to_core_operators(family: str) -> None:
    known, _ = cases.FAMILIES[family]
    chosen = {name: case for name, case in known.items() if name not in cases.NOT_OF_CORE}
    inputs = cases.inputs_of(family, seed=3)
    with own_warnings_only():
        exported = torch.export.export(cases.Family(chosen).eval(), tuple(inputs), strict=False).run_decompositions()
    program = lw.from_torch(exported)
    wanted = expected(family, inputs)
    for name, found in program(*(x.numpy() for x in inputs)).items():
        np.testing.assert_allclose(
            found, wanted[name], rtol=0, atol=1e-10 * max(1.0, float(np.abs(wanted[name]).max()))
        )


PREPARED = "latticework.polynomial.default"  # of modules that `lw.torch.prepare` makes: test_torch_tuning.py


def test_all_operators_have_cases() -> None:
    used = {node.operator for family in cases.FAMILIES for node in imported(family).graph.all_nodes()}
    called = {f"aten.{name}" for name in (*overloads.OVERLOADS, *overloads.PUBLIC)}
    assert {converter.operator for converter in CONVERTERS} <= used | called | {"while_loop", "scan", PREPARED}
