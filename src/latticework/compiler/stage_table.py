"""Stages between which a program is one module: their names in texts, options, errors and documentation.

`stage_modules.py` takes the module of each from a compilation, and goes on from another one in its place.
"""

from __future__ import annotations

from latticework.errors import IrError
from latticework.lazy_dataclass import dataclass


@dataclass(frozen=True)
class IrStage:
    """A stage.

    holds     what its module is
    dialects  of its operations
    fixes     whether the parameters are chosen by then, so that they stand in its text
    """

    name: str
    holds: str
    dialects: tuple[str, ...]
    fixes: bool = False

    @property
    def is_of_slots(self) -> bool:
        """Whether its values are vectors of slots."""
        return self.dialects[0] in ("vec", "rlwe")

    @property
    def after(self) -> str:
        """The key of `lw.compile(passes=)` for passes that run after it."""
        return f"after {self.name}"


STAGES = (
    IrStage(
        "traced",
        "the program as recorded: operations on arrays, or on the numbers of a circuit",
        ("tensor", "scalar", "loop"),
    ),
    IrStage("polynomials", "the same on arrays, with polynomials in the place of functions", ("tensor", "loop")),
    IrStage("layouts", "tensors, and how each lies in slots", ("tensor", "loop")),
    IrStage("vectors", "vectors of slots, with linear maps and polynomials as wholes; no levels yet", ("vec", "loop")),
    IrStage(
        "levels",
        "the vectors from which levels are managed: loops that spend levels as copies, bootstraps in place",
        ("vec", "loop"),
    ),
    IrStage(
        "ciphertexts",
        "ciphertexts with levels and exact scales, with linear maps and polynomials as wholes",
        ("rlwe", "ckks", "bfv", "loop"),
        fixes=True,
    ),
    IrStage(
        "primitives",
        "the instructions of the plan: rotations, key switches with their keys, rescales",
        ("rlwe", "ckks", "bfv", "loop", "key", "procedure"),
        fixes=True,
    ),
)
NAMES = tuple(stage.name for stage in STAGES)


def find_stage(name: object) -> IrStage:
    """The stage of a name; IrError with all names if there is none."""
    found = next((stage for stage in STAGES if stage.name == name), None)
    if found is None:
        raise IrError(f"there is no stage {name!r}; stages are {', '.join(NAMES)}")
    return found
