"""Table of how the class and the scores of an ONNX file's classifier follow from its raw scores.

Where the specification leaves it open they are those of onnxruntime; where runtimes compute different things there is
none. A class never depends on the post_transform.

    classifier                         raw scores          class                             scores of NONE   others
    LinearClassifier, a score each     s_0, s_1, ...       of the largest                    as they are      both
    LinearClassifier, one of two       -s, s               the second where s > 0            1 - s, s         LOGISTIC
    SVMClassifier, two classes         -s, s               the first where s > 0             as they are      LOGISTIC
    SVMClassifier, more                of pairs, s_01, ... most pairs won, s_ij > 0: by i    as they are      both
    SVMClassifier without vectors      s_0, s_1, ...       of the largest; none of two       as they are      both
    either, one class                  s                   none                              as it is         none

Of several that are equal it is the first. Classes of TreeEnsembleClassifier are those of the largest, of scores that
`models/onnx/onnx_ensembles.py` makes such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.models.client_rules import common
from latticework.models.client_rules.table_rules import CannotMoveError, MovedNode, StepMaker, Steps
from latticework.models.model_graph import ModelNode, Ref
from latticework.plan.client_steps import Affine, Extreme, Labels, OwnerArray, Votes

ML = "ai.onnx.ml"
LARGEST = "class of the largest score"
SPREAD = "class by one score of two classes"
COMPARED = "class that wins the comparison"
VOTED = "class that wins most comparisons"
SPREAD_BY = (1.0, 0.0)  # from raw scores -s, s to 1 - s, s
POST: dict[Any, tuple[str, dict[str, Any]]] = {"SOFTMAX": ("Softmax", {"axis": 1}), "LOGISTIC": ("Sigmoid", {})}
_CLASSIFIERS = (f"{ML}.LinearClassifier", f"{ML}.SVMClassifier")


@dataclass(frozen=True)
class ClassRule:
    """One row of the table.

    label   operator that makes the class of the raw scores; None: runtimes compute different ones
    posts   values of post_transform whose scores runtimes agree on
    spread  whether scores of NONE are 1 - s and s
    """

    label: str | None
    posts: tuple[str, ...] = ("NONE", "LOGISTIC", "SOFTMAX")
    spread: bool = False

    @property
    def label_of_scores(self) -> str | None:
        """The operator that makes the class of the scores of NONE."""
        return SPREAD if self.spread else self.label


_EACH = ClassRule(LARGEST)
_ONE_OF_TWO = ClassRule(LARGEST, ("NONE", "LOGISTIC"), spread=True)
_COMPARISON = ClassRule(COMPARED, ("NONE", "LOGISTIC"))
_COMPARISONS = ClassRule(VOTED)
_UNNAMED = ClassRule(None)
_ALONE = ClassRule(None, ("NONE",))


def class_rule(operator: str, options: Mapping[str, Any]) -> ClassRule:
    """The row of a LinearClassifier or SVMClassifier, named without its domain."""
    classes = class_count(options)
    if operator == "LinearClassifier":
        if len(options.get("intercepts") or ()) == 1:
            return _ONE_OF_TWO if classes == 2 else _ALONE
        return _ALONE if classes == 1 else _EACH
    if classes < 2:
        return _ALONE
    if not any(options.get("vectors_per_class") or ()):
        return _UNNAMED if classes == 2 else _EACH
    return _COMPARISON if classes == 2 else _COMPARISONS


def class_count(options: Mapping[str, Any]) -> int:
    """The number of classes that have a name."""
    return max((len(value) for name, value in options.items() if name.startswith("classlabels") and value), default=0)


def split_classifier(node: ModelNode) -> tuple[ModelNode, ...]:
    """A classifier as its raw scores, what is made of them, and the class; as it is where that cannot be."""
    if node.operator not in _CLASSIFIERS or not node.results:
        return (node,)
    label, made = node.results[0], (*node.results[1:], "")[0]
    rule, post = (
        class_rule(node.operator.removeprefix(f"{ML}."), node.options),
        node.options.get("post_transform", "NONE"),
    )
    if (label and rule.label is None) or (made and (post not in rule.posts or node.options.get("prob_a"))):
        return (node,)
    options = {name: value for name, value in node.options.items() if not name.startswith("prob_")}
    after: list[ModelNode] = []
    if made and post == "NONE":
        raw, named = made, rule.label_of_scores
    else:
        raw, named = f"{made}/raw" if made else f"{label}/scores", rule.label
        options.update(post_transform="NONE", raw=True)
    if made and post != "NONE":
        operator, given = POST[post]
        after.append(ModelNode(operator, (Ref(raw),), given, (made,), node.loc, version=13))
    if label and named:
        names = {name: value for name, value in options.items() if name.startswith("classlabels")}
        after.append(ModelNode(named, (Ref(raw),), names, (label,), node.loc))
    if not after:
        return (node,)
    if "wanted" in options:
        options["wanted"] = (False, True)
    return replace(node, results=("", raw), options=options), *after


def class_labels(options: Mapping[str, Any]) -> Labels:
    """Names of classes; texts, where there are both, as onnxruntime has it."""
    return common.labels_of(
        options.get("classlabels_strings"), options.get("classlabels_int64s"), options.get("classlabels_ints")
    )


def _labels_of_scores(moved: MovedNode) -> Labels:
    """Names of classes, as many as scores."""
    labels, scores = class_labels(moved.options), moved.shape[-1]
    if len(labels) != scores:
        raise CannotMoveError(f"{len(labels)} classes of {scores} scores")
    return labels


def _largest(moved: MovedNode) -> Steps:
    return (Extreme(_labels_of_scores(moved)),)


def _spread(moved: MovedNode) -> Steps:
    """The larger of 1 - s and s, as steps."""
    return (Affine(OwnerArray.of(np.ones(2)), OwnerArray.of(-np.array(SPREAD_BY))), Extreme(_labels_of_scores(moved)))


def _pick_by_sign(moved: MovedNode) -> Steps:
    """The larger of -s and s, as steps; the second is larger where the first class wins."""
    return (Extreme(Labels.of(_labels_of_scores(moved).array[::-1].tolist())),)


def _count_votes(moved: MovedNode) -> Steps:
    labels = class_labels(moved.options)
    return (Votes(len(labels)), Extreme(labels))


CLASS_STEPS: dict[str, StepMaker] = {LARGEST: _largest, SPREAD: _spread, COMPARED: _pick_by_sign, VOTED: _count_votes}
