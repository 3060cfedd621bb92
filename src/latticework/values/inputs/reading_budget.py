"""Budget of work for a file that somebody else made: one for all its readers, counted before it is spent.

A few bytes of a file can say "2^60 times", or double a name sixty times. So readers count what they are about to do,
also what is empty, and stop with an error that names the limit. The budget of a file is in force while it is read, and
again whenever the program that was read is carried out as the file says, call by call.
"""

from __future__ import annotations

import operator
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from latticework.errors import FormatError, UserError
from latticework.lazy_dataclass import dataclass

MOST_SECRET = 1 << 26  # elements of an array that is encrypted: thousands of ciphertexts
BYTES_OF_ELEMENT = 24  # of float64, with the copies that a step makes of it


@dataclass(frozen=True, repr=False)
class ReadingLimits:
    """Limits of reading a file, and of each run of the program that it describes.

    work          units of about a microsecond; a node of a graph counts as 40, one that a loop carries out as 100, an
                  operation of HEIR as 3
    memory_bytes  of public values, beyond twice the file; of what an archive unpacks to as well
    depth         of what is nested: graphs in graphs, calls in calls, regions in regions
    file_bytes    of the file, and of the files that it names
    raises        UserError for a limit that is no whole number from 1 on
    """

    work: int = 2_000_000
    memory_bytes: int = 200 << 20
    depth: int = 50
    file_bytes: int = 1 << 30

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < 1:
                raise UserError(f"ReadingLimits: {each.name}={value!r}; give a whole number from 1 on")

    def __repr__(self) -> str:
        changed = (f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"ReadingLimits({', '.join(changed)})"


DEFAULTS = ReadingLimits()
_FAULTS = (
    ArithmeticError, AttributeError, BufferError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
    struct.error,
)  # fmt: skip


@dataclass
class ReadingBudget:
    """Rest of the limits for one file.

    elements   of public values that may still be made
    bytes_left  that arrays may still hold at one time
    file_bytes  of files that it names, which may still be read
    unfolding  work that is left for making a graph of a file: its functions are written out
    running    work that is left for carrying it out: loops are written out
    is_spent   whether work was refused
    """

    limits: ReadingLimits
    elements: int
    bytes_left: int
    file_bytes: int
    unfolding: int
    running: int
    is_spent: bool = False

    @classmethod
    def of(cls, limits: ReadingLimits, size: int = 0, work: int = 0) -> ReadingBudget:
        """The whole of it, for a file of so many bytes, with more work where that is in proportion to what it holds."""
        memory = limits.memory_bytes + 2 * size
        return cls(limits, memory // BYTES_OF_ELEMENT, memory, limits.file_bytes, limits.work, limits.work + work)

    def take_unfolding(self, units: int) -> bool:
        """Whether so much more may be written out; it is counted then."""
        if units > self.unfolding:
            self.is_spent = True
            return False
        self.unfolding -= units
        return True

    def take_running(self, units: int) -> bool:
        """Whether so much more may be carried out; it is counted then."""
        if units > self.running:
            self.is_spent = True
            return False
        self.running -= units
        return True


_budget: ContextVar[ReadingBudget | None] = ContextVar("latticework_reading_budget", default=None)


def current_budget() -> ReadingBudget | None:
    """Return the budget of the file that is being read, or whose program runs; None if there is none."""
    return _budget.get()


@contextmanager
def reading(limits: ReadingLimits, size: int = 0, work: int = 0) -> Iterator[ReadingBudget]:
    """Set the budget while a file of `size` bytes is read, or carried out.

    work  units beyond the limit, for files whose work is in proportion to what they hold
    """
    budget = ReadingBudget.of(limits, size, work)
    with _in_force(budget):
        yield budget


@contextmanager
def trying(elements: int) -> Iterator[None]:
    """Allow a trial to make `elements` elements, on the work of the file that is being read."""
    outer = _budget.get()
    if outer is None:
        yield
        return
    inner = replace(outer, elements=elements)
    with _in_force(inner):
        yield
    outer.running = min(outer.running, inner.running)


@contextmanager
def _in_force(budget: ReadingBudget) -> Iterator[None]:
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


@contextmanager
def told_as_damage(name: str) -> Iterator[None]:
    """Turn Python's errors on a damaged, or too large, file into FormatErrors."""
    try:
        yield
    except UserError:
        raise
    except _FAULTS as error:
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        raise FormatError(f"{name} is damaged, or too large: {message}") from error


def limit_remedy(limit: str) -> str:
    """The advice that messages give where `limit` is in the way."""
    return f"if you trust the file, allow more with limits=lw.ReadingLimits({limit}=...)"


def take_elements(count: int) -> bool:
    """Whether so many more elements of public values may be made; they are counted then, while a file is read."""
    budget = _budget.get()
    if budget is None:
        return True
    if count > budget.elements:
        return False
    budget.elements -= count
    return True


def take_traced(units: int) -> None:
    """Count what is traced while a file is read. FormatError where that becomes too much; nothing is counted else."""
    budget = _budget.get()
    if budget is not None and not budget.take_running(units):
        raise FormatError(
            f"what the file computes takes more than the {budget.limits.work} units of work that are allowed here: "
            f"{limit_remedy('work')}"
        )


# Bytes


@dataclass(frozen=True)
class ReadBytes:
    """A file that was read as a whole.

    name    for messages;  folder  where it lies, None where that is not known
    """

    data: bytes
    name: str
    folder: Path | None


def read_bytes(source: Any, who: str, what: str, limits: ReadingLimits, unnamed: str) -> ReadBytes:
    """A file by its path, its bytes, or an object that reads bytes; no more than the limit is ever read.

    who, what  the function, and what it wants, for messages;  unnamed  what to call what has no name
    raises     FormatError for what is larger, or no regular file; UserError for what cannot be read
    """
    if isinstance(source, bytes | bytearray | memoryview):
        _check_size(len(bytes(source)), unnamed, limits)
        return ReadBytes(bytes(source), unnamed, None)
    if callable(getattr(source, "read", None)):
        return _from_object(source, who, limits, unnamed)
    try:
        path = Path(source)
    except TypeError:
        raise UserError(f"{who}: {type(source).__name__} is no {what}; give a path, bytes or an open file") from None
    try:
        with open_regular(path) as file:
            _check_size(os.fstat(file.fileno()).st_size, path.name, limits)
            data = file.read(limits.file_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, UserError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"{who}: {path} cannot be read: {reason}") from None
    _check_size(len(data), path.name, limits)
    return ReadBytes(data, path.name, path.parent)


def open_regular(path: Path) -> Any:
    """A regular file, open for reading; a pipe or a device would never end.

    raises  FormatError for what is none; OSError and ValueError of the system
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FormatError(f"{path}: no file; a folder, a pipe or a device cannot be read: give the file itself")
    return os.fdopen(descriptor, "rb")


def _from_object(source: Any, who: str, limits: ReadingLimits, unnamed: str) -> ReadBytes:
    name = getattr(source, "name", None)
    called = Path(name).name if isinstance(name, str) and name else unnamed
    try:
        data = source.read(limits.file_bytes + 1)
    except (OSError, ValueError) as error:
        raise UserError(f"{who}: {called} cannot be read: {error}") from None
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, bytes | bytearray):
        raise UserError(f"{who}: {called} reads {type(data).__name__}; open it in binary mode")
    _check_size(len(data), called, limits)
    return ReadBytes(bytes(data), called, None)


def _check_size(size: int, name: str, limits: ReadingLimits) -> None:
    if size > limits.file_bytes:
        raise FormatError(f"{name} has more than {limits.file_bytes} bytes: {limit_remedy('file_bytes')}")
