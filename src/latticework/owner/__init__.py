"""Steps that the owner of the data computes in the clear: before encryption, and after decryption.

They are data in the client file: a closed list of operations with their parameters, never code.
"""

from latticework.owner.arrays import Labels, OwnerArray
from latticework.owner.axes import Columns, Normalise, Reduce, Reshape
from latticework.owner.combining import Branches, Linear, Votes, Winner
from latticework.owner.elementwise import Affine, Clip, Elementary
from latticework.owner.endings import ByName, Extreme, Largest, NamesOf, Softmax, Threshold
from latticework.owner.lookups import CodeOf, OneHot, TableRows
from latticework.owner.stages import Doubt, Finished, Given, OwnerStages, Piece, Prepared
from latticework.owner.step import OwnerStep

__all__ = [
    "Affine",
    "Branches",
    "ByName",
    "Clip",
    "CodeOf",
    "Columns",
    "Doubt",
    "Elementary",
    "Extreme",
    "Finished",
    "Given",
    "Labels",
    "Largest",
    "Linear",
    "NamesOf",
    "Normalise",
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
    "Threshold",
    "Votes",
    "Winner",
]
