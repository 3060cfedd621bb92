"""`lw.torch`: fine-tuning of PyTorch modules whose functions are polynomials, within a budget of time and memory.

`models/finetuning/` makes and trains such modules; what they cost is known to the compiler alone, so the search for one
that is affordable stands here, above both.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Literal, overload

from latticework.compiler.compile import compile as compile_program
from latticework.errors import UserError
from latticework.functions.approximation.real_functions import FUNCTIONS
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.finetuning import PolynomialFunction, PreparedModule, range_loss, recalibrate
from latticework.models.finetuning.finding import find_functions
from latticework.models.finetuning.fine_tune import TuningData, fine_tune, measure_accuracy, split_data
from latticework.models.finetuning.prepare_module import FirstFit, prepare_at
from latticework.models.finetuning.prepare_module import prepare as prepare_module
from latticework.models.pytorch.import_pytorch import from_torch
from latticework.plan.analysis.estimate import estimate
from latticework.plan.cost import CostModel
from latticework.plan.machine.shown_prices import shown_costs
from latticework.plan.schema.amounts import parse_bytes, parse_seconds
from latticework.report.quantities import duration, size
from latticework.report.tuning_curve import TuningCurve, TuningPoint

__all__ = ["PolynomialFunction", "PreparedModule", "TunedModule", "prepare", "range_loss", "recalibrate"]

DEGREES = (2, 3, 7, 15)  # the highest of one, two, three and four levels
BEYOND = 3.0  # budgets: what costs more is not trained
PRICED = 64  # rows that a form is compiled on: others move ranges, and hardly costs
MOST_REFINED = 3  # functions whose degrees are lowered one by one
BITS = 8.0  # of precision, unless the options of compiling say otherwise


@dataclass(frozen=True)
class TunedModule:
    """A module that was prepared within a budget.

    module  fine-tuned, for `lw.from_torch`
    curve   what every form that was looked at costs, and how accurate it is: printed as a table, drawn in notebooks
    """

    module: PreparedModule
    curve: TuningCurve

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The records of the curve."""
        return self.curve.rows

    def __str__(self) -> str:
        """The curve as a table."""
        return str(self.curve)

    def _repr_html_(self) -> str:
        """The curve as notebooks show it."""
        return self.curve.to_html()


@overload
def prepare(
    module: Any, example: Any, calibrate: Any = None, *, degree: int | Sequence[int] = 3, trainable: bool = True,
    pools: Literal["keep", "average"] = "keep", margin: float = 0.1,
) -> PreparedModule: ...  # fmt: skip
@overload
def prepare(
    module: Any, example: Any, calibrate: Any = None, *, budget: str,
    pools: Literal["keep", "average"] = "keep", margin: float = 0.1, epochs: int = 20, seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> TunedModule: ...  # fmt: skip
def prepare(
    module: Any, example: Any, calibrate: Any = None, *, degree: int | Sequence[int] = 3, trainable: bool = True,
    pools: Literal["keep", "average"] = "keep", margin: float = 0.1, budget: str | None = None,
    epochs: int = 20, seed: int = 0, options: Mapping[str, Any] | None = None,
) -> PreparedModule | TunedModule:  # fmt: skip
    """A copy of a module whose functions (ReLU, GELU, tanh, ...) are polynomials on the ranges that data take.

    Without a budget it is trained by any loop, with `range_loss` added to the loss. With one, `prepare(module, data,
    labels, budget="1 s, 2 GB")` tries degrees, pools and functions, fine-tunes each, and takes the most accurate
    that is predicted to run within the budget. `lw.from_torch` takes exactly these polynomials. Functions that the
    owner of the data computes, such as a softmax at the end, stay as they are.

    module     in evaluation mode, as for `lw.from_torch`
    example    of the shapes that will be encrypted, as there; with a budget the rows to train on, a fifth of which are
               held out
    calibrate  inputs like those to come, as forward takes them: a batch, a tuple of its arguments, or a dictionary;
               they say where each function is needed. Some hundreds of rows are enough. With a budget: labels, classes
               or numbers, or None to train towards the module's own results
    degree     of the polynomials, or one for each in the order in which forward calls them
    trainable  whether coefficients are parameters that are trained, or stay what they are fitted to
    pools      "average": the mean in the place of the largest element of every pool. "keep": largest elements stay, and
               are compositions of many levels when compiled; with a budget means are tried first
    margin     by this part of the range seen, intervals reach further on each side
    budget     seconds and memory of one run of a server, either or both: "1 s, 2 GB"
    epochs     of fine-tuning;  seed  of everything drawn by chance
    options    keywords of `lw.compile` that forms are priced with; precision_bits is 8 unless given
    returns    the module; with a budget a `TunedModule`, which also has the curve of accuracy over cost
    raises     UnsupportedError that names all functions that cannot be replaced, with the module and its line, why and
               what to do; UserError and its kinds for what `lw.from_torch` refuses, for arguments that are none, and
               for a budget that nothing meets, with the cheapest that was found
    """
    if budget is None:
        return prepare_module(
            module, example, calibrate, degree=degree, trainable=trainable, pools=pools, margin=margin
        )
    at = user_loc()
    allowed, data = Budget.parse(budget, at), split_data(module, example, calibrate, seed, at)
    asked = {"precision_bits": BITS, "bootstrap": "never", **(options or {})}
    search = _BudgetSearch(module, data, allowed, at, pools, margin, epochs, seed, asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return search.run()


@dataclass(frozen=True)
class Budget:
    """The seconds and bytes that one run may take, either or both; `text` is as the user wrote them."""

    text: str
    seconds: float | None = None
    memory_bytes: int | None = None

    @classmethod
    def parse(cls, text: str, at: Loc) -> Budget:
        """Read "1 s, 2 GB"."""
        found: dict[str, Any] = {}
        for part in str(text).split(","):
            is_memory = part.strip().upper().endswith("B")
            name = "memory_bytes" if is_memory else "seconds"
            try:
                value = parse_bytes(part, "budget") if is_memory else parse_seconds(part)
            except UserError as error:
                raise UserError(f"prepare: budget={text!r}: {error.message}", at=at) from None
            if name in found:
                raise UserError(f"prepare: budget={text!r} says {name} twice; write it as '1 s, 2 GB'", at=at)
            found[name] = value
        return cls(str(text), **found)

    def shares(self, seconds: float, memory_bytes: int) -> float:
        """Return the share of the budget that something takes: at most 1 where it is within."""
        return max(
            seconds / self.seconds if self.seconds else 0.0,
            memory_bytes / self.memory_bytes if self.memory_bytes else 0.0,
        )


@dataclass(frozen=True)
class _Form:
    """One form of the module: pools, the degree of every function, and what functions with a kink begin as."""

    pools: str
    degrees: tuple[int, ...]
    functions: str

    def point(self, has_pools: bool, **facts: Any) -> TuningPoint:
        """The form on the curve."""
        return TuningPoint(self.functions, self.degrees, self.pools if has_pools else "", **facts)


@dataclass
class _BudgetSearch:
    """A search among forms of a module."""

    module: Any
    data: TuningData
    budget: Budget
    at: Loc
    pools: str
    margin: float
    epochs: int
    seed: int
    options: dict[str, Any]

    def run(self) -> TunedModule:
        """Price forms, fine-tune those that are not far beyond the budget, and take the best within."""
        self.tried: dict[_Form, tuple[TuningPoint, PreparedModule | None]] = {}
        functions = self._find(averages=True).functions.values()
        self.has_pools = any("max_pool" in call.name for call in self._find(averages=False).calls)
        starts = ("own", "silu") if any(not each.function.smooth for each in functions) else ("own",)
        self.exact = measure_accuracy(self.module, self.data)
        for pools in self._pools():
            self._try_degrees(pools, len(functions), starts)
            if self._is_exact():
                break
        best = self._best()
        if best is not None and len(functions) > 1 and best.degrees != DEGREES[:1] * len(functions):
            self._refine(best)
        return self._finish()

    def _try_degrees(self, pools: str, count: int, starts: Sequence[str]) -> None:
        """Try one degree for all functions, the lowest first, until more cannot be afforded or betters nothing."""
        for degree in DEGREES if count else DEGREES[:1]:
            enough = self._is_exact()
            forms = [_Form(pools, (degree,) * count, start) for start in (starts if degree <= 3 else starts[:1])]
            shares = self._try(forms)
            if enough or shares > BEYOND or (shares > 1.0 and pools == "keep" and self.has_pools):
                break

    def _is_exact(self) -> bool:
        """Whether a form within the budget is as accurate as the module that was given."""
        best = self._best()
        return best is not None and (self.tried[best][0].accuracy or 0.0) >= self.exact

    def _finish(self) -> TunedModule:
        """Take the best form that is within the budget as it was trained."""
        while (best := self._best()) is not None:
            point, module = self.tried[best]
            assert module is not None
            price = self._price(module)
            if isinstance(price, str) or self.budget.shares(*price[1:]) > 1.0:
                self.tried[best] = replace(point, fits=False), None
                continue
            levels, seconds, memory_bytes = price
            point = replace(point, levels=levels, seconds=seconds, memory_bytes=memory_bytes)
            self.tried[best] = point, module
            points = sorted((each for each, _ in self.tried.values()), key=_by_cost)
            return TunedModule(module, TuningCurve(tuple(points), point, self.exact, self.budget.text))
        raise self._too_dear()

    def _find(self, *, averages: bool) -> Any:
        return find_functions(copy.deepcopy(self.module), self.data.held[:1], self.at, averages=averages)

    def _pools(self) -> tuple[str, ...]:
        return ("average", "keep") if self.has_pools and self.pools == "keep" else (self.pools,)

    def _prepare(self, form: _Form) -> PreparedModule:
        instead = None if form.functions == "own" else FUNCTIONS[form.functions]
        return prepare_at(
            self.at, self.module, self.data.held[:1], self.data.train, form.pools,
            FirstFit(form.degrees, margin=self.margin, instead=instead),
        )  # fmt: skip

    def _price(self, prepared: PreparedModule) -> tuple[int, float, int] | str:
        """Levels, seconds and bytes of a run; or why there is no plan."""
        try:
            program = from_torch(prepared, self.data.held[:1])
            model = compile_program(
                program, **{"calibrate": self.data.some_rows(PRICED), **self.options}, progress=False
            )
        except UserError as error:
            return error.message
        cost = estimate(model.plan, shown_costs(CostModel.load(self.options.get("cost_table"))))
        return model.plan.chain.main.top, cost.warm_seconds, cost.memory.total

    def _try(self, forms: Sequence[_Form]) -> float:
        """Price forms that cost alike, and fine-tune them; the share of the budget that they take."""
        price = self._price(self._prepare(forms[0]))
        if isinstance(price, str):
            self.tried[forms[0]] = forms[0].point(self.has_pools, note="no plan: " + price.partition(";")[0]), None
            return inf
        levels, seconds, memory_bytes = price
        shares = self.budget.shares(seconds, memory_bytes)
        for form in forms:
            point = form.point(self.has_pools, levels=levels, seconds=seconds, memory_bytes=memory_bytes)
            if shares > BEYOND:
                self.tried[form] = replace(point, note="not trained"), None
                break
            prepared = self._prepare(form)
            fine_tune(prepared, self.data, self.epochs, self.seed)
            accuracy = measure_accuracy(prepared, self.data)
            self.tried[form] = replace(point, accuracy=accuracy, fits=shares <= 1.0), prepared
        return shares

    def _refine(self, best: _Form) -> None:
        """Try forms with the degree of one function lower than in the best."""
        for place, degree in enumerate(best.degrees[:MOST_REFINED]):
            for lower in DEGREES[max(DEGREES.index(degree) - 1, 0) : DEGREES.index(degree)]:
                self._try([replace(best, degrees=(*best.degrees[:place], lower, *best.degrees[place + 1 :]))])

    def _best(self) -> _Form | None:
        """The most accurate within the budget; of equals the quickest."""
        within = [form for form, (point, _) in self.tried.items() if point.fits]

        def rank(form: _Form) -> tuple[float, float]:
            point = self.tried[form][0]
            return point.accuracy or 0.0, -(point.seconds or 0.0)

        return max(within, key=rank, default=None)

    def _too_dear(self) -> UserError:
        points = [point for point, _ in self.tried.values()]
        priced = [point for point in points if point.seconds is not None]
        if not priced:
            return UserError(
                f"prepare: no form of {type(self.module).__name__} has a plan: {points[0].note}", at=self.at
            )
        least = min(priced, key=lambda point: self.budget.shares(point.seconds or 0.0, point.memory_bytes or 0))
        return UserError(
            f"prepare: nothing fits budget={self.budget.text!r}: the cheapest that was found ({least.name}) takes "
            f"{duration(least.seconds or 0.0)} and {size(least.memory_bytes or 0)}; allow as much, make the module "
            "smaller, or ask for fewer bits by options={'precision_bits': ...}",
            at=self.at,
        )


def _by_cost(point: TuningPoint) -> tuple[bool, float]:
    return point.seconds is None, point.seconds or 0.0
