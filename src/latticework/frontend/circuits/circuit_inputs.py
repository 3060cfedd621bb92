"""The inputs of circuits: numbers, vectors and matrices, and how each may be packed."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from latticework.errors import DtypeError, LayoutError, RangeError, ShapeError, TraceError
from latticework.errors.rounded_numbers import write_value
from latticework.frontend.recording.annotations import Kinds, Parameter
from latticework.ir.lines import user_loc
from latticework.ir.location import Loc
from latticework.lazy_dataclass import dataclass
from latticework.plan.schema.arguments import MAX_BITS, OutputLanes

MAX_LANES = 1 << 16
_NAMES = ("scalar", "vector", "matrix", "bits")


@dataclass(frozen=True, slots=True)
class Input:
    """The kind of one parameter of a circuit; made by `scalar`, `vector` and `matrix`.

    shape      () of a number
    replicate  whether elements may stand in the ciphertext in several copies
    group      inputs of the same group share one ciphertext; "" for one of its own
    lanes      slot of every element, in C order; () where the compiler chooses
    secret     encrypted; else public, known when the circuit is compiled
    low, high  between which its values lie, or None
    source     the result of another compiled circuit that it is, or None
    bits       binary digits of every number, which are encrypted instead of it; 0: the number itself is
    by_rows    of a matrix: its rows lie one after the other, read or not; made by `matrix_by_rows`
    """

    shape: tuple[int, ...]
    replicate: bool = False
    group: str = ""
    lanes: tuple[int, ...] = ()
    secret: bool = True
    low: float | None = None
    high: float | None = None
    source: OutputLanes | None = None
    bits: int = 0
    by_rows: bool = False

    @property
    def is_free(self) -> bool:
        """A number that may lie anywhere, beside the others of its kind."""
        return self.shape == () and self.replicate and not self.group and not self.lanes and not self.bits

    @property
    def size(self) -> int:
        """Number of encrypted numbers: elements, or digits of elements."""
        return prod(self.shape) * max(self.bits, 1)


def scalar(
    *, replicate: bool | None = None, group: str = "", lanes: Any = (), secret: bool = True,
    low: float | None = None, high: float | None = None,
) -> Input:  # fmt: skip
    """An encrypted number. It shares ciphertexts with other numbers, at any slots and in as many copies as it takes.

    replicate  False: a ciphertext with this number once. Without it that of a group, else True
    group      the name of inputs that share one ciphertext
    lanes      the slot where it lies
    secret     False: a public number, given as weights= when the circuit is compiled
    low, high  between which it lies; the client refuses others
    """
    copies = not (group or _read_lanes(lanes)) if replicate is None else replicate
    return _input("scalar", (), copies, group, lanes, secret, low, high)


def vector(
    length: int, *, replicate: bool = False, group: str = "", lanes: Any = (), secret: bool = True,
    low: float | None = None, high: float | None = None,
) -> Input:  # fmt: skip
    """Encrypted numbers in one ciphertext, an array (length,) of numbers to the circuit.

    Or in a ciphertext each, where one operation after the other is predicted to be faster with sending, unless group,
    lanes or another circuit tie them together.

    replicate  True: elements may lie in several copies
    lanes      the slot of every element: a list, or `model.lanes(name)` of the model that computes it
    Otherwise as `scalar`.
    """
    return _input("vector", _extents("vector", (length,)), replicate, group, lanes, secret, low, high)


def matrix(
    rows: int, columns: int, *, replicate: bool = False, group: str = "", lanes: Any = (), secret: bool = True,
    low: float | None = None, high: float | None = None,
) -> Input:  # fmt: skip
    """Encrypted numbers in one ciphertext, to the circuit an array (rows, columns); otherwise as `vector`."""
    return _input("matrix", _extents("matrix", (rows, columns)), replicate, group, lanes, secret, low, high)


def matrix_by_rows(rows: int, columns: int, *, low: int, high: int) -> Input:
    """Encrypted numbers, row after row in as many ciphertexts as it takes: of a batch, one for each row.

    What the client gets says of the circuit in which columns there are numbers that it reads, and not in which rows:
    all are sent, each is brought to the front by rotations whether it is read or not, and operations are computed one
    by one.
    """
    return dataclasses.replace(matrix(rows, columns, low=low, high=high), by_rows=True)


def bits(width: int, *shape: int, replicate: bool = False, group: str = "") -> Input:
    """Whole numbers from 0 to 2^width - 1, encrypted digit by digit: bits(16) is a number, bits(16, 8) a vector of 8.

    The owner gives ordinary numbers; the client encrypts their binary digits, all in one ciphertext. To the circuit
    they are numbers (or an array of them) that take few products to compare, and for & | ^ ~ << >> % and //.

    width      digits of every number, 1 to 53
    shape      () of one number, (length,) of a vector, (rows, columns) of a matrix
    replicate  True: digits may lie in several copies
    group      the name of inputs that share one ciphertext
    """
    at = user_loc()
    try:
        count = 0 if isinstance(width, bool) else operator.index(width)
    except TypeError:
        count = 0
    if not 1 <= count <= MAX_BITS:
        raise RangeError(
            f"lw.bits: width={write_value(width)}; give the number of binary digits, 1 to {MAX_BITS}", at=at
        )
    if len(shape) > 2:
        raise ShapeError(f"lw.bits: shape {shape}; give no size, a length, or rows and columns", at=at)
    made = _input("bits", _extents("bits", shape), replicate, group, (), True, 0, (1 << count) - 1)
    return dataclasses.replace(made, bits=count)


def _of_circuit(annotation: Any) -> Input | None:
    if annotation == scalar:
        return scalar()
    if annotation is vector or annotation is matrix or annotation is bits:
        example = {"vector": "lw.vector(4)", "matrix": "lw.matrix(2, 3)", "bits": "lw.bits(16)"}[annotation.__name__]
        raise TraceError(f"an annotation lw.{annotation.__name__} lacks its size; write {example}")
    if isinstance(annotation, Input):
        return annotation
    return None


OF_CIRCUITS = Kinds("circuit", _NAMES, _of_circuit)


def _read_lanes(lanes: Any) -> bool:
    return lanes is not None and np.size(np.asarray(lanes, dtype=object)) > 0


def _extents(name: str, given: Iterable[Any]) -> tuple[int, ...]:
    try:
        extents = tuple(0 if isinstance(n, bool) else operator.index(n) for n in given)
    except TypeError:
        extents = (0,)
    if any(n < 1 for n in extents):
        raise ShapeError(f"lw.{name}: sizes are whole numbers of at least 1, got {tuple(given)}", at=user_loc())
    return extents


def _input(
    name: str, shape: tuple[int, ...], replicate: Any, group: Any, lanes: Any, secret: Any, low: Any, high: Any
) -> Input:
    at = user_loc()
    if not isinstance(group, str) or not all(isinstance(flag, bool) for flag in (replicate, secret)):
        raise DtypeError(f"lw.{name}: group is a name, replicate and secret are True or False", at=at)
    if not secret and ((replicate and name != "scalar") or group or _read_lanes(lanes)):
        raise LayoutError(f"lw.{name}: a public input is not packed; leave out replicate, group and lanes", at=at)
    fixed = _lanes(name, shape, lanes, at)
    if fixed and replicate:
        raise LayoutError(
            f"lw.{name}: lanes= says where each element lies, replicate=True leaves that to the compiler; give one",
            at=at,
        )
    for bound in (low, high):
        is_number = isinstance(bound, int | float | np.integer | np.floating) and not isinstance(bound, bool)
        if bound is not None and not (is_number and abs(bound) <= sys.float_info.max):
            raise RangeError(
                f"lw.{name}: low={write_value(low)}, high={write_value(high)}; give two finite numbers", at=at
            )
    if (low is None) != (high is None) or (low is not None and not low < high):
        raise RangeError(f"lw.{name}: low={low!r}, high={high!r}; give both, low below high", at=at)
    source = lanes if isinstance(lanes, OutputLanes) else None
    if source is not None and group:
        raise LayoutError(
            f"lw.{name}: what {source.link.circuit} computes is a ciphertext of its own; leave out group={group!r}",
            at=at,
        )
    return Input(shape, replicate, group, fixed, secret, low, high, source)


def _lanes(name: str, shape: tuple[int, ...], lanes: Any, at: Loc) -> tuple[int, ...]:
    """Checked lanes in C order, or ()."""
    if not _read_lanes(lanes):
        return ()
    try:
        fixed = tuple(operator.index(lane) for lane in np.asarray(lanes, dtype=object).reshape(-1))
    except TypeError:
        raise LayoutError(f"lw.{name}: lanes={lanes!r}; give the slot of each element, whole numbers", at=at) from None
    if len(fixed) != prod(shape):
        raise LayoutError(f"lw.{name}: {len(fixed)} lanes for {prod(shape)} elements; give one for each", at=at)
    _check_lanes(f"lw.{name}", fixed, at)
    return fixed


def _check_lanes(where: str, lanes: tuple[int, ...], at: Loc) -> None:
    """LayoutError unless lanes are different slots of a vector."""
    outside = [lane for lane in lanes if not 0 <= lane < MAX_LANES]
    if outside:
        raise LayoutError(f"{where}: lane {outside[0]} is no slot; lanes are 0 to {MAX_LANES - 1} at most", at=at)
    if len(set(lanes)) < len(lanes):
        twice = next(lane for lane in lanes if lanes.count(lane) > 1)
        raise LayoutError(f"{where}: lane {twice} is given to two elements; each needs its own", at=at)


@dataclass(frozen=True, slots=True)
class Shared:
    """Inputs that travel in the same ciphertexts.

    name     of the plan's input
    members  parameters, their elements one after the other
    """

    name: str
    packing: str
    members: tuple[Parameter, ...]
    lanes: tuple[int, ...]

    @property
    def source(self) -> OutputLanes | None:
        """The result of another circuit that it is."""
        source: OutputLanes | None = self.members[0].kind.source
        return source

    @property
    def size(self) -> int:
        """Number of elements."""
        return sum(p.kind.size for p in self.members)


def share_inputs(circuit: str, inputs: Iterable[Parameter], at: Loc) -> list[Shared]:
    """Encrypted inputs by the ciphertexts that hold them, in the order of the signature.

    raises  LayoutError where inputs of one group contradict each other
    """
    by_group: dict[str, list[Parameter]] = {}
    for p in inputs:
        key = "numbers" if p.kind.is_free else f"group {p.kind.group}" if p.kind.group else f"input {p.name}"
        by_group.setdefault(key, []).append(p)
    taken = {p.name for members in by_group.values() for p in members}
    found = []
    for key, members in by_group.items():
        name = members[0].kind.group or members[0].name
        if key == "numbers":
            name = "numbers" if len(members) > 1 else members[0].name
            while name in taken and len(members) > 1:
                name += "_"
        found.append(_share(circuit, name, members, at))
    names = [s.name for s in found]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise LayoutError(f"circuit {circuit}: {twice!r} names a group and an input outside it; rename one", at=at)
    return found


def _share(circuit: str, name: str, members: list[Parameter], at: Loc) -> Shared:
    where = f"circuit {circuit}, group {name!r}"
    if len({p.kind.replicate for p in members}) > 1:
        listed = ", ".join(f"{p.name}: {p.kind.replicate}" for p in members)
        raise LayoutError(f"{where}: its inputs differ in replicate ({listed}); give all the same", at=at)
    with_lanes = [p.name for p in members if p.kind.lanes]
    if with_lanes and len(with_lanes) < len(members):
        without = ", ".join(p.name for p in members if not p.kind.lanes)
        raise LayoutError(f"{where}: {', '.join(with_lanes)} have lanes=, {without} have none; give all or none", at=at)
    lanes = tuple(lane for p in members for lane in p.kind.lanes)
    if lanes:
        _check_lanes(where, lanes, at)
    kind = members[0].kind
    if kind.by_rows:
        return Shared(name, "rows", tuple(members), tuple(range(kind.shape[1])) * kind.shape[0])
    packing = "free" if kind.is_free else "replicated" if kind.replicate else "grouped"
    return Shared(name, packing, tuple(members), lanes)
