"""lw.from_onnx: an ONNX file as a program."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from latticework.errors import DtypeError, FormatError, UserError
from latticework.models.average_pooling import Pools, check_pools, with_average_pools
from latticework.models.client_rules.onnx import ONNX_RULES
from latticework.models.client_rules.onnx_tables import TABLE_RULES, has_table
from latticework.models.cuts import cut_program
from latticework.models.imported_program import identifier
from latticework.models.model_graph import GraphInput, ModelGraph, Ref
from latticework.models.onnx import input_shapes as binding
from latticework.models.onnx.building import OnnxBuilder, Scope
from latticework.models.onnx.casts import without_idle_casts
from latticework.models.onnx.integer_inputs import check_wholes
from latticework.models.onnx.leaf_functions import with_leaf_values
from latticework.models.onnx.onnx_threshold_margins import mark_doubts
from latticework.models.onnx.onnx_trees import by_signs, tree_nodes
from latticework.models.onnx.operators import onnx_quantised
from latticework.models.onnx.operators.onnx_average_pools import AVERAGE_POOLS
from latticework.models.onnx.operators.onnx_saturation import without_idle_cuts
from latticework.models.onnx.operators.table import CONVERTERS
from latticework.models.onnx.read_onnx import OnnxFile, read
from latticework.models.onnx.subgraph import Captures, check_values, select_nodes
from latticework.models.onnx.tensors import REAL, TensorReader
from latticework.models.onnx.training_rows import RowDistances
from latticework.models.onnx.tree_digits import on_digits
from latticework.models.onnx.written_functions import with_whole_activations
from latticework.models.onnx.written_softmax import with_whole_softmaxes
from latticework.models.onnx.written_votes import with_whole_votes
from latticework.models.trees.tree_circuits import TreeCircuit
from latticework.models.trees.tree_options import TreeChoice, Ways
from latticework.models.trees.tree_program import TreeProgram
from latticework.values.inputs.column_names import take_columns
from latticework.values.inputs.frames_by_column import split_by_column
from latticework.values.inputs.reading_budget import DEFAULTS, ReadingLimits, reading, told_as_damage


@overload
def from_onnx(
    model: Any, shapes: Mapping[str, Any] | None = None, *, inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None, public: Mapping[str, Any] | None = None, client: Sequence[str] = (),
    server: Sequence[str] = (), trees: Literal["sign"] | None = None, samples: Any = None, gap: float | None = None,
    mark: bool = True, memory_bytes: int | None = None, limits: ReadingLimits = DEFAULTS,
    pools: Pools = "keep",
) -> TreeProgram: ...  # fmt: skip
@overload
def from_onnx(
    model: Any, shapes: Mapping[str, Any] | None = None, *, inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None, public: Mapping[str, Any] | None = None, trees: Literal["exact"],
    samples: Any, digits: int = 8, memory_bytes: int | None = None, limits: ReadingLimits = DEFAULTS,
) -> TreeCircuit: ...  # fmt: skip
def from_onnx(
    model: Any, shapes: Mapping[str, Any] | None = None, *, inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None, public: Mapping[str, Any] | None = None, client: Sequence[str] = (),
    server: Sequence[str] = (), trees: Ways | None = None, samples: Any = None, gap: float | None = None,
    mark: bool = True, digits: int = 8, memory_bytes: int | None = None, limits: ReadingLimits = DEFAULTS,
    pools: Pools = "keep",
) -> TreeProgram | TreeCircuit:  # fmt: skip
    """Import an ONNX model as a program; its inputs are encrypted, and its weights are public.

    model    path of a file, its bytes, an open file, or an onnx.ModelProto; operators of versions 7 on, and those of
             ai.onnx.ml
    shapes   of inputs by name, {"x": (1, 3, 224, 224)}, whatever the file declares (`notes` say where it declares
             another one), or extents of named dimensions, {"N": 1}
    inputs   names of values to be encrypted, wherever in the graph; those of the model, unless given
    outputs  names of values to be computed, wherever in the graph; those of the model, unless given
    public   arrays for inputs that are not encrypted, such as masks and whole numbers, by name
    client, server  nodes, by name, that the owner of the data or the server has to compute, whatever would be chosen:
             what is cheap in the clear or impossible encrypted at both ends is the owner's, as `notes` say
    trees    of ensembles of trees, as `from_sklearn` has it: "sign": they compare by composite signs, approximately;
             "exact": one ensemble as a circuit for scheme="bfv", on digits of features that the owner encrypts
    samples  rows like those of training, for trees; a tuple of them where there are several inputs. Where they are
             frames, columns of frames are taken by their names from then on
    gap, mark, digits  of trees, as `from_sklearn` has them
    limits   of what a file may have us do, which is not trusted: work, memory, depth and bytes
    memory_bytes  in the place of that of limits: what public values may take while the model is imported
    pools    "average": the mean in the place of the largest element of every pool, which takes no comparisons: another
             model, as `notes` and the report say; "keep": the largest, by comparisons of many levels
    returns  a circuit of exact trees, or else a program of as many arrays as there are inputs, which returns an array,
             or a tuple of several; called with NumPy arrays it computes in NumPy, in float64. Its `notes` say what
             importing changed
    raises   FormatError for damaged files, ShapeError that names free dimensions, UnsupportedError that names all
             operators that cannot be computed encrypted, and what to do; MissingPackageError without the package onnx
    """
    averages = check_pools("from_onnx", pools)
    choice = TreeChoice("from_onnx", trees, gap, mark, digits)
    if memory_bytes is not None:
        limits = replace(limits, memory_bytes=memory_bytes)
    name = Path(model).name if isinstance(model, str | os.PathLike) else "the model"
    with told_as_damage(name), reading(limits) as budget:
        file = read(model, budget)
        graph, notes, kinds = _graph(file, shapes or {}, inputs, outputs, public or {})
        order = [identifier(given.name) for given in graph.inputs]
        rules = TABLE_RULES if has_table(graph.nodes, kinds) else ONNX_RULES
        each = {identifier(given.name): given.name for given in graph.inputs if rules.of_tables}
        if split := split_by_column(samples, each, "from_onnx: samples"):
            samples = tuple(split[name] for name in order)
        samples, columns = take_columns({}, order, samples, "from_onnx: samples")
        check = partial(check_wholes, file.name, kinds)
        del file
        distances = RowDistances(graph)
        distances.check(graph)
        if trees == "exact":
            circuit = on_digits(graph, rules, CONVERTERS, kinds, samples, choice)
            circuit.names = next(iter(columns.values()), ())
            return circuit
        changes: tuple[str, ...] = ()
        if averages:
            graph, changes = with_average_pools(graph, AVERAGE_POOLS)
        notes = (*notes, *distances.notes(graph), *changes)
        has_trees = bool(tree_nodes(graph))
        if has_trees:
            graph, told = by_signs(graph, CONVERTERS, kinds, samples, choice, of_cells=rules.of_tables)
            notes = (*notes, *told)
        with distances.without_advice(graph):
            made = cut_program(
                graph, CONVERTERS, rules, notes, client=client, server=server, check=check,
                mark=mark_doubts if has_trees and mark else None,
            )  # fmt: skip
        made.changes, made.columns = changes, columns
        return made


def _graph(
    file: OnnxFile,
    shapes: Mapping[str, Any],
    inputs: Sequence[str] | None,
    outputs: Sequence[str] | None,
    public: Mapping[str, Any],
) -> tuple[ModelGraph, tuple[str, ...], dict[str, int]]:
    """The model, what there is to say of it, and ONNX's data types of its inputs."""
    graph, notes = file.model.graph, dict[str, None]()
    arrays = {array.name: array for array in graph.initializer}
    for option, names in (("inputs", inputs), ("outputs", outputs), ("public", list(public))):
        check_values(graph, names or [], option, file.name)
    declared = {value.name: value for value in (*graph.input, *graph.value_info, *graph.output)}
    of_model = [value.name for value in graph.input if value.name not in arrays and value.name not in public]
    secret = list(dict.fromkeys(of_model if inputs is None else inputs))
    wanted = list(outputs) if outputs is not None else [value.name for value in graph.output]
    if not wanted:
        raise FormatError(f"{file.name}: the model has no output; give outputs=[...]")
    captures = Captures()
    kept, loose = select_nodes(graph, wanted, [*secret, *public], file.name, captures)
    _check_loose(file, loose - set(arrays), set(of_model), inputs is not None)

    tensors = TensorReader(file.folder, notes.setdefault)
    builder = OnnxBuilder(file, tensors, captures)
    builder.constants.update((name, _public(name, array, file)) for name, array in public.items())
    used = {name for name in loose if name in arrays}
    for name in used:
        builder.keep(name, arrays[name], arrays[name].name)
    scope = Scope({name: name for name in (*secret, *public, *used)}, file.versions)
    kinds = {name: _kind(declared.get(name)) for name in secret}
    nodes = without_idle_casts(builder.build(kept, wanted, scope), {scope.names[name]: kinds[name] for name in secret})
    refs = tuple(Ref(scope.names[name]) for name in wanted)
    nodes = with_leaf_values(nodes, builder.constants, refs, CONVERTERS)
    nodes = with_whole_softmaxes(nodes, builder.constants, refs, CONVERTERS)
    nodes, joined = with_whole_activations(nodes, builder.constants, refs, CONVERTERS)
    if joined:
        notes.setdefault(f"written out in several nodes, and approximated as one function each: {', '.join(joined)}")
    read = {name for node in nodes for name in node.reads()} | {ref.name for ref in refs}
    given = [name for name in secret if name in read]
    if not given:
        raise UserError(f"{file.name}: no output depends on an input; give inputs=[...] or outputs=[...]")
    if idle := [name for name in secret if name not in read]:
        notes.setdefault(f"inputs that nothing needs were left out: {', '.join(idle)}")
    of_table = has_table(nodes, {name: kinds[name] for name in given})
    extents = [(name, binding.declared_shape(declared.get(name))) for name in secret]
    if of_table:
        extents = [(name, binding.with_one_row(shape, shapes)) for name, shape in extents]
    binding.check_names(shapes, extents, file.name)
    by_name = dict(extents)
    bound = {name: binding.bind(name, by_name[name], shapes, file.name) for name in given}
    nodes = with_whole_votes(nodes, builder.constants, refs, CONVERTERS, bound)
    taken = tuple(GraphInput(name, shape, file.at(text=name)) for name, shape in bound.items())
    for name, shape in bound.items():
        if said := binding.shape_note(name, by_name[name], shape):
            notes.setdefault(said)
    if any(node.operator in onnx_quantised.OPERATORS for node in nodes):
        nodes = onnx_quantised.mark_rounding(nodes, given, builder.narrow, builder.constants)
        nodes = without_idle_cuts(onnx_quantised.without_pairs(nodes, builder.constants), builder.constants)
        notes.setdefault(onnx_quantised.NOTE)
    title = graph.name if file.name == "model.onnx" and graph.name else file.name.removesuffix(".onnx")
    made = ModelGraph(title or "model", taken, builder.constants, tuple(nodes), refs, file.at())
    return made, tuple(notes), {name: kinds[name] for name in given}


def _check_loose(file: OnnxFile, unmade: set[str], of_model: set[str], cut: bool) -> None:
    if not unmade:
        return
    names = ", ".join(sorted(unmade)[:8])
    if unmade <= of_model and cut:
        raise UserError(
            f"{file.name}: the outputs need {names} too; name it among inputs= or give its array in public="
        )
    raise FormatError(f"{file.name}: {names} is read, and nothing makes it; the file is damaged")


def _public(name: str, array: Any, file: OnnxFile) -> Any:
    found = np.asarray(array)
    if found.dtype.kind not in "fiubUS":
        raise DtypeError(f"{file.name}: public gives {name} an array of {found.dtype}; give numbers")
    return found


def _kind(value: Any) -> int:
    """The data type that a ValueInfoProto declares; that of float32 where it says nothing."""
    if value is None or not value.type.HasField("tensor_type"):
        return REAL[0]
    return int(value.type.tensor_type.elem_type) or REAL[0]
