"""`lw.from_torch`: a trained module of PyTorch, or an ExportedProgram, as a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from latticework.errors import UserError
from latticework.ir.lines import definition_loc, user_loc
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.average_pooling import Pools, check_pools, with_average_pools
from latticework.models.client_rules.aten import ATEN_RULES
from latticework.models.cuts import cut_program
from latticework.models.imported_program import ImportedProgram
from latticework.models.model_graph import ModelGraph
from latticework.models.model_refusals import refuse
from latticework.models.pytorch.example import example_of
from latticework.models.pytorch.export import export, functional, import_torch
from latticework.models.pytorch.module_checks import check_exported, check_module
from latticework.models.pytorch.node_locations import SourcePlaces
from latticework.models.pytorch.operators import CONVERTERS
from latticework.models.pytorch.operators.aten_average_pools import AVERAGE_POOLS
from latticework.models.pytorch.read import GraphReader
from latticework.models.pytorch.signature import Signature
from latticework.values.inputs.keras_models import find_keras_way
from latticework.values.inputs.reading_budget import ReadingLimits, reading


def from_torch(
    module: Any, example: Any = None, *, client: Sequence[str] = (), server: Sequence[str] = (), pools: Pools = "keep",
    limits: ReadingLimits | None = None,
) -> ImportedProgram:  # fmt: skip
    """Import a PyTorch module as a program: called on arrays in NumPy, compiled as any other.

    module   an nn.Module in evaluation mode, or a torch.export.ExportedProgram. Its weights are copied, once
    example  a tensor or array of the shape that will be encrypted, a tuple of them in the order of forward's
             parameters, or a dictionary by name; their values do not matter. An ExportedProgram needs none
    client, server  operators, by their line of source or what they make, that the owner of the data or the server has
             to compute, whatever would be chosen: what is cheap in the clear or impossible encrypted at both ends is
             the owner's, as `notes` say
    limits   of what importing may take, for programs of files that somebody else made (`.pt2`); none, unless given: a
             module is code, and so are these files, which are read only where they are trusted
    pools    "average": the mean in the place of the largest element of every pool, which takes no comparisons: another
             model, as `notes` and the report say; "keep": the largest, by comparisons of many levels
    returns  a program whose inputs have the names of forward's parameters. Several outputs are a flat tuple; of a
             dictionary, a dictionary
    raises   UnsupportedError that names every operator that cannot be computed encrypted, with the module, its line and
             what to do; TraceError, ShapeError, DtypeError for modules and examples that cannot be exported;
             MissingPackageError without PyTorch
    """
    at = user_loc()
    if way := find_keras_way(module):
        raise UserError(f"from_torch: {way}", at=at)
    averages = check_pools("from_torch", pools, at)
    with nullcontext() if limits is None else reading(limits, _weight_bytes(module)):
        read = read_module(module, example, at)
        if averages:
            graph, changes = with_average_pools(read.graph, AVERAGE_POOLS)
            read = replace(read, graph=graph, notes=(*read.notes, *changes), changes=changes)
        return read.program(client=client, server=server)


@dataclass(frozen=True)
class ReadModule:
    """A module as a graph.

    notes  what importing changed
    check  of the server's part of it
    changes  those of the notes that say that results are not the module's own
    """

    graph: ModelGraph
    notes: tuple[str, ...]
    check: Callable[[ModelGraph], Iterable[str]]
    changes: tuple[str, ...] = ()

    def program(self, *, client: Sequence[str] = (), server: Sequence[str] = ()) -> ImportedProgram:
        """The program that `from_torch` returns."""
        made = cut_program(
            self.graph, CONVERTERS, ATEN_RULES, self.notes, client=client, server=server, check=self.check
        )
        made.changes = self.changes
        return made


def read_module(module: Any, example: Any, at: Loc) -> ReadModule:
    """A module or an exported program, read and not yet cut; arguments and errors as those of `from_torch`.

    A module may say by `__latticework_export__`, a context manager, which other one is exported in its place.
    """
    torch = import_torch()
    notes = list[str]()
    if isinstance(module, torch.export.ExportedProgram):
        exported, name, loc = module, _root_name(module), at
        check_exported(torch, exported, name, at, example)
    else:
        check_module(torch, module, at)
        with _exportable(module) as inner:
            name, loc = type(inner).__name__, _definition(torch, inner, at)
            args, kwargs = example_of(torch, inner, example, at)
            exported, assigned = export(inner, args, kwargs, at)
        notes = [f"forward assigns {name}, which is not kept from run to run" for name in assigned]
        check_exported(torch, exported, name, at)
    exported = functional(exported, name, at)
    signature = Signature(torch, exported, name, loc)
    known = {converter.operator for converter in CONVERTERS}
    reader = GraphReader(torch, SourcePlaces(torch_folder(torch), at), known)
    graph = reader.read(exported.graph_module, signature.public, name, loc, signature.labels)
    refusals = [*signature.refusals, *reader.refusals]
    if refusals:
        raise refuse(graph, refusals)
    return ReadModule(graph, (*notes, *signature.notes), signature.check_encrypted)


def _weight_bytes(module: Any) -> int:
    """Bytes of the weights of an exported program, or of a module."""
    weights = getattr(module, "state_dict", {})
    return sum(int(weight.nbytes) for weight in (weights() if callable(weights) else weights).values())


def _exportable(module: Any) -> AbstractContextManager[Any]:
    other = getattr(module, "__latticework_export__", None)
    return nullcontext(module) if other is None else other()


def torch_folder(torch: Any) -> str:
    """The folder of the installed package torch."""
    return str(torch.__path__[0])


def _definition(torch: Any, module: Any, at: Loc) -> Loc:
    """The place where forward is written; for modules of PyTorch's own, the call."""
    code = getattr(type(module).forward, "__code__", None)
    if code is None or code.co_filename.startswith(torch_folder(torch)):
        return at
    return definition_loc(code)


def _root_name(exported: Any) -> str:
    for node in exported.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            return str(kind).rpartition(".")[2]
    return "ExportedProgram"
