"""What results of undecided trees may be off: a second output tells how far a row's own comparisons are decided.

Let a comparison be a number b from 0 to 1, as a composite sign gives it: at least 1/2 on the side where it holds, since
no sign within its gap is of the wrong side. A leaf has an indicator i, the product of the comparisons on its path.
Every leaf that a row does not come to has one comparison that does not hold, so i <= 1/2 and i <= 2 i (1 - i). All
indicators of a tree add up to at least 1 (what is left out of a path, as others imply it, is a factor of at most 1), so
the leaf of the row lacks at most z, what the others have together. With u the sum of all i (1 - i), z <= 2 u: they
are off by at most 2 z together, and a tree whose leaves differ by at most r by r z <= 2 r u, r / 2 from their middle.
Where u <= 1/8, more is known: no other leaf has more than x = 0.147, where x (1 - x) = 1/8, so z (1 - x) <= u and that
of the row has at least 1 - z; then all are off by at most u / (1 - z) < 1.18 u together, and the tree by 0.59 r u.
Where all comparisons on the paths of a row are decided u is 0, whatever the comparisons elsewhere are. Noise moves a
comparison by its size times the steepness of the sign: what it adds is covered by SLACK.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from latticework.errors import UnsupportedError
from latticework.importers.graph import ModelNode, Ref
from latticework.importers.sklearn_door.steps import Reals
from latticework.owner import Doubt, OwnerArray

SLACK = 1.125  # comparisons may be on the wrong side by 1/18
SMALL, OF_SMALL, OF_ANY = 0.125, 0.59 * SLACK, 2 * SLACK  # u, and times r u there and beyond
_LIPSCHITZ = {"sigmoid": 0.25, "logistic": 0.25, "softmax": 0.5, "tanh": 1.0, "relu": 1.0, "cos": 1.0}  # of the largest


UNMARKED = (
    "mark=False: NOTHING MARKS the results of rows that come closer than the gap to a threshold on their paths, and "
    "they may be wrong"
)


def with_doubt(nodes: Sequence[ModelNode], result: Ref) -> tuple[list[ModelNode], tuple[Ref, ...], Doubt | None]:
    """Nodes that also tell what is undecided, the outputs with the value that does, and what it says of the result.

    The output of the doubt has no name yet; without trees there is none.
    raises  UnsupportedError where steps after the trees make errors larger by a factor that is not known
    """
    made: list[ModelNode] = []
    factors: dict[str, Reals | float] = {}
    told: list[Ref] = []
    clear = 0.0
    for node in nodes:
        factors[node.results[0]] = _factor(node, factors)
        if node.operator == "trees":
            told.append(Ref(f"{node.results[0]}.decided"))
            node = ModelNode(node.operator, node.args, node.options, (*node.results, told[-1].name), node.loc)
            clear += node.options["clear"]
        made.append(node)
    if not told:
        return made, (result,), None
    weight = np.asarray(factors[result.name])
    if not np.isfinite(weight).all():
        raise UnsupportedError(
            "from_sklearn: steps after the trees make errors of undecided comparisons larger by a factor that is not "
            "known, so that results could not be marked; import the trees alone, or give mark=False: then NOTHING "
            "marks rows that come closer than the gap to a threshold on their paths"
        )
    if len(told) > 1:
        ones = np.ones(len(told))
        made.append(ModelNode("weighted_sum", (tuple(told),), {"weights": ones}, ("decided",), made[-1].loc))
        told = [Ref("decided")]
    return made, (result, told[0]), Doubt("", clear, OwnerArray.of(weight), SMALL, OF_ANY / OF_SMALL)


def _factor(node: ModelNode, known: dict[str, Reals | float]) -> Reals | float:
    """What numbers of a row may be off for each unit that trees are undecided, if that is SMALL: each, or all alike."""
    parts = node.args[0] if isinstance(node.args[0], tuple) else (node.args[0],)
    before = [known.get(part.name, 0.0) for part in parts]
    options = node.options
    if node.operator == "trees":
        return OF_SMALL * np.asarray(options["spread"]) if not np.any(before[0]) else np.inf
    if not any(np.any(each) for each in before):
        return 0.0
    first = before[0]
    if node.operator == "scale":
        return np.asarray(np.abs(options["factor"]) * first)
    if node.operator == "linear":
        weight = np.abs(options["weight"])
        return np.asarray(weight @ np.broadcast_to(first, weight.shape[-1:]))
    if node.operator == "columns":
        return np.asarray(np.broadcast_to(first, (options["width"],))[options["indices"]])
    if node.operator == "combine":
        return max(float(np.max(each)) for each in before)
    if node.operator == "weighted_sum":
        return np.asarray(sum(abs(w) * np.asarray(each) for w, each in zip(options["weights"], before, strict=True)))
    return _LIPSCHITZ.get(node.operator, np.inf) * float(np.max(first))
