"""The arrays of an exported program: public vectors, terms of linear maps, places of elements."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.lazy_dataclass import dataclass
from latticework.plan.export.vector_program import Constants, ProductTerm, VectorProgram
from latticework.values.packing.pack import PackMap
from latticework.values.packing.packed_constants import ConstRef

Array = npt.NDArray[Any]


@dataclass
class Tables:
    """Arrays by name."""

    program: VectorProgram
    arrays: dict[str, Array] = field(default_factory=dict)
    known: dict[Any, str] = field(default_factory=dict)

    def vectors(self, constant: ConstRef) -> Array:
        """A constant's vectors (count, slots), as long as the program's; whole numbers modulo t of BFV."""
        found = constant.evaluate(self.program.plan.sources).reshape(constant.count, -1)
        modulus = self.program.modulus
        if modulus:
            whole = np.rint(np.real(found)).astype(np.int64)
            found = (whole + modulus // 2) % modulus - modulus // 2
        return np.tile(found, (1, self.program.slots // found.shape[1]))

    def constant(self, constants: Constants) -> tuple[str, int]:
        """The name of the table of public vectors, and how many of them one step reads."""
        count = constants.choices[0].count
        key = self.known.get(constants.choices)
        if key is None:
            key = self.known[constants.choices] = f"constant {len(self.known)}"
            chosen = np.stack([self.vectors(choice) for choice in constants.choices])
            chosen = chosen[:, 0] if count == 1 else chosen
            self.arrays[key] = chosen[0] if constants.index is None else chosen
        return key, count

    def terms(self, terms: tuple[ProductTerm, ...]) -> str:
        """The name of the two tables of a linear map's inner sums."""
        key = self.known.get(terms)
        if key is None:
            key = self.known[terms] = f"map {len(self.known)}"
            rows = [(term.in_, term.steps, int(term.conjugates), term.group) for term in terms]
            self.arrays[f"{key} terms"] = np.array(rows, dtype=np.int64).reshape(-1, 4)
            self.arrays[f"{key} values"] = np.stack([self.vectors(term.values)[term.row] for term in terms])
        return key

    def places(self, name: str, pack: PackMap) -> None:
        """Note which element each slot of an input holds, -1 for none."""
        table = pack.element_of_slot().reshape(pack.count, pack.slots)
        self.arrays[f"places of {name}"] = np.tile(table, (1, self.program.slots // pack.slots))

    def first_places(self, name: str, pack: PackMap) -> None:
        """Note where each element of an output stands first, over all slots of all its vectors."""
        vector, slot = np.divmod(pack.first_places(), pack.slots)
        self.arrays[f"places of {name}, first"] = vector * self.program.slots + slot
