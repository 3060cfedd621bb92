"""Shapes and places in ATen."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from latticework.errors import UnsupportedError
from latticework.models.pytorch.operators.table import each
from latticework.models.semantics import shaping as meant
from latticework.models.semantics.operand_checks import axis_of, is_secret, public, values

_PUBLIC = "numbers of an index are public"


def _index(x: Any, indices: Any) -> Any:
    """x[indices], None where an axis is taken whole; indices far from each other bring their axes to the front."""
    chosen: list[Any] = [np.s_[:] if i is None else public("index", "the index", i) for i in indices]
    if sum(i is not None for i in indices) == 1 and not any(np.ndim(i) == 0 for i in indices if i is not None):
        axis = next(a for a, i in enumerate(indices) if i is not None)
        if chosen[axis].dtype.kind != "b":
            return meant.index_select(x, axis, chosen[axis])
    return values(x)[tuple(chosen)]


def _gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    return meant.gather(x, dim, index)


def _expand(x: Any, size: Any, *, implicit: bool = False) -> Any:
    return meant.expand(x, size)


def _tensor_split(x: Any, by: Any, dim: int = 0) -> tuple[Any, ...]:
    axis = axis_of("tensor_split", dim, len(x.shape))
    return tuple(np.array_split(values(x), by, axis))


def _movedim(x: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(values(x), source, destination)


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return np.diagonal(values(x), offset, dim1, dim2)


def _unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of an axis along a new last one."""
    axis = axis_of("unfold", dimension, len(x.shape))
    starts = np.arange(0, x.shape[axis] - size + 1, step)
    taken = meant.index_select(x, axis, starts[:, None] + np.arange(size))
    return np.moveaxis(taken, axis + 1, -1)


def _within(x: Any, axis: int, index: Any) -> Any:
    """A subscript of an axis, and which of its parts it takes."""
    chosen = np.zeros(x.shape[axis], dtype=bool)
    chosen[index] = True
    return chosen.reshape((-1,) + (1,) * (len(x.shape) - axis - 1))


def _select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    """x with one part along an axis replaced."""
    axis = axis_of("select_scatter", dim, len(x.shape))
    return np.where(_within(x, axis, index), np.expand_dims(src, axis), x)


def _slice_scatter(x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """x with the parts of a slice along an axis replaced."""
    axis = axis_of("slice_scatter", dim, len(x.shape))
    part = builtins.slice(start, end, step)
    chosen = _within(x, axis, part)
    places = np.zeros(x.shape[axis], dtype=np.int64)
    places[part] = np.arange(src.shape[axis])
    return np.where(chosen, meant.index_select(src, axis, places), x)


def _index_put(x: Any, indices: Any, new: Any, accumulate: bool = False) -> Any:
    """x with the elements in public places replaced, by one number or by as many."""
    chosen = tuple(np.s_[:] if i is None else public("index_put", "the index", i) for i in indices)
    if accumulate:
        raise UnsupportedError("index_put: accumulate=True; add a product with a public matrix instead")
    places = np.full(x.shape, -1)
    target = places[chosen]
    places[chosen] = np.arange(target.size).reshape(target.shape)
    flat = np.reshape(np.broadcast_to(new, target.shape), -1)
    return np.where(places >= 0, np.reshape(meant.index_select(flat, 0, np.maximum(places, 0)), x.shape), x)


def _masked_by(keep: Any) -> Any:
    """Parts of matrices on one side of a diagonal, zeros elsewhere."""

    def mask_or_cut(x: Any, diagonal: int = 0) -> Any:
        return np.where(keep(np.ones(x.shape[-2:], dtype=bool), diagonal), x, 0) if is_secret(x) else keep(x, diagonal)

    return mask_or_cut


CONVERTERS = [
    *each("view.default reshape.default _unsafe_view.default", meant.reshape),
    *each("flatten.using_ints", meant.flatten),
    *each("unflatten.int", meant.unflatten),
    *each("permute.default", meant.permute),
    *each("transpose.int swapaxes.default", meant.transpose),
    *each("t.default numpy_T.default", lambda x: np.transpose(values(x))),
    *each("mT.default", lambda x: meant.transpose(x, -2, -1)),
    *each("movedim.int movedim.intlist", _movedim),
    *each("squeeze.default squeeze.dim squeeze.dims", meant.squeeze),
    *each("unsqueeze.default", meant.unsqueeze),
    *each("expand.default", _expand),
    *each("select.int", meant.select),
    *each("slice.Tensor", meant.slice),
    *each("narrow.default", meant.narrow),
    *each("index_select.default", meant.index_select, _PUBLIC),
    *each("index.Tensor", _index, _PUBLIC),
    *each("gather.default", _gather, _PUBLIC),
    *each("embedding.default", lambda weight, indices, *unused: meant.index_select(weight, 0, indices), _PUBLIC),
    *each("unbind.int", meant.unbind),
    *each("split.Tensor split_with_sizes.default split.sizes", meant.split),
    *each("chunk.default", meant.chunk),
    *each("tensor_split.sections tensor_split.indices", _tensor_split),
    *each("flip.default", meant.flip),
    *each("roll.default", meant.roll),
    *each("repeat.default", meant.repeat),
    *each("tile.default", meant.tile),
    *each("repeat_interleave.self_int",
          lambda x, repeats, dim=None, *, output_size=None: meant.repeat_interleave(x, repeats, dim)),
    *each("diagonal.default", _diagonal),
    *each("diag.default", lambda x, diagonal=0: np.diag(values(x), diagonal)),
    *each("unfold.default", _unfold),
    *each("tril.default", _masked_by(np.tril)),
    *each("triu.default", _masked_by(np.triu)),
    *each("select_scatter.default", _select_scatter),
    *each("slice_scatter.default", _slice_scatter),
    *each("index_put.default", _index_put, _PUBLIC),
]  # fmt: skip
