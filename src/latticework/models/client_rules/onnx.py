"""Operators of ONNX that the owner of the data can compute."""

from __future__ import annotations

from math import prod

import numpy as np

from latticework.functions.function_record import Moved
from latticework.functions.table import RECORDS
from latticework.models.client_rules import common
from latticework.models.client_rules.categories import CategoryMap, category_map, label_map
from latticework.models.client_rules.classes import CLASS_STEPS, ML, class_labels, split_classifier
from latticework.models.client_rules.table_rules import (
    SECRET,
    CannotMoveError,
    MovedNode,
    OwnerRule,
    OwnerRules,
    StepMaker,
    Steps,
    rules,
    whole,
    wholes,
)
from latticework.plan.client_steps import (
    ByName,
    Extreme,
    Labels,
    Largest,
    Linear,
    NamesOf,
    Normalise,
    OneHot,
    OwnerArray,
    Reshape,
    Softmax,
)

WRITTEN_SOFTMAX = "softmax written out"
WRITTEN_VOTES = "votes of comparisons written out"


def _softmax(*, log: bool) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        rank, old = len(moved.shape), moved.node.version < 13
        dim = moved.dim(moved.options.get("axis", 1 if old else -1))
        if old and prod(moved.shape[dim:]) != moved.shape[-1]:
            raise CannotMoveError(f"a softmax over several axes at once, of {rank}")
        return (Softmax(-1 if old else dim, log),)

    return make


def _written_softmax(moved: MovedNode) -> Steps:
    written = moved.options["written"]
    dim = written.axis(moved.shape, moved.args[1:])
    if dim is None:
        raise CannotMoveError("its nodes are no softmax of what has this shape")
    return (Softmax(moved.dim(dim), written.log),)


def _written_votes(moved: MovedNode) -> Steps:
    steps: Steps | None = moved.options["written"].steps(moved.shape)
    if steps is None:
        raise CannotMoveError("its nodes are no votes of comparisons in pairs")
    return steps


def _sign(moved: MovedNode) -> Steps:
    """-1, 0 or 1: the largest of -x, 0 and x, the first of which is 0 where all are."""
    moved.first_is_secret()
    size = moved.shape[-1] if moved.shape else 1
    apart = Reshape(moved.shape[-1:], (size, 1))
    spread = Linear(OwnerArray.of([[0.0, -1.0, 1.0]]), OwnerArray.of(np.zeros(3)))
    return (apart, spread, Extreme(Labels.of([0, -1, 1])))


def _extreme(*, smallest: bool) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        if moved.options.get("select_last_index", 0):
            raise CannotMoveError("it takes the last of several that are equal")
        keep = bool(moved.options.get("keepdims", 1))
        return (Extreme(None, moved.dim(moved.options.get("axis", 0)), keep, smallest),)

    return make


def _largest(moved: MovedNode) -> Steps:
    sorted_from_top = moved.options.get("largest", 1) and moved.options.get("sorted", 1)
    if moved.node.results[0] or not sorted_from_top or moved.dim(moved.options.get("axis", -1)) != -1:
        raise CannotMoveError("only the places of the largest along the last axis are taken, in order")
    return (Largest(whole(moved.args[1])),)


def _by_name(moved: MovedNode) -> Steps:
    return (ByName(class_labels(moved.options)),)


def category_table(moved: MovedNode, *, of_texts: bool) -> CategoryMap:
    """The table of a LabelEncoder or a CategoryMapper.

    of_texts  whether it is given texts, where it maps both ways
    """
    read = category_map if moved.node.operator == f"{ML}.CategoryMapper" else label_map
    return read(moved.options, of_texts=of_texts)


def rename_classes(moved: MovedNode, labels: Labels) -> Labels:
    """Other names of classes that have names already."""
    table = category_table(moved, of_texts=labels.numbers is None)
    return common.labels_of(table.of(labels.array))


def names_of(moved: MovedNode) -> Steps:
    """Names of numbers 0, 1, 2, ... of classes."""
    table = category_table(moved, of_texts=False)
    keys, found = table.keys, table.values
    order = np.argsort(keys)
    if keys.dtype.kind not in "iuf" or not np.array_equal(keys[order], np.arange(len(keys))):
        raise CannotMoveError("its keys are not 0, 1, 2, ...")
    return (NamesOf(common.labels_of(found[order])),)


def _one_hot(moved: MovedNode) -> Steps:
    texts, numbers = moved.options.get("cats_strings") or (), moved.options.get("cats_int64s") or ()
    if bool(texts) == bool(numbers):
        raise CannotMoveError("it has no categories, or both texts and numbers")
    return (OneHot(Labels.of(list(texts or numbers)), bool(moved.options.get("zeros", 1))),)


def rows_of(moved: MovedNode) -> Steps:
    """Rows of a table of weights by secret numbers: an embedding."""
    if moved.args[1] is not SECRET or int(moved.options.get("axis", 0)) != 0:
        raise CannotMoveError("the numbers are public, or of another axis than the first")
    return common.table_rows(moved.args[0])


def _features(moved: MovedNode) -> Steps:
    """Some columns, by public numbers."""
    moved.first_is_secret()
    return common.columns(moved, -1, wholes(moved.args[1]))


def _name_by_number(moved: MovedNode) -> Steps:
    """A public list of classes, and the secret number of one."""
    if moved.args[0] is SECRET:
        return _features(moved)
    return (NamesOf(common.labels_of(np.asarray(moved.args[0]).reshape(-1))),)


def scaler(moved: MovedNode) -> Steps:
    """(x - offset) * scale, of every column."""
    scale = np.asarray(moved.options.get("scale", 1.0), dtype=np.float64)
    offset = np.asarray(moved.options.get("offset", 0.0), dtype=np.float64)
    scale = scale if scale.size else np.ones(1)
    offset = offset if offset.size else np.zeros(1)
    return common.scale_and_shift(moved, scale, -offset * scale)


def _normalizer(moved: MovedNode) -> Steps:
    return (Normalise({"MAX": "max", "L1": "l1", "L2": "l2"}[moved.options.get("norm", "MAX")]),)


def _clip(moved: MovedNode) -> Steps:
    moved.first_is_secret()
    return common.clip(moved.argument(1, "min"), moved.argument(2, "max"))


def _clip_to_type(moved: MovedNode) -> Steps:
    """Cut off at the ends of the type, and restored."""
    moved.first_is_secret()
    if not moved.options.get("restored") or len(moved.args) < 3 or np.size(moved.args[1]) * np.size(moved.args[2]) != 1:
        raise CannotMoveError("it is not restored to numbers of one scale")
    step, zero = np.reshape(moved.args[1], ()), np.reshape(moved.args[2], ())
    if not 0 < step < np.inf:
        raise CannotMoveError(f"its scale is {step}")
    ends = np.iinfo(zero.dtype).min, np.iinfo(zero.dtype).max
    return common.clip(*((end - float(zero)) * float(step) for end in ends))


def _reshape(moved: MovedNode) -> Steps:
    moved.first_is_secret()
    sizes = list(wholes(moved.args[1]))
    if not moved.options.get("allowzero", 0):
        sizes = [moved.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return common.reshape(moved, sizes)


def _flatten(moved: MovedNode) -> Steps:
    axis = int(moved.options.get("axis", 1))
    axis += len(moved.shape) if axis < 0 else 0
    return common.reshape(moved, (prod(moved.shape[:axis]), prod(moved.shape[axis:])))


def _axes(moved: MovedNode) -> tuple[int, ...] | None:
    axes = moved.argument(1, "axes")
    return None if axes is None else wholes(axes)


def _squeeze(moved: MovedNode) -> Steps:
    axes, rank = _axes(moved), len(moved.shape)
    gone = {a % rank for a in axes} if axes is not None else {i for i, n in enumerate(moved.shape) if n == 1}
    if any(moved.shape[a] != 1 for a in gone):
        raise CannotMoveError(f"axes {sorted(gone)} of shape {moved.shape} are none of one element")
    return common.reshape(moved, [n for i, n in enumerate(moved.shape) if i not in gone])


def _unsqueeze(moved: MovedNode) -> Steps:
    axes = _axes(moved) or ()
    rank = len(moved.shape) + len(axes)
    places, rest = {a % rank for a in axes}, iter(moved.shape)
    return common.reshape(moved, [1 if i in places else next(rest) for i in range(rank)])


def _transpose(moved: MovedNode) -> Steps:
    return common.transpose(moved, moved.options.get("perm") or range(len(moved.shape))[::-1])


def _reduction(kind: str) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        moved.first_is_secret()
        axes = _axes(moved)
        if not axes and moved.options.get("noop_with_empty_axes", 0):
            return ()
        return common.reduce_axes(moved, kind, axes or None, keep=bool(moved.options.get("keepdims", 1)))

    return make


def _side(*, inclusive: bool, below: bool) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        is_first = moved.args[0] is SECRET
        other = moved.args[1 if is_first else 0]
        turned = below == is_first
        return common.above(moved, other, inclusive=inclusive != turned, turned=turned)

    return make


def _cast_before(moved: MovedNode) -> Steps:
    """Accept a cast to real numbers, since whatever is encrypted becomes real; other casts cannot move."""
    moved.first_is_secret()
    if _target(moved) not in _REAL:
        raise CannotMoveError("it cuts off or rounds numbers: cast what you give")
    return ()


def _cast_after(moved: MovedNode) -> Steps:
    """Accept casts of numbers to real ones, and of class names to the type that they have."""
    moved.first_is_secret()
    target = _target(moved)
    labels = getattr(moved.decided, "labels", None)
    if moved.decided is None:
        kept = target in _REAL
    elif labels is not None and labels.numbers is None:
        kept = target == _TEXT
    else:
        kept = target in _REAL or (target in _WHOLE and (labels is None or labels.whole))
    if not kept:
        raise CannotMoveError("it makes something else of its values: cast what is decrypted")
    return ()


def _target(moved: MovedNode) -> int:
    """ONNX's number of the type that a Cast or CastLike casts to."""
    if moved.node.operator == "Cast":
        return int(moved.options["to"])
    like = np.asarray(moved.args[1])
    if moved.args[1] is SECRET or like.dtype.kind == "f":
        return _REAL[0]
    return {"i": _WHOLE[0], "U": _TEXT, "S": _TEXT, "O": _TEXT}.get(like.dtype.kind, 0)


_ARITHMETIC = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}
_SAME = ("Identity", "Dropout")
_REAL, _WHOLE, _TEXT = (1, 10, 11, 16), (7, 6, 5, 3, 12, 13, 4, 2), 8  # ONNX's numbers of types
_SHAPING = {
    "Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Transpose": _transpose,
}  # fmt: skip
_REDUCTIONS = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min"}

ONNX_RULES = OwnerRules(
    rules(
        (_SAME, OwnerRule(common.nothing, common.nothing, wanted=False)),
        (("Cast", "CastLike"), OwnerRule(_cast_before, _cast_after, wanted=False)),
        *(((name,), OwnerRule(make, make, wanted=False)) for name, make in _SHAPING.items()),
        *(((name,), OwnerRule(None, _reduction(kind), wanted=False)) for name, kind in _REDUCTIONS.items()),
        *(((name,), common.affine(kind)) for name, kind in _ARITHMETIC.items()),
        *(
            ((record.onnx,), common.elementary(record))
            for record in RECORDS
            if record.onnx and record.moved is not Moved.NOWHERE
        ),
        (("Clip",), OwnerRule(_clip, _clip)),
        (("QuantizeLinear",), OwnerRule(_clip_to_type, _clip_to_type)),
        (("Softmax",), OwnerRule(None, _softmax(log=False))),
        ((WRITTEN_SOFTMAX,), OwnerRule(None, _written_softmax)),
        ((WRITTEN_VOTES,), OwnerRule(None, _written_votes)),
        (("Sign",), OwnerRule(None, _sign)),
        (("LogSoftmax",), OwnerRule(None, _softmax(log=True))),
        (("ArgMax",), OwnerRule(None, _extreme(smallest=False))),
        (("ArgMin",), OwnerRule(None, _extreme(smallest=True))),
        (("TopK",), OwnerRule(None, _largest)),
        (("Greater",), OwnerRule(None, _side(inclusive=False, below=False))),
        (("GreaterOrEqual",), OwnerRule(None, _side(inclusive=True, below=False))),
        (("Less",), OwnerRule(None, _side(inclusive=False, below=True))),
        (("LessOrEqual",), OwnerRule(None, _side(inclusive=True, below=True))),
        (("Gather",), OwnerRule(rows_of, None)),
        (("Concat",), OwnerRule(joins=lambda m: m.dim(m.options["axis"]))),
        ((f"{ML}.FeatureVectorizer",), OwnerRule(joins=lambda m: -1)),
        *(((name,), OwnerRule(None, make)) for name, make in CLASS_STEPS.items()),
        ((f"{ML}.ZipMap",), OwnerRule(None, _by_name)),
        ((f"{ML}.LabelEncoder", f"{ML}.CategoryMapper"), OwnerRule(None, names_of, renames=rename_classes)),
        ((f"{ML}.OneHotEncoder",), OwnerRule(_one_hot, None)),
        ((f"{ML}.ArrayFeatureExtractor",), OwnerRule(_features, _name_by_number, wanted=False)),
        ((f"{ML}.Scaler",), OwnerRule(scaler, scaler)),
        ((f"{ML}.Normalizer",), OwnerRule(_normalizer, _normalizer)),
    ),
    split_classifier,
)
