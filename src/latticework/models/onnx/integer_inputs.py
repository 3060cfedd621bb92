"""Inputs of whole numbers: they may be encrypted where all that reads them takes them as real numbers."""

from __future__ import annotations

from collections.abc import Mapping

from latticework.errors import DtypeError, UnsupportedError
from latticework.models.model_graph import ModelGraph, Ref
from latticework.models.onnx.refused_operators import CUT_BEHIND, REMEDIES
from latticework.models.onnx.tensors import REAL, STRING

_AS_REAL = frozenset(
    [
        "Cast",
        "CastLike",
        "DequantizeLinear",
        "QLinearConv",
        "QLinearMatMul",
        "QLinearAdd",
        "MatMulInteger",
        "ConvInteger",
    ]
)
_KEEPING = frozenset(
    [
        "Identity",
        "Reshape",
        "Flatten",
        "Transpose",
        "Squeeze",
        "Unsqueeze",
        "Concat",
        "Slice",
        "Gather",
        "Split",
        "Pad",
        "MaxPool",
        "Shape",
        "Size",
        "Expand",
    ]
)
_NAMES = {2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool", 12: "uint32",
          13: "uint64", 14: "complex64", 15: "complex128"}  # fmt: skip


def _has_own_reason(file: str, name: str, part: ModelGraph) -> bool:
    """Whether an input of texts is read by an operator that is refused by its name, with all others.

    raises  UnsupportedError for another operator that the owner cannot compute
    """
    texts = {name}
    for node in part.nodes:
        if set(node.reads()) & texts:
            if node.operator in REMEDIES or node.operator.startswith("ai.onnx.ml."):
                return True
            if node.operator not in _KEEPING:
                raise UnsupportedError(
                    f"{file}: input {name} is of texts, and its owner cannot compute {node.operator} of them: do it "
                    f"before encryption, and {CUT_BEHIND}, or give the fitted pipeline to lw.from_sklearn",
                    at=node.loc,
                )
            texts.update(node.results)
    return False


def check_wholes(file: str, kinds: Mapping[str, int], part: ModelGraph) -> tuple[str, ...]:
    """Notes on inputs of whole numbers that are taken as real ones.

    kinds   ONNX's data type of each input of the model
    part    what is computed encrypted, whose inputs may be others
    raises  DtypeError for an input that is not of real numbers and is computed with as such
    """
    kept = {given.name for given in part.inputs}
    whole = {name: (name, kind) for name, kind in kinds.items() if kind not in REAL and name in kept}
    bad = {name: kind for name, kind in whole.values() if kind not in range(2, 8) and kind not in (12, 13)}
    for name, kind in bad.items():
        if kind == STRING and _has_own_reason(file, name, part):
            del whole[name]
            continue
        raise DtypeError(
            f"{file}: input {name} is of {_NAMES.get(kind, f'data type {kind}')}; real numbers are encrypted: "
            f"give its array in public={{{name!r}: ...}}, or {CUT_BEHIND}"
        )
    for node in part.nodes:
        for read in set(node.reads()) & whole.keys():
            name, kind = whole[read]
            keeps = node.operator == "Concat" or node.args[:1] == (Ref(read),)
            if (node.operator in _KEEPING and keeps) or node.operator.endswith("FeatureVectorizer"):
                whole.update((result, (name, kind)) for result in node.results)
            elif node.operator not in _AS_REAL and not node.operator.startswith("ai.onnx.ml."):
                raise DtypeError(
                    f"{file}: input {name} is of {_NAMES[kind]} and {node.operator} computes with whole numbers; "
                    f"give its array in public={{{name!r}: ...}}, or {CUT_BEHIND}",
                    at=node.loc,
                )
    return ("inputs of whole numbers are taken as real ones",) if whole else ()
