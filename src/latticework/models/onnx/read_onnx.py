"""Files and bytes as ONNX models, with faults of the file told as such."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from latticework.errors import FormatError
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.models.onnx.package import onnx_package
from latticework.models.onnx.size_limits import allow_for_file, take_nodes
from latticework.values.inputs.keras_models import find_keras_way
from latticework.values.inputs.reading_budget import ReadingBudget, read_bytes

OLDEST = 6  # its differences, but for a few operators, are attributes that are refused
NEWEST_ML = 5
ML = "ai.onnx.ml"
_DOMAINS = {"": "", "ai.onnx": ""}


@dataclass(frozen=True)
class OnnxFile:
    """A model that was read.

    model     a ModelProto
    name      of the file, for messages and places
    folder    where external data may lie, None where the model was given as bytes
    size      bytes
    versions  of the set of operators, by domain; "" is ONNX's own
    """

    model: Any
    name: str
    folder: Path | None
    size: int
    versions: dict[str, int]

    def at(self, number: int = 0, text: str = "") -> Loc:
        """A place in the file: the number of a node, from 1; 0 for the whole."""
        return Loc(self.name, number, text)


def read(given: Any, budget: ReadingBudget) -> OnnxFile:
    """An ONNX model from a path, bytes, an open file, or a ModelProto; the budget grows with the file.

    raises  FormatError for what is no ONNX model or of a version that is not known, MissingPackageError
    """
    if way := find_keras_way(given):
        raise FormatError(f"from_onnx: {way}")
    onnx = onnx_package()
    if isinstance(given, onnx.ModelProto):
        data, name, folder = given.SerializeToString(), "model.onnx", None
    else:
        found = read_bytes(given, "from_onnx", "model", budget.limits, "model.onnx")
        data, name, folder = found.data, found.name, found.folder
    allow_for_file(len(data))
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # of protobuf, which is not ours to import
        raise FormatError(f"{name}: no ONNX model, or a damaged one: {error}; export it again") from error
    if not model.HasField("graph") or not (model.graph.node or model.graph.output):
        raise FormatError(f"{name}: no ONNX model, for it has no graph; give what an exporter wrote")
    take_nodes(len(model.graph.node), name)
    budget.unfolding = budget.limits.work  # they are counted one by one when they are read
    for part in (model.graph, *model.functions):
        _check_texts(part, name)
    return OnnxFile(model, name, folder, len(data), _versions(onnx, model, name))


def _check_texts(part: Any, name: str) -> None:
    """FormatError where a name in a graph or function is no text: protobuf then gives bytes."""
    values = [] if not hasattr(part, "initializer") else [*part.initializer, *part.value_info]
    texts = [part.name]
    for value in [*part.input, *part.output, *values]:
        texts.append(value if isinstance(value, str | bytes) else value.name)
    for node in part.node:
        texts += [node.name, node.op_type, node.domain, *node.input, *node.output]
        for given in node.attribute:
            texts += [given.name, given.ref_attr_name]
            for graph in (*([given.g] if given.HasField("g") else []), *given.graphs):
                _check_texts(graph, name)
    if not all(isinstance(text, str) for text in texts):
        raise FormatError(f"{name}: a name in it is no text; the file is damaged")


def _versions(onnx: Any, model: Any, name: str) -> dict[str, int]:
    found = {_DOMAINS.get(each.domain, each.domain): int(each.version) for each in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    if "" not in found and ML not in found:
        raise FormatError(f"{name}: the model does not say which version of operators it uses; export it again")
    for domain, oldest, last in (("", OLDEST, newest), (ML, 1, NEWEST_ML)):
        version = found.get(domain, oldest)
        if not oldest <= version <= last:
            raise FormatError(
                f"{name}: operators of {domain or 'ai.onnx'} version {version}; known are {oldest} to {last}: convert "
                "it with onnx.version_converter, or export it again"
            )
    return found
