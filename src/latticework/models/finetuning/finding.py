"""Find the calls of a forward that are functions of one number which the server computes.

The module is exported with marks around the first argument and the result of every call. Where the server's program has
one application of a function between both, the call is that function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from latticework.frontend.recording.tracing import Traced
from latticework.functions.approximation.real_functions import Function, function_of
from latticework.ir.core import Op
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.finetuning.calls import Call, FunctionCalls
from latticework.models.inspection import FUNCTIONS
from latticework.models.model_graph import ModelGraph, ModelNode, Ref
from latticework.models.model_refusals import Refusal
from latticework.models.pytorch.import_pytorch import read_module
from latticework.tensor.ops.apply import APPLY

_MARK = "latticework.mark.default"
_WHY = "it is no function of one number, so that no polynomial can stand for it"
_INSTEAD = "write it with functions of one number and products, or give the module to lw.from_torch as it is"


@torch.library.custom_op("latticework::mark", mutates_args=())
def mark(x: Tensor, number: int) -> Tensor:
    """x, with a number by which it is found in a graph."""
    return x.clone()


@mark.register_fake
def _shape(x: Tensor, number: int) -> Tensor:
    return torch.empty_like(x)


@contextmanager
def answer_calls(module: nn.Module, answers: Callable[[], FunctionCalls]) -> Iterator[nn.Module]:
    """The module, whose calls something new answers in every forward."""
    forward, own = module.forward, vars(module).get("forward")

    @wraps(forward)
    def run(*args: Any, **kwargs: Any) -> Any:
        with answers():
            return forward(*args, **kwargs)

    module.forward = run
    try:
        yield module
    finally:
        del module.forward
        if own is not None:
            module.forward = own


class MarkedCalls(FunctionCalls):
    """Marks the first argument and the result of every call; keeps the calls by their numbers."""

    def __init__(self, *, averages: bool) -> None:
        super().__init__(averages=averages)
        self.calls: list[Call] = []

    def answer(self, call: Call) -> Any:
        """The same result, marked; views and what is returned as it is stay unmarked."""
        number = len(self.calls)
        self.calls.append(call)
        x = mark(call.x, number)
        made = call.of(x)
        if not isinstance(made, Tensor) or not made.is_floating_point():
            return made
        if made is x:
            return call.return_result(mark(made, number)) if call.is_in_place else call.x
        return call.of(call.x) if made._is_view() else mark(made, number)


@dataclass(frozen=True)
class FoundFunction:
    """A function of one number that a call computes; `loc` has the path of the module and the line."""

    function: Function
    loc: Loc


@dataclass
class FoundCalls:
    """The calls in a module, and the functions among them.

    graph      of it, without marks
    calls      of one forward, in order
    functions  by the numbers of their calls
    refusals   functions of other kinds
    """

    graph: ModelGraph
    calls: list[Call]
    functions: dict[int, FoundFunction] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


def find_functions(module: nn.Module, example: Any, at: Loc, *, averages: bool) -> FoundCalls:
    """The functions that a module calls, by an export of it; raises what `lw.from_torch` raises."""
    runs: list[MarkedCalls] = []

    def start_marking() -> MarkedCalls:
        runs.append(MarkedCalls(averages=averages))
        return runs[-1]

    with answer_calls(module, start_marking):
        read = read_module(module, example, at)
    graph, marks = without_marks(read.graph)
    found = FoundCalls(graph, runs[-1].calls)
    seen = 0

    def note(node: ModelNode, values: Mapping[str, Any]) -> None:
        nonlocal seen
        made = [value for name in node.results if isinstance(value := values.get(name), Traced)]
        if not made:
            return
        ops = list(made[0]._tracer.module.walk())
        new, seen = ops[seen:], len(ops)
        for number, (given, result) in marks.items():
            one = _only_function(values, given, result) if result in node.results else None
            if one is not None:
                found.functions[number] = FoundFunction(function_of(one.attrs["function"]), node.loc)
                new = [op for op in new if op is not one]
        if not (not averages and "max_pool" in node.operator):
            found.refusals += [Refusal(node.loc, node.operator, _WHY, _INSTEAD) for op in new if op.name in FUNCTIONS][
                :1
            ]

    replace(read, graph=graph).program().traced(note)
    return found


def _only_function(values: Mapping[str, Any], given: str, result: str) -> Op | None:
    """The application of a function that makes a value of another, if it is that alone."""
    x, made = values.get(given), values.get(result)
    op = made._value.owner if isinstance(made, Traced) else None
    if not isinstance(x, Traced) or not isinstance(op, Op) or op.spec is not APPLY.spec:
        return None
    return op if op.operands[0] is x._value else None


def without_marks(graph: ModelGraph) -> tuple[ModelGraph, dict[int, tuple[str, str]]]:
    """A graph without marks, and the values that had the two marks of each number."""
    names: dict[str, str] = {}
    marked: dict[int, list[str]] = {}

    def bare(value: Any) -> Any:
        if isinstance(value, Ref):
            return Ref(names.get(value.name, value.name))
        if isinstance(value, ModelGraph):
            return without_marks(value)[0]
        return type(value)(map(bare, value)) if isinstance(value, tuple | list) else value

    nodes: list[ModelNode] = []
    for node in graph.nodes:
        if node.operator == _MARK:
            x, number = bare(node.args[0]), node.args[1]
            names[node.results[0]] = x.name
            marked.setdefault(number, []).append(x.name)
        else:
            options = {name: bare(value) for name, value in node.options.items()}
            nodes.append(replace(node, args=tuple(map(bare, node.args)), options=options))
    outputs = tuple(map(bare, graph.outputs))
    both = {number: (pair[0], pair[1]) for number, pair in marked.items() if len(pair) == 2}
    return replace(graph, nodes=tuple(nodes), outputs=outputs), both
