"""Signature of an exported graph: weights, inputs, and outputs with their names."""

from __future__ import annotations

from typing import Any

from latticework.errors import DtypeError, RangeError, TraceError
from latticework.ir.location import Loc
from latticework.models.model_graph import ModelGraph
from latticework.models.model_refusals import Refusal
from latticework.models.pytorch.read import flat_labels

_INTEGERS = (
    "whole numbers are not encrypted as such: export the part of the model that follows the embedding, with embedding "
    "vectors as its input"
)


class Signature:
    """The signature of a functional exported program.

    public    values of its placeholders that are no encrypted inputs, by their names
    labels    of those of its outputs that are kept, by their numbers; "" where they have none
    notes     what importing changed
    refusals  buffers that it changes
    raises    DtypeError, RangeError for weights that are no finite real numbers, by their names
    """

    def __init__(self, torch: Any, exported: Any, name: str, at: Loc) -> None:
        self._torch, self._exported, self._name, self._at = torch, exported, name, at
        self.public: dict[str, Any] = {}
        self.notes: list[str] = []
        self.refusals: list[Refusal] = []
        self._copies: dict[tuple[Any, ...], Any] = {}
        self._half: dict[str, int] = {}
        self._wholes: dict[str, Any] = {}  # inputs of whole numbers, with their types
        used = {node.name for node in exported.graph.nodes if node.op == "placeholder" and node.users}
        values = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
        for spec in exported.graph_signature.input_specs:
            kind, key = spec.kind.name, spec.arg.name
            if kind == "USER_INPUT" and hasattr(spec.arg, "value"):
                self.public[key] = spec.arg.value
                if spec.arg.value is not None:
                    self.notes.append(f"{key} is {spec.arg.value!r}, as in the example")
            elif kind == "USER_INPUT":
                self._check_input(key, values[key])
            else:
                self.public[key] = self._weight(kind, spec.target) if key in used else None
        for dtype, count in self._half.items():
            self.notes.append(f"{count} weights of {dtype} computed with in float64")
        self.labels = self._outputs()

    def _check_input(self, key: str, value: Any) -> None:
        if not isinstance(value, self._torch.Tensor):
            raise TraceError(f"{self._name}: the input {key} is no tensor; export it as a number", at=self._at)
        if not value.is_floating_point():
            self._wholes[key] = value.dtype

    def check_encrypted(self, part: ModelGraph) -> tuple[str, ...]:
        """DtypeError for an input of whole numbers in what is computed encrypted; the owner may compute with them."""
        read = {name for node in part.nodes for name in node.reads()} | {output.name for output in part.outputs}
        for given in part.inputs:
            if given.name in self._wholes:
                told = _INTEGERS if given.name in read else "nothing reads it: leave it out of forward"
                dtype = self._wholes[given.name]
                raise DtypeError(f"{self._name}: the input {given.name} is of {dtype}; {told}", at=self._at)
        return ()

    def _weight(self, kind: str, target: str) -> Any:
        """A copy of a parameter, buffer or constant, one for all that share their numbers."""
        found = self._exported.state_dict.get(target)
        if found is None:
            found = self._exported.constants.get(target)
        torch = self._torch
        if not isinstance(found, torch.Tensor):
            raise DtypeError(f"{self._name}: {target} is a {type(found).__name__}, no tensor of numbers", at=self._at)
        if found.is_complex() or found.is_quantized or found.layout != torch.strided:
            form = str(found.dtype) if found.layout == torch.strided else str(found.layout)
            raise DtypeError(
                f"{self._name}: {target} is of {form}; only arrays of real numbers can be computed with: convert it "
                "before exporting (dequantize(), to_dense(), real and imaginary parts)",
                at=self._at,
            )
        if found.is_floating_point() and (found.isnan().any() or (kind == "PARAMETER" and found.isinf().any())):
            lost = int((~found.isfinite()).sum())
            raise RangeError(
                f"{self._name}: {lost} of the {found.numel()} numbers of {target} are NaN or infinite; "
                "train the module again, or load other weights",
                at=self._at,
            )
        if found.is_floating_point() and found.dtype not in (torch.float32, torch.float64):
            name = str(found.dtype).removeprefix("torch.")
            self._half[name] = self._half.get(name, 0) + found.numel()
        identity = (found.data_ptr(), found.dtype, tuple(found.shape), found.stride(), found.device)
        if identity not in self._copies:
            self._copies[identity] = found.detach().cpu().clone()
        return self._copies[identity]

    def _outputs(self) -> dict[int, str]:
        specs = self._exported.graph_signature.output_specs
        labels: dict[int, str] = {}
        users: list[tuple[int, Any]] = []
        for number, spec in enumerate(specs):
            kind = spec.kind.name
            if kind == "USER_OUTPUT":
                users.append((number, spec))
            elif kind == "USER_INPUT_MUTATION":
                self.notes.append(f"forward changes its input {spec.target} in place; what is encrypted stays as it is")
            else:
                why = f"forward changes {spec.target}, and programs keep nothing from run to run"
                instead = "return it as an output and give it as an input, or register no buffer for it"
                self.refusals.append(Refusal(self._at, "mutation", why, instead))
        for (number, spec), label in zip(users, self._names(len(users)), strict=True):
            if hasattr(spec.arg, "value"):
                self.notes.append(f"output {label or number} is always {spec.arg.value!r} and left out")
            else:
                labels[number] = label
        if not labels:
            raise TraceError(f"{self._name}: forward returns no tensor; return what it computes", at=self._at)
        return labels

    def _names(self, count: int) -> list[str]:
        """Names of all outputs: keys of a dictionary; "" where forward returns a tensor or a tuple."""
        structure = self._exported.call_spec.out_spec
        made = self._torch.utils._pytree.tree_unflatten(list(range(count)), structure)
        leaves = dict(flat_labels(made))
        if structure.num_children and not isinstance(made, dict):
            return [""] * count
        return [leaves.get(i, "") for i in range(count)]
