"""The owner's computations before encryption and after decryption: steps for every input and output, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import numpy as np

from latticework.lazy_dataclass import dataclass
from latticework.plan.client_steps.step import (
    NUMBER,
    Array,
    CellKind,
    OwnerStep,
    Shape,
    Span,
    chain_cells,
    chain_image,
    chain_reaches,
    chain_shape,
    concatenated_shape,
    merge_cells,
)
from latticework.plan.client_steps.step_arrays import MAX_AXES, OwnerArray, check_shape

MAX_STEPS = 64
MAX_PIECES = 1 << 12

Steps = tuple[OwnerStep, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """An input of the owner's, where it is not encrypted as it is.

    shape    for one run; the first of several axes may have any length where the input is of any number of rows
    columns  names of the elements of the last axis, where they are known
    is_part  frames may have other columns, too, which nothing reads
    """

    name: str
    shape: tuple[int, ...]
    columns: tuple[str, ...] = ()
    is_part: bool = field(default=False, metadata={"unstored_default": True})


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an encrypted input: what is computed of one of the given values."""

    given: str
    steps: Steps = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """The computation of an encrypted input: pieces, joined along an axis counted from the end, and then steps."""

    input: str
    pieces: tuple[Piece, ...]
    steps: Steps = ()
    dim: int = -1


@dataclass(frozen=True, slots=True)
class Doubt:
    """An output that tells how much farther off the numbers of another one may be, on top of the errors of both.

    output  its axes are the first ones of the other's: a number for each row, say
    clear   what it is where there is no doubt
    weight  what numbers may be off for each unit of distance from there: one for every element of the other axes, or
            one for all
    small   up to which distance that holds;  beyond  how many times as much it is of larger ones
    """

    output: str
    clear: float
    weight: OwnerArray
    small: float = 0.0
    beyond: float = 1.0

    def __post_init__(self) -> None:
        if (self.weight.array < 0).any() or self.beyond < 1:
            raise ValueError("a doubt with a negative weight, or a smaller one of larger distances")

    def errors(self, told: Array, error: float) -> Array:
        """Return how far each number may be off.

        told   the decrypted output, within `error` of the exact one
        """
        apart = np.abs(np.asarray(told, dtype=np.float64) - self.clear) + error
        apart = np.where(apart <= self.small, apart, apart * self.beyond)
        return np.asarray(np.multiply.outer(apart, self.weight.array))

    def has_none(self, told: Array, error: float) -> Array:
        """Return where nothing is in doubt, as far as errors let that be seen: in the shape of the output."""
        return np.asarray(np.abs(np.asarray(told, dtype=np.float64) - self.clear) <= error)


@dataclass(frozen=True, slots=True)
class Finished:
    """A result: what is computed of a decrypted output. Several results may be of one output.

    doubt   another output that tells how far this one may be off; None: its error bound alone does
    """

    name: str
    output: str
    steps: Steps = ()
    doubt: Doubt | None = field(default=None, metadata={"unstored_default": True})

    def reads(self) -> tuple[str, ...]:
        """Return the names of the outputs that it is made of."""
        return (self.output,) if self.doubt is None else (self.output, self.doubt.output)


@dataclass(frozen=True, slots=True)
class OwnerStages:
    """All that the owner computes for a program.

    given, before  where an input is not encrypted as it is given. Where `given` declares names in another order than
                   inputs and their pieces read them in, there is no order: they are given by name
    after          all results, in order; none: the outputs as they are
    """

    given: tuple[Given, ...] = ()
    before: tuple[Prepared, ...] = ()
    after: tuple[Finished, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    @property
    def partial(self) -> frozenset[str]:
        """Names of what is given as frames that may have other columns, too."""
        return frozenset(each.name for each in self.given if each.is_part)

    def cell_kinds(self, name: str) -> dict[int, CellKind] | None:
        """Return what cells of each column of what is given are read as, by number; None: as they are encrypted.

        raises  ValueError for a column that is read as texts and as numbers
        """
        shapes = {each.name: each.shape for each in self.given}
        if not shapes.get(name):
            return None
        found: dict[int, CellKind] = {}
        for stage in self.before:
            for piece in stage.pieces:
                if piece.given == name:
                    read, left = chain_cells((*piece.steps, *stage.steps), tuple(range(shapes[name][-1])))
                    merge_cells(found, read)
                    merge_cells(found, dict.fromkeys(left, (NUMBER, frozenset())))
        return found

    @property
    def column_each(self) -> dict[str, str]:
        """The name of the column that each of what is given is, where all are one with a name; else {}."""
        named = {each.name: each.columns[0] for each in self.given if len(each.columns) == 1}
        return named if len(named) == len(self.given) else {}

    def prepared(self, name: str) -> Prepared | None:
        """Return the computation of an encrypted input; None: it is encrypted as it is."""
        return next((each for each in self.before if each.input == name), None)

    def given_for(self, inputs: Iterable[str]) -> list[str]:
        """Return the owner's names of these inputs of the program, each once."""
        names: dict[str, None] = {}
        for name in inputs:
            prepared = self.prepared(name)
            names.update(dict.fromkeys([name] if prepared is None else [piece.given for piece in prepared.pieces]))
        return list(names)

    def is_in_order(self, inputs: Iterable[str]) -> bool:
        """Whether what is given for these inputs comes in one order, by the inputs as well as by how it is declared."""
        declared = [each.name for each in self.given]
        names = [name for name in self.given_for(inputs) if name in declared and self._is_renamed(name)]
        return names == sorted(names, key=declared.index)

    def _is_renamed(self, given: str) -> bool:
        """Whether it is more, or something else, than the input of the same name."""
        return not all(
            each.input == given and len({piece.given for piece in each.pieces}) == 1
            for each in self.before
            if any(piece.given == given for piece in each.pieces)
        )

    def shape_of(self, prepared: Prepared) -> Shape:
        """Return the shape of an encrypted input, for one run; ValueError where steps do not fit the owner's inputs."""
        shapes = {each.name: each.shape for each in self.given}
        return joined_shape([(shapes[piece.given], piece.steps) for piece in prepared.pieces], prepared)

    def image_of(self, name: str) -> Span | None:
        """Return between which ends an encrypted input lies, whatever is given, as far as the steps tell that."""
        stage = self.prepared(name)
        if stage is None or len(stage.pieces) > 1:
            return None
        shapes = {each.name: each.shape for each in self.given}
        return chain_image(shapes[stage.pieces[0].given], (*stage.pieces[0].steps, *stage.steps))

    def followed_by(self, name: str, shape: Shape, step: OwnerStep) -> OwnerStages:
        """Return stages with one more step before an input of this shape is encrypted."""
        stage = self.prepared(name)
        if stage is None:
            given = Given(name, shape)
            prepared = Prepared(name, (Piece(name, (step,)),))
            return replace(self, given=(*self.given, given), before=(*self.before, prepared))
        if len(stage.pieces) == 1:
            piece = stage.pieces[0]
            changed = replace(stage, pieces=(replace(piece, steps=(*piece.steps, *stage.steps, step)),), steps=())
        else:
            changed = replace(stage, steps=(*stage.steps, step))
        return replace(self, before=tuple(changed if each is stage else each for each in self.before))

    def check(self, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape]) -> None:
        """ValueError unless all steps fit these encrypted inputs and outputs, by name."""
        shapes = {each.name: each.shape for each in self.given}
        used = {piece.given for each in self.before for piece in each.pieces}
        names = [[each.name for each in self.given], [each.input for each in self.before], [r.name for r in self.after]]
        if any(len(set(listed)) < len(listed) for listed in names) or used != set(shapes):
            raise ValueError("a name of a stage stands twice, or is of nothing that is given")
        prepared = {each.input for each in self.before}
        if not prepared <= set(inputs) or (set(inputs) - prepared) & set(shapes):
            raise ValueError("a stage is of no encrypted input, or what is given has the name of another input")
        for each in self.given:
            check_shape(each.shape)
            if each.columns and (len(each.columns),) != each.shape[-1:]:
                raise ValueError(f"{len(each.columns)} names of columns of what has shape {each.shape}")
        for stage in self.before:
            if not 1 <= len(stage.pieces) <= MAX_PIECES or not -MAX_AXES <= stage.dim < 0:
                raise ValueError(f"{len(stage.pieces)} pieces of input {stage.input!r}, joined along axis {stage.dim}")
            shape = self.shape_of(stage)
            if shape != inputs[stage.input]:
                raise ValueError(
                    f"what is computed for input {stage.input!r} has shape {shape}, not {inputs[stage.input]}"
                )
        for result in self.after:
            if result.output not in outputs:
                raise ValueError(f"result {result.name!r} is of no output")
            check_after(result, outputs[result.output])
            if result.doubt is not None:
                check_doubt(result, outputs)

    def works_along(self, inputs: Mapping[str, tuple[Shape, int]], outputs: Mapping[str, tuple[Shape, int]]) -> bool:
        """Whether a step works along these axes, of inputs and outputs with their shapes: those of rows."""
        shapes = {each.name: each.shape for each in self.given}
        for stage in self.before:
            if stage.input not in inputs:
                continue
            _, axis = inputs[stage.input]
            along = [chain_reaches(shapes[piece.given], piece.steps, axis) for piece in stage.pieces]
            first = chain_shape(shapes[stage.pieces[0].given], stage.pieces[0].steps)
            is_joined = len(stage.pieces) > 1 and len(first) + stage.dim == axis
            joined = self.shape_of(replace(stage, steps=()))
            if any(along) or is_joined or chain_reaches(joined, stage.steps, axis):
                return True
        known = [(outputs[each.output], each.steps) for each in self.after if each.output in outputs]
        doubts = [(outputs.get(each.doubt.output), outputs.get(each.output)) for each in self.after if each.doubt]
        if any((source and source[1]) != (of and of[1]) for source, of in doubts):
            return True
        return any(chain_reaches(shape, steps, axis) for (shape, axis), steps in known)


def joined_shape(pieces: list[tuple[Shape, Steps]], prepared: Prepared) -> Shape:
    """Return the shape of joined pieces after the steps that follow."""
    for steps in (*(steps for _, steps in pieces), prepared.steps):
        if len(steps) > MAX_STEPS or not all(step.BEFORE for step in steps):
            raise ValueError(f"more than {MAX_STEPS} steps before encryption, or one that comes after")
    if any(step.OF_CATEGORIES for step in prepared.steps if len(pieces) > 1):
        raise ValueError("categories of what is joined")
    first = concatenated_shape([chain_shape(shape, steps) for shape, steps in pieces], prepared.dim)
    return chain_shape(first, prepared.steps)


def check_after(result: Finished, shape: Shape) -> Shape:
    """The shape of a result; ValueError unless numbers become decisions once, then names, and dictionaries at the end.

    shape  of the output that it is made of
    """
    if len(result.steps) > MAX_STEPS or not all(step.AFTER for step in result.steps):
        raise ValueError(f"more than {MAX_STEPS} steps after decryption, or one that comes before")
    choices = 0
    for place, step in enumerate(result.steps):
        next_shape = chain_shape(shape, (step,))
        choices = step.decided(shape, choices)
        if step.ENDS and place < len(result.steps) - 1:
            raise ValueError(f"step {step.NAME} before other steps")
        shape = next_shape
    return shape


def check_doubt(result: Finished, outputs: Mapping[str, Shape]) -> None:
    """ValueError unless an output tells of the numbers of another, whose first axes are its own."""
    assert result.doubt is not None
    source, shape, weight = outputs.get(result.doubt.output), outputs[result.output], result.doubt.weight.shape
    if source is None or shape[: len(source)] != source or weight not in ((), shape[len(source) :]):
        raise ValueError(f"the doubt of result {result.name!r} is of no output, or of one of another shape")
