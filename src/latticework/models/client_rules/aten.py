"""Operators of PyTorch (ATen) that the owner of the data can compute."""

from __future__ import annotations

from math import prod

from latticework.functions.function_record import Moved
from latticework.functions.table import RECORDS
from latticework.models.client_rules import common
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
from latticework.plan.client_steps import Extreme, Largest, OneHot, Softmax
from latticework.plan.client_steps.step_arrays import Labels


def _softmax(*, log: bool) -> StepMaker:
    return lambda moved: (Softmax(moved.dim(moved.argument(1, "dim")), log),)


def _extreme(*, smallest: bool) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        dim, keep = moved.argument(1, "dim"), bool(moved.argument(2, "keepdim", False))
        if dim is None:
            flat = common.reshape(moved, (prod(moved.shape),))
            return (*flat, Extreme(None, -1, False, smallest))
        return (Extreme(None, moved.dim(dim), keep, smallest),)

    return make


def _largest(moved: MovedNode) -> Steps:
    largest, in_order = moved.argument(3, "largest", True), moved.argument(4, "sorted", True)
    if moved.node.results[0] or moved.dim(moved.argument(2, "dim", -1)) != -1 or not largest or not in_order:
        raise CannotMoveError("only the places of the largest along the last axis are taken, in order")
    return (Largest(whole(moved.argument(1, "k"))),)


def _embedding(moved: MovedNode) -> Steps:
    if moved.argument(1, "indices") is not SECRET:
        raise CannotMoveError("the numbers are public")
    return common.table_rows(moved.argument(0, "weight"))


def _one_hot(moved: MovedNode) -> Steps:
    count = whole(moved.argument(1, "num_classes", -1))
    return (OneHot(Labels.of(list(range(count)))),)


def _reshape(moved: MovedNode) -> Steps:
    return common.reshape(moved, wholes(moved.argument(1, "size", moved.options.get("shape"))))


def _squeeze(moved: MovedNode) -> Steps:
    dim = moved.dim(moved.argument(1, "dim")) + len(moved.shape)
    return common.reshape(moved, [n for i, n in enumerate(moved.shape) if i != dim or n != 1])


def _unsqueeze(moved: MovedNode) -> Steps:
    rank = len(moved.shape) + 1
    place = whole(moved.argument(1, "dim")) % rank
    return common.reshape(moved, [*moved.shape[:place], 1, *moved.shape[place:]])


def _permute(moved: MovedNode) -> Steps:
    return common.transpose(moved, wholes(moved.argument(1, "dims")))


def _transpose(moved: MovedNode) -> Steps:
    order = list(range(len(moved.shape)))
    first, second = (moved.dim(moved.argument(place, f"dim{place - 1}")) for place in (1, 2))
    order[first], order[second] = order[second], order[first]
    return common.transpose(moved, order)


def _reduction(kind: str) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        axes = moved.argument(1, "dim")
        if moved.options.get("dtype") is not None:
            raise CannotMoveError("it has a dtype")
        keep = bool(moved.argument(2, "keepdim", False))
        return common.reduce_axes(moved, kind, None if axes is None else wholes(axes) or None, keep=keep)

    return make


def _clamp(moved: MovedNode) -> Steps:
    return common.clip(moved.argument(1, "min"), moved.argument(2, "max"))


def _affine(kind: str) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        if moved.options.get("alpha", 1) != 1 or moved.options.get("rounding_mode") is not None:
            raise CannotMoveError("it has alpha or a rounding mode")
        return common.affine_steps(moved, kind)

    return make


def _side(*, inclusive: bool, turned: bool) -> StepMaker:
    def make(moved: MovedNode) -> Steps:
        moved.first_is_secret()
        return common.above(moved, moved.argument(1, "other"), inclusive=inclusive != turned, turned=turned)

    return make


_SAME = "clone.default detach.default alias.default _to_copy.default contiguous.default dropout.default to.dtype"
_REDUCTIONS = {
    "sum": "sum.default sum.dim_IntList", "mean": "mean.default mean.dim", "max": "amax.default", "min": "amin.default",
}  # fmt: skip


def _overloads(names: str) -> tuple[str, ...]:
    return tuple(f"aten.{name}" for name in names.split())


ATEN_RULES = OwnerRules(
    rules(
        (_overloads(_SAME), OwnerRule(common.nothing, common.nothing, wanted=False)),
        (
            _overloads("view.default reshape.default _unsafe_view.default"),
            OwnerRule(_reshape, _reshape, wanted=False),
        ),
        (_overloads("squeeze.dim"), OwnerRule(_squeeze, _squeeze, wanted=False)),
        (_overloads("unsqueeze.default"), OwnerRule(_unsqueeze, _unsqueeze, wanted=False)),
        (_overloads("permute.default"), OwnerRule(_permute, _permute, wanted=False)),
        (_overloads("transpose.int"), OwnerRule(_transpose, _transpose, wanted=False)),
        *((_overloads(names), OwnerRule(None, _reduction(kind), wanted=False)) for kind, names in _REDUCTIONS.items()),
        *(
            (_overloads(f"{kind}.Tensor {kind}.Scalar"), OwnerRule(_affine(kind), _affine(kind), wanted=False))
            for kind in ("add", "sub", "mul", "div")
        ),
        *(
            (_overloads(" ".join(f"{name}.default" for name in record.aten_names)), common.elementary(record))
            for record in RECORDS
            if record.moved is not Moved.NOWHERE
        ),
        (_overloads("clamp.default"), OwnerRule(_clamp, _clamp)),
        (_overloads("softmax.int _softmax.default"), OwnerRule(None, _softmax(log=False))),
        (_overloads("log_softmax.int _log_softmax.default"), OwnerRule(None, _softmax(log=True))),
        (_overloads("argmax.default"), OwnerRule(None, _extreme(smallest=False))),
        (_overloads("argmin.default"), OwnerRule(None, _extreme(smallest=True))),
        (_overloads("topk.default"), OwnerRule(None, _largest)),
        (_overloads("gt.Scalar gt.Tensor"), OwnerRule(None, _side(inclusive=False, turned=False))),
        (_overloads("ge.Scalar ge.Tensor"), OwnerRule(None, _side(inclusive=True, turned=False))),
        (_overloads("lt.Scalar lt.Tensor"), OwnerRule(None, _side(inclusive=False, turned=True))),
        (_overloads("le.Scalar le.Tensor"), OwnerRule(None, _side(inclusive=True, turned=True))),
        (_overloads("embedding.default"), OwnerRule(_embedding, None)),
        (_overloads("one_hot.default"), OwnerRule(_one_hot, None)),
        (_overloads("cat.default"), OwnerRule(joins=lambda moved: moved.dim(moved.argument(1, "dim", 0)))),
    )
)
