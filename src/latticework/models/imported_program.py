"""An imported model as a program: callable on arrays, traced like any other, with its weights bound."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

from latticework.errors import TraceError
from latticework.errors.escaping import plain_text
from latticework.frontend.programs.array_program import Program, trace
from latticework.frontend.programs.owned import check_stages
from latticework.frontend.recording.annotations import Parameter, Secret
from latticework.ir.location import Loc
from latticework.ir.module import Module
from latticework.models.converters import Converters
from latticework.models.evaluate_graph import OnNode, check_operators, run
from latticework.models.model_graph import ModelGraph
from latticework.models.semantics.operand_checks import is_secret
from latticework.plan.client_steps.run_steps import arrange_results, finish_exact, prepare
from latticework.plan.client_steps.stages import OwnerStages
from latticework.tensor.ops.base import shape_of
from latticework.values.inputs.column_names import take_columns
from latticework.values.inputs.frames_by_column import split_by_column


class ImportedProgram(Program):
    """A trained model as a program; made by `from_torch`, `from_onnx` and `from_sklearn`.

    Called with NumPy arrays it computes in NumPy what the model computes, in float64, the owner's steps included.

    graph       the model
    converters  the meanings of its operators
    notes       what importing changed, for reports: "weights of 8 bits restored to numbers", one line each
    owner       what the owner computes before encryption and after decryption; inputs of the graph are those that are
                encrypted, outputs those that are decrypted
    raises      UnsupportedError that names all operators, arguments and options that cannot be computed encrypted, and
                why, before anything is compiled; TraceError where no output depends on an input
    """

    scales_columns = True
    at_owner_before: tuple[str, ...] = ()  # operators of the model that became steps of the owner's
    at_owner_after: tuple[str, ...] = ()

    def __init__(
        self, graph: ModelGraph, converters: Converters, notes: tuple[str, ...] = (), owner: OwnerStages | None = None
    ) -> None:
        self.graph, self.converters, self.notes = graph, converters, notes
        self.name = self.__name__ = identifier(graph.name)
        self.__doc__ = f"{graph.name}, imported."
        self.loc = graph.loc
        names = distinct([identifier(given.name) for given in graph.inputs])
        self.parameters = tuple(
            Parameter(name, Secret(given.shape), inspect.Parameter.empty, given.loc)
            for name, given in zip(names, graph.inputs, strict=True)
        )
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
        self.function: Callable[..., Any] = self._compute
        check_operators(graph, converters)
        module = trace(self)  # what depends on shapes, and on what is encrypted, is refused here as well
        made = zip(module.outputs, module.body.terminator.operands, strict=True)
        self.output_shapes: dict[str, tuple[int, ...]] = {name: shape_of(value) for name, value in made}
        if owner:
            self.take_owner(owner)

    def operator_at(self, loc: Loc) -> str:
        """The model's name of the node at `loc`: "max_pool2d (features.3)"; "" where there is none."""
        key = loc.file, loc.line, loc.text
        node = next((n for n in self.graph.nodes if (n.loc.file, n.loc.line, n.loc.text) == key), None)
        if node is None:
            return ""
        operator = node.operator.removeprefix("aten.").removesuffix(".default")
        return f"{operator} ({plain_text(loc.text)})" if loc.text and not loc.text.startswith(operator) else operator

    def take_owner(self, owner: OwnerStages, notes: tuple[str, ...] = ()) -> None:
        """Let the owner compute these steps.

        notes   what there is to say of it
        raises  UserError for steps that do not fit the program
        """
        check_stages(self, owner, {p.name: p.kind.shape or () for p in self.parameters}, self.output_shapes)
        self.owner, self.notes = owner or None, (*self.notes, *notes)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Compute the model on the owner's inputs, or on secrets while another program is traced.

        raises  TraceError, ShapeError, ColumnsError, DtypeError or RangeError for what is no input
        """
        owner = self.owner
        if is_secret(*args, *kwargs.values()):
            return super().__call__(*args, **kwargs)
        names = self.given_names
        if len(args) == 1 and not kwargs and (split := self._by_column(args[0])):
            args, kwargs = (), split
        args, kwargs = self.with_columns_in_order(args), self.with_columns_in_order(kwargs)
        if owner is None:
            return super().__call__(*args, **kwargs)
        given = dict(zip(names, args, strict=False)) | kwargs
        if len(args) > len(names) or set(given) != set(names) or len(given) < len(args) + len(kwargs):
            raise TraceError(f"{self.graph.name} takes the inputs {', '.join(names)}", at=self.loc)
        found = super().__call__(**prepare(owner, self.name, given))
        several = found if isinstance(found, tuple) else tuple(found.values()) if isinstance(found, dict) else (found,)
        if not owner.after:
            return found
        by_name = dict(zip(self.output_shapes, several, strict=True))
        return arrange_results([result.name for result in owner.after], finish_exact(owner.after, by_name))

    @property
    def given_names(self) -> list[str]:
        """The owner's names of the inputs."""
        names = [p.name for p in self.parameters]
        return names if self.owner is None else self.owner.given_for(names)

    def with_columns_in_order(self, data: Any) -> Any:
        """The owner's inputs, a tuple or a dictionary by name, with columns of frames in the model's order.

        raises  ColumnsError for frames with other columns
        """
        if not isinstance(data, tuple | Mapping) and (split := self._by_column(data)):
            data = tuple(split[name] for name in self.given_names)
        given = () if self.owner is None else self.owner.given
        known = {**self.columns, **{each.name: each.columns for each in given if each.columns}}
        partial = () if self.owner is None else self.owner.partial
        return take_columns(known, self.given_names, data, self.graph.name, partial=partial)[0]

    def _by_column(self, data: Any) -> dict[str, Any] | None:
        """A frame by the inputs that its columns are for; None where it is for one input."""
        return split_by_column(data, {} if self.owner is None else self.owner.column_each, self.graph.name)

    def traced(self, on_node: OnNode) -> Module:
        """Trace the encrypted part once more; `on_node` is called with every node after it was carried out."""

        def function(*arrays: Any) -> Any:
            given = {i.name: array for i, array in zip(self.graph.inputs, arrays, strict=True)}
            return tuple(run(self.graph, self.converters, given, on_node=on_node))

        watched = copy.copy(self)
        watched.function = function
        return trace(watched)

    def _compute(self, *arrays: Any) -> Any:
        given = {i.name: array for i, array in zip(self.graph.inputs, arrays, strict=True)}
        found = run(self.graph, self.converters, given)
        if is_secret(*arrays):
            public = [r.name for r, value in zip(self.graph.outputs, found, strict=True) if not is_secret(value)]
            if public:
                raise TraceError(
                    f"{self.graph.name}: output {', '.join(public)} depends on no input; leave it out", at=self.loc
                )
        if self.graph.labels:
            return dict(zip(self.graph.labels, found, strict=True))
        return found[0] if len(found) == 1 else tuple(found)


def identifier(name: str) -> str:
    """A name as Python's own: "input.1" becomes input_1, and "class" class_."""
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII) or "x"
    cleaned = f"{cleaned}_" if iskeyword(cleaned) else cleaned
    return cleaned if not cleaned[0].isdigit() else f"x{cleaned}"


def distinct(names: list[str]) -> list[str]:
    """The same names, later ones of equal ones numbered."""
    found: list[str] = []
    for name in names:
        made, number = name, 2
        while made in found:
            made, number = f"{name}_{number}", number + 1
        found.append(made)
    return found
