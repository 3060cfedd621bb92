"""Votes of comparisons in pairs that files write out, as the one operation that they are.

scikit-learn decides among several classes of SVC and OneVsOneClassifier by the comparisons that each class wins, and
adds less than a third of a vote by how sure they are. skl2onnx writes that out in dozens of nodes: comparisons with 0,
sums over pairs, x / (3 (|x| + 1)). All of it is the owner's, after decryption, as one step.

Such nodes are found by how they end: a sum of what is joined, and of a quotient of what is joined. That they are these
votes, of which scores and with which sign, is seen by carrying them out on random scores, and on scores of 0. Where
they are none, they stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import UnsupportedError
from latticework.errors.remedies import REMEDIES
from latticework.lazy_dataclass import dataclass
from latticework.models.client_rules.classes import CLASS_STEPS, ML, split_classifier
from latticework.models.client_rules.onnx import WRITTEN_VOTES
from latticework.models.client_rules.table_rules import SECRET, MovedNode, Steps
from latticework.models.converters import Converter, Converters
from latticework.models.evaluate_graph import carry_out
from latticework.models.model_graph import ModelNode, Ref, needed_nodes
from latticework.plan.client_steps import Affine, Columns, OwnerArray, Votes
from latticework.plan.client_steps.step import Bounded
from latticework.values.inputs.reading_budget import trying

Array = npt.NDArray[Any]

_CLASSIFIERS = (f"{ML}.LinearClassifier", f"{ML}.SVMClassifier")
_WITHIN = frozenset(
    ("Abs", "Add", "Cast", "Concat", "Div", "Equal", "Flatten", "Gather", "Greater", "GreaterOrEqual", "Identity",
     "Less", "LessOrEqual", "Mul", "Neg", "Not", "Reshape", "Slice", "Split", "Squeeze", "Sub", "Sum", "Unsqueeze",
     "Where", f"{ML}.ArrayFeatureExtractor", *CLASS_STEPS)
)  # fmt: skip
_TRIED = 4  # random scores, the last of them 0 in places
_MOST_TRIED = 1 << 16  # elements of them
_MOST_MADE = 1 << 22  # elements of all that nodes make of them


@dataclass(frozen=True)
class WrittenVotes:
    """The nodes of votes, of the scores of one classifier, or of several joined.

    scores  names of the values of the classifiers
    """

    body: tuple[ModelNode, ...]
    constants: Mapping[str, Any]
    converters: Converters
    scores: tuple[str, ...]

    def steps(self, shape: tuple[int, ...]) -> Steps | None:
        """The owner's steps on scores of this shape; None where the nodes are no such votes."""
        count = len(self.scores)
        if len(shape) != 2 or shape[1] % count or shape[0] * shape[1] > _MOST_TRIED:
            return None
        is_spread = shape[1] == 2 * count  # of two classes each, -s and s
        pairs = count if is_spread else shape[1] if count == 1 else 0
        classes = (1 + isqrt(1 + 8 * pairs)) // 2
        if classes < 2 or classes * (classes - 1) != 2 * pairs:
            return None
        random = np.random.default_rng(0)
        tried = random.normal(size=(_TRIED, shape[0], pairs))
        tried[-1, :, ::2] = 0.0
        with trying(_MOST_MADE):
            found = [self._carry_out(s, is_spread=is_spread) for s in tried]
        for sign, is_turned in product((1.0, -1.0), (False, True)):
            steps = _votes(classes, sign, is_turned=is_turned)
            wanted = [_through(steps, s) for s in tried]
            if all(f.shape == w.shape and np.allclose(f, w, rtol=1e-9) for f, w in zip(found, wanted, strict=True)):
                chosen = (Columns(-1, 2 * count, tuple(range(1, 2 * count, 2))),) if is_spread else ()
                return (*chosen, *steps)
        return None

    def _carry_out(self, scores: Array, *, is_spread: bool) -> Array:
        """The result of the nodes on scores of pairs."""
        values = dict(self.constants)
        if is_spread:
            apart = np.stack([-scores, scores], axis=-1)
            values |= {name: apart[:, place] for place, name in enumerate(self.scores)}
        else:
            values[self.scores[0]] = scores
        made: Any = None
        for node in self.body:
            if node.operator in CLASS_STEPS:
                made = (_class_of(node, values),)
            else:
                converter = self.converters.find(node.operator, node.version)
                assert converter is not None, "operators within votes are known"
                made = carry_out(node, converter, values, self.converters)
            values.update((name, value) for name, value in zip(node.results, made, strict=False) if name)
        return np.asarray(made[0], dtype=np.float64)


def _votes(classes: int, sign: float, *, is_turned: bool) -> Steps:
    """Votes by the scores of pairs times a sign.

    is_turned  whether the second class wins a comparison of 0, and not the first: classes from the last to the first
    """
    pairs = {pair: number for number, pair in enumerate(combinations(range(classes), 2))}
    last = classes - 1
    turned = tuple(pairs[last - j, last - i] for i, j in pairs)
    factor = -sign if is_turned else sign
    steps: Steps = (Affine(OwnerArray.of(factor), OwnerArray.of(0.0)),) if factor < 0 else ()
    if not is_turned:
        return (*steps, Votes(classes, graded=True))
    back = Columns(-1, classes, tuple(reversed(range(classes))))
    return (Columns(-1, len(pairs), turned), *steps, Votes(classes, graded=True), back)


def _through(steps: Steps, given: Array) -> Array:
    bounded = Bounded.within(given, 0.0)
    for step in steps:
        bounded = step.bounded(bounded)
    return bounded.value


def _class_of(node: ModelNode, values: Mapping[str, Any]) -> Array:
    (name,) = node.reads()
    given = np.asarray(values[name])
    return _through(CLASS_STEPS[node.operator](MovedNode(node, (SECRET,), dict(node.options), given.shape)), given)


def _meaning(_scores: Any, *, written: WrittenVotes) -> Any:
    remedy = REMEDIES["comparison"].for_models
    raise UnsupportedError(f"votes of comparisons that other nodes go on with, or of no such shape: {remedy}")


CONVERTERS = (
    Converter(WRITTEN_VOTES, _meaning, note="at the end: of SVC and OneVsOneClassifier, as skl2onnx writes them"),
)


def with_whole_votes(
    nodes: Sequence[ModelNode],
    constants: Mapping[str, Any],
    outputs: Sequence[Ref],
    converters: Converters,
    shapes: Mapping[str, tuple[int, ...]],
) -> list[ModelNode]:
    """Nodes in which votes are one; those of which nothing is read any more are left out.

    shapes  of the inputs, by name
    """
    if not any(map(_ends_votes, nodes, [_makers(nodes)] * len(nodes))):
        return list(nodes)
    split = [part for node in nodes for part in split_classifier(node)]
    makers, joined = _makers(split), list[ModelNode]()
    known = {**constants, **{n: np.array(shapes[s]) for n, s in _shapes_read(split) if s in shapes}}
    for node in split:
        joined += (_ends_votes(node, makers) and _join_votes(node, split, makers, known, converters)) or [node]
    return needed_nodes(joined, outputs) if joined != split else list(nodes)


def _shapes_read(nodes: Iterable[ModelNode]) -> Iterator[tuple[str, str]]:
    """Values that are a whole shape, and names of what it is of."""
    for node in nodes:
        if node.operator == "Shape" and not node.options and isinstance(node.args[0], Ref):
            yield node.results[0], node.args[0].name


def _makers(nodes: Iterable[ModelNode]) -> dict[str, ModelNode]:
    return {name: node for node in nodes for name in node.results if name}


def _ends_votes(node: ModelNode, makers: Mapping[str, ModelNode]) -> bool:
    """Whether a node adds what is joined and a quotient of what is joined."""
    read = [makers.get(arg.name) for arg in node.args if isinstance(arg, Ref)]
    return node.operator == "Add" and {each.operator for each in read if each is not None} == {"Concat", "Div"}


def _join_votes(
    last: ModelNode,
    nodes: Sequence[ModelNode],
    makers: Mapping[str, ModelNode],
    constants: Mapping[str, Any],
    converters: Converters,
) -> list[ModelNode]:
    """The scores of several classifiers joined, and their votes; [] where that is not what a node ends."""
    within, edge, waiting = {id(last)}, set[str](), list(last.reads())
    while waiting:
        name = waiting.pop()
        maker = makers.get(name)
        if maker is None or maker.operator not in _WITHIN:
            edge.add(name)
        elif id(maker) not in within:
            within.add(id(maker))
            waiting += maker.reads()
    scores = tuple(n for node in nodes if node.operator in _CLASSIFIERS for n in node.results if n in edge)
    if not scores or not edge <= {*scores, *constants}:
        return []
    body = tuple(node for node in nodes if id(node) in within)
    kept = {name: constants[name] for name in edge if name in constants}
    written = WrittenVotes(body, kept, converters, scores)
    (result,) = last.results
    found = []
    name = scores[0]
    if len(scores) > 1:
        name = f"{result}/scores"
        found.append(ModelNode("Concat", tuple(map(Ref, scores)), {"axis": 1}, (name,), last.loc, version=13))
    return [*found, ModelNode(WRITTEN_VOTES, (Ref(name),), {"written": written}, (result,), last.loc)]
