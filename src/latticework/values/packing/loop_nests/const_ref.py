"""Public slot vectors in compact form: how each is gathered from a source array.

Nothing here holds a slot vector; one is evaluated when it is encoded, at the level of use.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.values.packing.butterflies import Butterflies
from latticework.values.packing.loop_nests.diagonal_values import (
    SlotArray,
    Sources,
    diagonal_values,
    pack_values,
    scale,
)
from latticework.values.packing.loop_nests.nest import Access, LoopNest
from latticework.values.packing.pack import REPEAT, PackDim, PackMap


@dataclass(frozen=True, slots=True)
class ConstRef:
    """Slot vectors to be gathered: a packed tensor, or one generalised diagonal of a linear map.

    gather    the loop nest that reads it from a source, or stages of the special FFT
    steps     which diagonal (in slot = out slot + steps), or None for a packed tensor
    rotate    the vectors are rotated left by this many slots after gathering
    factor    and multiplied by this
    out, in_  the vectors between which the diagonal lies
    plus      another one that is added
    """

    gather: LoopNest | Butterflies
    steps: int | None = None
    rotate: int = 0
    factor: complex = 1.0
    out: int = 0
    in_: int = 0
    plus: ConstRef | None = None

    @property
    def slots(self) -> int:
        """Length of the vectors."""
        return self.gather.slots

    @property
    def count(self) -> int:
        """Number of vectors: more than one only for a tensor."""
        return self.gather.count_out if isinstance(self.gather, LoopNest) and self.gather.in_pack is None else 1

    @property
    def is_complex(self) -> bool:
        """Whether the vectors are complex."""
        return (
            isinstance(self.gather, Butterflies)
            or isinstance(self.factor, complex)
            or (self.plus is not None and self.plus.is_complex)
        )

    @property
    def sources(self) -> set[str]:
        """Hashes of the arrays that are read."""
        own = set() if self.gather.source is None else {self.gather.source}
        return own if self.plus is None else own | self.plus.sources

    def evaluate(self, sources: Sources) -> SlotArray:
        """(slots,), or (count, slots) for several; complex if a factor or what it is gathered from is."""
        if isinstance(self.gather, LoopNest) and self.gather.in_pack is not None:
            place = self.out, self.in_, self.steps or 0
            vector: SlotArray = diagonal_values(self.gather, *place, sources, self.rotate, self.factor)
            return self._with_other(vector, sources)
        if isinstance(self.gather, Butterflies):
            vector = self.gather.diagonal(self.steps or 0)
        else:
            vector = pack_values(self.gather, sources)
        if self.rotate % self.slots:
            vector = np.roll(vector, -(self.rotate % self.slots), axis=-1)
        return self._with_other(scale(vector, self.factor), sources)

    def _with_other(self, vector: SlotArray, sources: Sources) -> SlotArray:
        return vector if self.plus is None else np.asarray(vector + self.plus.evaluate(sources))

    def rotate_left(self, steps: int) -> ConstRef:
        """The same rotated left by further steps."""
        if steps == 0:
            return self
        plus = None if self.plus is None else self.plus.rotate_left(steps)
        return replace(self, rotate=self.rotate + steps, plus=plus)

    def times(self, factor: complex) -> ConstRef:
        """The same multiplied by a number."""
        if factor == 1.0:
            return self
        plus = None if self.plus is None else self.plus.times(factor)
        return replace(self, factor=self.factor * factor, plus=plus)


def row_of(table: ConstRef, number: int) -> ConstRef:
    """Row `number` along the first axis of a source, of a packed tensor that is its row 0."""
    gather = table.gather
    assert isinstance(gather, LoopNest) and gather.source_access is not None and table.plus is None
    first, *rest = gather.source_access.offset
    moved = replace(gather.source_access, offset=(first + number, *rest))
    return replace(table, gather=replace(gather, source_access=moved))


def splat(value: complex, slots: int) -> ConstRef:
    """One number in every slot."""
    return ConstRef(_everywhere(slots), factor=value)


def number_of_row(source: str, shape: tuple[int, ...], slots: int) -> ConstRef:
    """The first number of row 0 along the first axis of a source, in every slot."""
    first = Access(shape, ((),) * len(shape), (0,) * len(shape))
    return ConstRef(replace(_everywhere(slots), source=source, source_access=first))


def is_everywhere(constant: ConstRef) -> bool:
    """Whether a constant is one number in every slot."""
    return isinstance(constant.gather, LoopNest) and constant.gather.out_pack == _everywhere(constant.slots).out_pack


def _everywhere(slots: int) -> LoopNest:
    pack = PackMap((), slots, (PackDim(REPEAT, slots),))
    return LoopNest((), pack, Access((), (), ()), None, None)
