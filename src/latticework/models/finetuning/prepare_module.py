"""`lw.torch.prepare`: a module with polynomials in the place of its functions."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import nn

from latticework.errors import RangeError, TraceError, UserError
from latticework.functions.approximation.real_functions import Function
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.finetuning.argument_ranges import RecordedCalls, SeenArguments
from latticework.models.finetuning.calls import Call, FunctionCalls
from latticework.models.finetuning.finding import FoundCalls, answer_calls, find_functions
from latticework.models.finetuning.sequence import CallSequence
from latticework.models.finetuning.trainable_polynomial import PolynomialFunction
from latticework.models.model_refusals import Refusal, refuse
from latticework.models.pytorch.example import example_of
from latticework.models.pytorch.module_checks import check_module
from latticework.tensor.ops.apply import check_degree

_CANNOT = "cannot be replaced by polynomials"


class PreparedModule(nn.Module):
    """A module whose functions of one number are polynomials; made by `prepare`.

    module     a copy of the one that was given, with its weights
    functions  the polynomials, in the order in which a forward calls them
    """

    def __init__(
        self, module: nn.Module, functions: Sequence[PolynomialFunction], sequence: CallSequence, *, averages: bool
    ) -> None:
        super().__init__()
        self.module, self.functions = module, nn.ModuleList(functions)
        self._sequence, self._averages = sequence, averages

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module, with the polynomials for its functions."""
        with self._calls() as calls:
            made = self.module(*args, **kwargs)
        calls.turn.finish()
        return made

    @contextmanager
    def __latticework_export__(self) -> Iterator[nn.Module]:
        """The module itself, with the polynomials while this is open: names, paths and lines are its own."""
        for place, function in enumerate(self.functions):
            lost = int((~function.coefficients.isfinite()).sum())
            if lost:
                raise RangeError(
                    f"{type(self.module).__name__}: {lost} of the {function.coefficients.numel()} coefficients of "
                    f"functions[{place}] ({function.name}) are NaN or infinite; train again, with a smaller step or "
                    "more of range_loss",
                    at=user_loc(),
                )
        with answer_calls(self.module, self._calls) as module:
            yield module

    def _calls(self) -> PolynomialCalls:
        return PolynomialCalls(self.functions, self._sequence, averages=self._averages)


class PolynomialCalls(FunctionCalls):
    """Answers the calls of one forward by polynomials."""

    def __init__(self, functions: nn.ModuleList, sequence: CallSequence, *, averages: bool) -> None:
        super().__init__(averages=averages)
        self._functions, self.turn = functions, sequence.turn()

    def answer(self, call: Call) -> Any:
        """A polynomial where the call is one of the functions that were replaced."""
        place = self.turn.place_of(call.name)
        if place is None:
            return call.of(call.x)
        return call.return_result(self._functions[place](call.x.clone() if call.is_in_place else call.x))


def prepare(
    module: nn.Module, example: Any, calibrate: Any = None, *, degree: int | Sequence[int] = 3, trainable: bool = True,
    pools: Literal["keep", "average"] = "keep", margin: float = 0.1,
) -> PreparedModule:  # fmt: skip
    """A copy of a module whose functions (ReLU, GELU, tanh, ...) are polynomials on the ranges that data take.

    It is trained by any loop, with `range_loss` added to the loss, and given to `lw.from_torch`, which takes exactly
    these polynomials. Functions that the owner of the data computes, such as a softmax at the end, stay as they are.

    module     in evaluation mode, as for `lw.from_torch`
    example    of the shapes that will be encrypted, as there
    calibrate  inputs like those to come, as forward takes them: a batch, a tuple of its arguments, or a dictionary;
               they say where each function is needed. Some hundreds of rows are enough
    degree     of the polynomials, or one for each in the order in which forward calls them
    trainable  whether coefficients are parameters that are trained, or stay what they are fitted to
    pools      "average": the mean in the place of the largest element of every pool. "keep": largest elements stay, and
               are compositions of many levels when compiled
    margin     by this part of the range seen, intervals reach further on each side
    raises     UnsupportedError that names all functions that cannot be replaced, with the module and its line, why and
               what to do; UserError and its kinds for what `lw.from_torch` refuses, and for arguments that are none
    """
    return prepare_at(user_loc(), module, example, calibrate, pools, FirstFit(degree, trainable, margin))


@dataclass(frozen=True)
class FirstFit:
    """The polynomials that training begins with: what `prepare` says of degree, trainable and margin.

    instead  the function that is fitted in the place of those with a kink; None: these themselves
    """

    degree: int | Sequence[int] = 3
    trainable: bool = True
    margin: float = 0.1
    instead: Function | None = None


def prepare_at(at: Loc, module: nn.Module, example: Any, calibrate: Any, pools: str, first: FirstFit) -> PreparedModule:
    """Prepare a module for the user's line; else as `prepare`."""
    if pools not in ("keep", "average"):
        raise UserError(f'prepare: pools={pools!r}; give "keep" or "average"', at=at)
    averages = pools == "average"
    check_module(torch, module, at)
    inner = copy.deepcopy(module)
    found = find_functions(inner, example, at, averages=averages)
    sequence = CallSequence.of([call.name for call in found.calls], found.functions)
    if calibrate is None:
        raise TraceError(
            f"prepare: {found.graph.name} needs data that say where its functions are used; give calibrate= a batch of "
            "inputs like those to come",
            at=at,
        )
    degrees = [first.degree] * len(found.functions) if isinstance(first.degree, int) else list(first.degree)
    if len(degrees) != len(found.functions):
        names = ", ".join(each.function.name for each in found.functions.values())
        raise UserError(
            f"prepare: {len(degrees)} degrees for {len(found.functions)} functions ({names}); give one for each in "
            "this order, or one for all",
            at=at,
        )
    args, kwargs = example_of(torch, inner, calibrate, at)
    recorded = RecordedCalls(sequence, averages=averages)
    with torch.no_grad(), recorded:
        inner(*args, **kwargs)
    recorded.turn.finish()
    dtype = next((p.dtype for p in inner.parameters() if p.dtype == torch.float64), torch.float32)
    if first.instead is not None:
        for number, each in found.functions.items():
            found.functions[number] = each if each.function.smooth else replace(each, function=first.instead)
    functions = _fit_polynomials(found, recorded.arguments, degrees, first, dtype)
    made = PreparedModule(inner, functions, sequence, averages=averages)
    device = next((p.device for p in inner.parameters()), torch.device("cpu"))
    made.functions.to(device=device, dtype=dtype)
    made.train(module.training)
    return made


def _fit_polynomials(
    found: FoundCalls, seen: Sequence[SeenArguments], degrees: Sequence[Any], first: FirstFit, dtype: Any
) -> list[PolynomialFunction]:
    """The polynomials; all that is wrong is told at once."""
    functions, refusals = [], list(found.refusals)
    for each, arguments, degree in zip(found.functions.values(), seen, degrees, strict=True):
        try:
            check_degree(each.function, degree)
            functions.append(_polynomial(each.function, arguments, int(degree), first, dtype))
        except RangeError as error:
            refusals.append(Refusal(each.loc, each.function.name, error.message))
    if refusals:
        raise refuse(found.graph, refusals, _CANNOT)
    return functions


def _polynomial(
    function: Function, seen: SeenArguments, degree: int, first: FirstFit, dtype: Any
) -> PolynomialFunction:
    """The polynomial of a degree on an interval whose ends are numbers of the module's kind."""
    wide = function.widen(*seen.range_of(function.name), first.margin)
    low, high = torch.tensor(wide, dtype=dtype).tolist()  # the same numbers in the module and in the program
    fitted = function.approximate((low, high), degree, seen.sample())
    return PolynomialFunction(function.name, fitted, trainable=first.trainable)
