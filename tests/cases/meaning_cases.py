"""Meanings of operators held against an oracle: on arrays, and of secrets by way of an imported model of one node."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

import latticework as lw
from latticework.errors import UserError
from latticework.frontend.programs.array_program import trace
from latticework.ir.interpret import interpret
from latticework.ir.location import Loc
from latticework.models.converters import Converter, Converters
from latticework.models.imported_program import ImportedProgram
from latticework.models.model_graph import GraphInput, ModelGraph, ModelNode, Ref

AT = Loc("model", 1)
Meaning = Callable[..., Any]


def model_of(meaning: Meaning, args: Sequence[Any], secret: Sequence[int] = (0,), **options: Any) -> ImportedProgram:
    """A model of one node, whose arguments with these numbers are encrypted."""
    inputs = tuple(GraphInput(f"x{i}", np.shape(args[i]), AT) for i in secret)
    refs = tuple(Ref(f"x{i}") if i in secret else arg for i, arg in enumerate(args))

    def tupled(*given: Any, **named: Any) -> Any:
        made = meaning(*given, **named)
        return tuple(flat(made))

    count = len(flat(meaning(*args, **options)))
    names = tuple(f"y{i}" for i in range(count))
    node = ModelNode("Op", refs, options, names, Loc("model", 2))
    graph = ModelGraph("net", inputs, {}, (node,), tuple(map(Ref, names)), AT)
    return ImportedProgram(graph, Converters([Converter("Op", lambda *a, **o: tupled(*a, **o))]))


def flat(result: Any) -> list[Any]:
    """Results of any structure in order."""
    if isinstance(result, (tuple, list)):
        return [one for part in result for one in flat(part)]
    return [result]


def numbers(result: Any) -> list[Any]:
    """What PyTorch gives, as arrays."""
    return [r.detach().numpy() if isinstance(r, torch.Tensor) else np.asarray(r) for r in flat(result)]


def tensors(value: Any) -> Any:
    """Arrays as tensors, in any structure."""
    if isinstance(value, (tuple, list)):
        return type(value)(tensors(part) for part in value)
    return torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value


def check(
    meaning: Meaning,
    args: Sequence[Any],
    expected: Any,
    secret: Sequence[int] = (0,),
    atol: float = 1e-12,
    **options: Any,
) -> None:
    """On arrays, and traced, the meaning is what is expected."""
    wanted = numbers(expected)
    found = flat(meaning(*args, **options))
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert np.shape(one) == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=atol)
    if secret:
        module = trace(model_of(meaning, args, secret, **options))
        traced = interpret(module, [np.asarray(args[i], dtype=np.float64) for i in secret])
        assert len(traced) == len(wanted)
        for one, other in zip(traced, wanted, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=100 * atol)


def simulated(
    meaning: Meaning, args: Sequence[Any], secret: Sequence[int] = (0,), bits: int = 10, **options: Any
) -> Any:
    """Compiled on small rings and run without encryption, the meaning is what it is on arrays, to so many bits."""
    return _compiled(meaning, args, secret, bits, options)


def encrypted(
    meaning: Meaning, args: Sequence[Any], secret: Sequence[int] = (0,), bits: int = 10, **options: Any
) -> None:
    """The same, encrypted, within the bound that the result states."""
    model = _compiled(meaning, args, secret, bits, options)
    client = model.client()
    found = client.decrypt(model.server(client.keygen().public())(client.encrypt(*(args[i] for i in secret))))
    for one, wanted in zip(flat(found), flat(meaning(*args, **options)), strict=True):
        assert np.all(np.abs(one.reveal() - wanted) <= one.error_bound)


def _compiled(meaning: Meaning, args: Sequence[Any], secret: Sequence[int], bits: int, options: Any) -> Any:
    rng = np.random.default_rng(5)
    data = {f"x{i}": args[i] * rng.uniform(0.5, 1.0, (20, *(1,) * np.ndim(args[i]))) for i in secret}
    for i in secret:
        data[f"x{i}"][0] = args[i]
    program = model_of(meaning, args, secret, **options)
    model = lw.compile(program, calibrate=data, precision_bits=bits, ring_degree=4096, insecure=True)
    wanted = flat(meaning(*args, **options))
    found = model.simulate(*(args[i] for i in secret))
    for one, other in zip(found, wanted, strict=True):
        assert np.abs(np.reshape(one, np.shape(other)) - other).max() <= 2.0**-bits * np.abs(other).max()
    return model


def refused(message: str, meaning: Meaning, args: Sequence[Any], secret: Sequence[int] = (0,), **options: Any) -> None:
    """Importing is refused, at the place of the node."""
    inputs = tuple(GraphInput(f"x{i}", np.shape(args[i]), AT) for i in secret)
    refs = tuple(Ref(f"x{i}") if i in secret else arg for i, arg in enumerate(args))
    node = ModelNode("Op", refs, options, ("y",), Loc("model", 2))
    with pytest.raises(UserError, match=message) as caught:
        ImportedProgram(ModelGraph("net", inputs, {}, (node,), (Ref("y"),), AT), Converters([Converter("Op", meaning)]))
    assert str(caught.value.at) == "model:2"
