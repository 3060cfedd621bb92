"""One fitted estimator while it is read: its attributes, checked, and the nodes that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.model_graph import ModelNode, Ref
from latticework.models.model_refusals import Refusal
from latticework.models.sklearn.finishing import Steps
from latticework.models.trees.leaves import Reals as Reals

_UNFITTED = "it is not fitted: it has no {name}"
_CHANGED = "it has no {name}, which this reads: another version of scikit-learn gives it other attributes"
FIT_HERE = "fit it with the version of scikit-learn that is installed"


class StepRefusedError(Exception):
    """A step that cannot be imported; its refusal is told with all others."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.why)
        self.refusal = refusal


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step: a value of the graph, and the owner's steps after decryption."""

    value: Ref
    finish: Steps = ()


@dataclass
class Assembly:
    """The graph that is made of an estimator so far.

    build     reads an estimator: of a step, its input and a method
    methods   those of an estimator that can be imported
    widths    of values, by name: how many numbers a row has, None where it is one and no axis of its own
    samples_of  samples, where they are given, as they are at a value of some nodes
    trees     the way in which trees are computed;  gap  of their signs, where it is given
    refusals  of all steps
    notes     for reports
    """

    build: Callable[[FittedStep, Ref, str], StepResult]
    methods: Callable[[Any], tuple[str, ...]]
    widths: dict[str, int | None]
    samples_of: Callable[[Ref, Sequence[ModelNode]], Reals | None] = lambda value, nodes: None
    trees: str | None = None
    gap: float | None = None
    nodes: list[ModelNode] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, operator: str, loc: Loc, args: tuple[Any, ...], options: dict[str, Any]) -> Ref:
        """A node; its result."""
        result = f"v{len(self.nodes) + 1}"
        self.nodes.append(ModelNode(operator, args, options, (result,), loc))
        self.widths[result] = self._width(operator, args, options)
        return Ref(result)

    def samples_at(self, value: Ref) -> Reals | None:
        """Samples, where they are given, as they are at a value of the graph."""
        return self.samples_of(value, self.nodes)

    def _width(self, operator: str, args: tuple[Any, ...], options: dict[str, Any]) -> int | None:
        """The width of a node's result."""
        shaping = {
            "linear": "weight",
            "quadratic": "weight",
            "kernel": "vectors",
            "monomials": "powers",
            "trees": "weight",
        }
        if operator == "columns":
            return None if np.ndim(options["indices"]) == 0 else len(options["indices"])
        if operator == "owner":
            return int(options["width"])
        if operator in shaping:
            shape = np.shape(options[shaping[operator]])
            return shape[0] if operator in ("kernel", "monomials") or len(shape) == 2 else None
        parts = args[0] if isinstance(args[0], tuple) else (args[0],)
        each = [self.widths[part.name] for part in parts]
        return sum(w or 1 for w in each) if operator == "combine" else each[0]


def _differs(wanted: Sequence[int | None], shape: Sequence[int]) -> bool:
    return any(n not in (None, m) for n, m in zip(wanted, shape, strict=True))


class FittedStep:
    """An estimator at its place.

    loc  where the user finds it: the composition that it is a step of, its number there, and its name
    """

    def __init__(self, estimator: Any, loc: Loc, assembly: Assembly) -> None:
        self.estimator, self.loc, self.assembly = estimator, loc, assembly
        self.kind = type(estimator).__name__

    def has(self, name: str) -> bool:
        """Whether an attribute is there and not None."""
        try:
            return getattr(self.estimator, name, None) is not None
        except Exception:  # properties compute, and refuse
            return False

    def get(self, name: str) -> Any:
        """An attribute as it is."""
        if not self.has(name):
            state = getattr(self.estimator, "__dict__", {})
            is_fitted = any(n.endswith("_") and not n.startswith("__") for n in state)
            if is_fitted:
                self.refuse(_CHANGED.format(name=name), FIT_HERE)
            self.refuse(_UNFITTED.format(name=name), "call fit first")
        return getattr(self.estimator, name)

    def array(self, name: str, *shape: int | None) -> Reals:
        """An attribute as float64.

        shape  what it has to be; None for any length; not given: any
        """
        return self.check_numbers(self.get(name), name, *shape)

    def check_numbers(self, value: Any, name: str, *shape: int | None) -> Reals:
        """Check an attribute, and return its numbers as float64: dense, real, finite and of the shape."""
        if hasattr(value, "toarray"):
            self.refuse(f"its {name} are sparse", "call densify() or toarray() before")
        array = np.asarray(value)
        if array.dtype.kind not in "fiub" or array.dtype == np.float16:
            self.refuse(
                f"its {name} is of {array.dtype}, which does not hold weights in full",
                "fit it on float64 or float32",
            )
        if shape and (array.ndim != len(shape) or _differs(shape, array.shape)):
            wanted = tuple("any" if n is None else n for n in shape)
            self.refuse(f"its {name} has shape {array.shape}, expected {wanted}".replace("'", ""))
        if not np.isfinite(array).all():
            bad = np.argwhere(~np.isfinite(array))[0].tolist()
            self.refuse(f"its {name} holds a number that is not finite, at {bad}", "fit it again, on finite numbers")
        return array.astype(np.float64)

    def number(self, name: str) -> float:
        """An attribute that is one number."""
        return float(self.check_numbers(np.asarray(self.get(name)).reshape(-1), name, 1)[0])

    def setting(self, name: str, *allowed: Any, instead: str = "") -> Any:
        """A parameter of the constructor, of which only some values are taken."""
        value = getattr(self.estimator, name, None)
        if callable(value) or not any(value is a or value == a for a in allowed):
            shown = getattr(value, "__name__", repr(value))
            self.refuse(f"{name}={shown} is not supported; {' and '.join(map(repr, allowed))} are", instead)
        return value

    @property
    def classes(self) -> npt.NDArray[Any]:
        """The classes of a classifier, in the order of its columns."""
        classes = self.get("classes_")
        if isinstance(classes, list) or np.ndim(classes) != 1:
            self.refuse("it has several outputs", "import one classifier for each output")
        return np.asarray(classes)

    def need_classes(self, classes: npt.NDArray[Any] | None = None) -> None:
        """Refuse a classifier that knows one class only: shapes differ there, and nothing is computed."""
        if len(self.classes if classes is None else classes) < 2:
            self.refuse("it was fitted on one class only, so every row is of that class", "fit it on several classes")

    @property
    def width(self) -> int:
        """The number of features that the estimator takes."""
        return int(self.get("n_features_in_"))

    def refuse(self, why: str, instead: str = "") -> NoReturn:
        """Give this step up."""
        raise StepRefusedError(Refusal(self.loc, self.kind, why, instead))

    def note(self, text: str) -> None:
        """Something for reports."""
        self.assembly.notes.append(f"{self.loc}: {self.kind}: {text}")

    def emit(self, operator: str, *args: Any, **options: Any) -> Ref:
        """A node of this step."""
        return self.assembly.add(operator, self.loc, args, options)

    def inner(self, estimator: Any, name: str, number: int, x: Ref, method: str) -> StepResult:
        """Build a part of this estimator; a refusal is noted, and others are looked for."""
        loc = Loc(self.path, number, f"step {number} ({name}) of {self.kind}" if name else "")
        step = FittedStep(estimator, loc, self.assembly)
        try:
            return self.assembly.build(step, x, method)
        except StepRefusedError as error:
            self.assembly.refusals.append(error.refusal)
            return StepResult(x)

    @property
    def path(self) -> str:
        """The beginning of its parts' places: all compositions around them."""
        if not self.loc.text:
            return self.kind
        return f"{self.loc.file}.{self.loc.line}.{self.kind}"

    def can(self, estimator: Any, method: str) -> bool:
        """Whether a method of a part can be imported."""
        return method in self.assembly.methods(estimator)

    def inners(self, named: Sequence[tuple[str, Any]], x: Ref, method: str) -> list[StepResult]:
        """Build several parts of this estimator on the same input."""
        return [self.inner(part, name, i, x, method) for i, (name, part) in enumerate(named, 1)]
