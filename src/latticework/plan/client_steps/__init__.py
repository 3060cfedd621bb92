"""Steps that the owner of the data computes in the clear: before encryption, and after decryption.

They are data in the client file: a closed list of operations with their parameters, never code. Each is imported when
it is first used, as most programs have none.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in _HOMES, for type checkers and editors
    from latticework.plan.client_steps.axis_steps import Columns, Normalise, Reduce, Reshape, Transpose
    from latticework.plan.client_steps.beside import Beside
    from latticework.plan.client_steps.cells import Missing
    from latticework.plan.client_steps.combine_steps import Branches, Linear, Votes, Winner
    from latticework.plan.client_steps.element_steps import Affine, Clip, Elementary
    from latticework.plan.client_steps.lookups import CodeOf, OneHot, TableRows
    from latticework.plan.client_steps.postprocess_steps import ByName, Extreme, Largest, NamesOf, Softmax, Threshold
    from latticework.plan.client_steps.stages import Doubt, Finished, Given, OwnerStages, Piece, Prepared
    from latticework.plan.client_steps.step import OwnerStep
    from latticework.plan.client_steps.step_arrays import Labels, OwnerArray
    from latticework.plan.client_steps.table_steps import Bins, Fill, IsMissing, LookUp, Numbers
    from latticework.plan.client_steps.text_analysis import TextAnalysis
    from latticework.plan.client_steps.text_steps import HashedTerms, LogCounts, Terms

_HOMES = {
    "step_arrays": ("Labels", "OwnerArray"),
    "axis_steps": ("Columns", "Normalise", "Reduce", "Reshape", "Transpose"),
    "beside": ("Beside",),
    "cells": ("Missing",),
    "combine_steps": ("Branches", "Linear", "Votes", "Winner"),
    "element_steps": ("Affine", "Clip", "Elementary"),
    "postprocess_steps": ("ByName", "Extreme", "Largest", "NamesOf", "Softmax", "Threshold"),
    "lookups": ("CodeOf", "OneHot", "TableRows"),
    "stages": ("Doubt", "Finished", "Given", "OwnerStages", "Piece", "Prepared"),
    "step": ("OwnerStep",),
    "table_steps": ("Bins", "Fill", "IsMissing", "LookUp", "Numbers"),
    "text_analysis": ("TextAnalysis",),
    "text_steps": ("HashedTerms", "LogCounts", "Terms"),
}
_HOME = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
    "Affine",
    "Beside",
    "Bins",
    "Branches",
    "ByName",
    "Clip",
    "CodeOf",
    "Columns",
    "Doubt",
    "Elementary",
    "Extreme",
    "Fill",
    "Finished",
    "Given",
    "HashedTerms",
    "IsMissing",
    "Labels",
    "Largest",
    "Linear",
    "LogCounts",
    "LookUp",
    "Missing",
    "NamesOf",
    "Normalise",
    "Numbers",
    "OneHot",
    "OwnerArray",
    "OwnerStages",
    "OwnerStep",
    "Piece",
    "Prepared",
    "Reduce",
    "Reshape",
    "Softmax",
    "TableRows",
    "Terms",
    "TextAnalysis",
    "Threshold",
    "Transpose",
    "Votes",
    "Winner",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
