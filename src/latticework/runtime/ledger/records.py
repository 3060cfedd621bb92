"""The file of a ledger: lines of text, only appended, under a lock, and durable before what they tell of begins.

    latticework ledger 1 of key set 0f1e2d3c4b5a69788796a5b4c3d2e1f0
    begun 1 5f0a99c2
    answered 2 e61b2c07

The first line names the version and the key set. Each other line is a record: its type, the number of its line from 1,
and the CRC-32 of key set, type and number, in hexadecimal. A line that is not a record of its place, one cut off by a
killed process, a full disk or a lost page included, is kept as it is, and counts as unreadable. A record with the right
sum and a type that is not in `TYPES` was written by a later version: the file is refused. A new type is a line there.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from latticework.errors import FormatError, ParameterMismatchError, SecurityError
from latticework.lazy_dataclass import dataclass

# Type -> what it tells. A decryption is `begun` before anything is computed, and `answered` when it gave a result.
TYPES = {"begun": "a decryption that may be refused begins", "answered": "it gave a result"}
VERSION = 1
_KIND = "latticework ledger "
_HEAD = f"{_KIND}{VERSION} of key set "
_TORN = b"?\n"  # ends a line that was cut off, so that it never becomes a record


def is_ledger(path: Path) -> bool:
    """Whether a regular file begins as a ledger does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return begins_as_ledger(file.read(len(_KIND)))


def begins_as_ledger(start: bytes) -> bool:
    """Whether these are the first bytes of a ledger."""
    return start.startswith(_KIND.encode())


@dataclass
class LedgerCounts:
    """Counts of the lines of a ledger.

    lines       after the first
    by_type     records of each type
    unreadable  lines that are no records
    is_torn     whether bytes without an end of line follow, which are one more
    is_open     whether the last decryption that began has not given a result
    """

    lines: int = 0
    by_type: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TYPES, 0))
    unreadable: int = 0
    is_torn: bool = False
    is_open: bool = False

    @property
    def refusals(self) -> int:
        """Decryptions that began and gave no result, for whatever reason, and lines that may have told of one."""
        return self.by_type["begun"] - self.by_type["answered"] + self.unreadable + self.is_torn

    def add(self, kind: str | None) -> None:
        """One more line, a record of this type, or none."""
        self.lines += 1
        if kind == "answered" and not self.is_open:  # of nothing
            kind = None
        if kind is None:
            self.unreadable += 1
            return
        self.by_type[kind] += 1
        self.is_open = kind == "begun" or (self.is_open and kind != "answered")


@dataclass
class LedgerFile:
    """The ledger of a key set at a path. Every use opens it anew and takes its lock; only new lines are read."""

    path: Path
    key_set: bytes
    _counts: LedgerCounts = field(default_factory=LedgerCounts)
    _read_bytes: int = 0
    _place: tuple[int, int] | None = None  # device and inode, once it was read

    @property
    def refusals_seen(self) -> int:
        """Those that were in it when it was last used."""
        return self._counts.refusals

    def create(self, refusals: int = 0) -> None:
        """Write it, with so many decryptions that gave no result; the whole file appears at once.

        raises  FileExistsError if there is a file already; OSError
        """
        text = _HEAD + self.key_set.hex() + "\n"
        text += "".join(self._line("begun", number + 1) for number in range(refusals))
        unfinished = self.path.parent / f".latticework-{os.urandom(8).hex()}.tmp"  # as of other files that are written
        fd = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            _write(fd, text.encode())
            os.fsync(fd)
            os.link(unfinished, self.path)
        finally:
            unfinished.unlink()
            os.close(fd)
        _sync_folder(self.path.parent)
        self._counts, self._read_bytes, self._place = LedgerCounts(), 0, None

    @contextmanager
    def lock(self) -> Iterator[tuple[LedgerCounts, _Appender]]:
        """Lock the ledger against other processes and threads; yields its counts, and what appends to it.

        raises  FileNotFoundError; OSError if it cannot be written; FormatError, ParameterMismatchError or SecurityError
                for a file that is not this ledger, or not what it was
        """
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._read(fd)
            yield self._counts, _Appender(self, fd)
        finally:
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_UN)  # also for a copy of the descriptor in a forked process
            os.close(fd)

    def _read(self, fd: int) -> None:
        """Count the lines that were not read yet."""
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{self.path} is no file; a ledger of refusals is a file")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SecurityError(
                f"{self.path}: other users may write to this ledger, and so take back what it counts; `chmod 600 "
                f"{self.path}` if nobody did"
            )
        place = status.st_dev, status.st_ino
        if self._place is not None and (place != self._place or status.st_size < self._read_bytes):
            raise FormatError(
                f"{self.path} is not the ledger that this process has written to: it was replaced or cut; put it back, "
                "or make new keys"
            )
        data = os.pread(fd, status.st_size - self._read_bytes, self._read_bytes)
        if len(data) != status.st_size - self._read_bytes:
            raise OSError(errno.EIO, f"{len(data)} bytes could be read of a ledger", str(self.path))
        whole, _, torn = data.rpartition(b"\n")
        lines = whole.split(b"\n") if len(whole) < len(data) - len(torn) else []
        if self._place is None:
            if not lines:
                raise FormatError(f"{self.path} is no ledger of refusals: its first line is missing")
            self._check_head(lines.pop(0))
        self._place, self._read_bytes = place, self._read_bytes + len(data) - len(torn)
        for line in lines:
            self._counts.add(self._type_of(line))
        self._counts.is_torn = bool(torn)

    def _check_head(self, line: bytes) -> None:
        text = line.decode("ascii", "replace")
        if not text.startswith(_KIND):
            raise FormatError(f"{self.path} is no ledger of refusals: it begins with {text[:40]!r}")
        if not text.startswith(_HEAD):
            raise FormatError(
                f"{self.path} is a ledger of a version that this one does not know (it reads version {VERSION}); use "
                "a version of latticework that knows it"
            )
        if text != _HEAD + self.key_set.hex():
            raise ParameterMismatchError(
                f"{self.path} is the ledger of key set {text[len(_HEAD) :][:16]}, the secret key is of key set "
                f"{self.key_set[:8].hex()}: give the ledger that belongs to the key"
            )

    def _type_of(self, line: bytes) -> str | None:
        """The type of a line that is the next record; None for any other."""
        kind = line.split(b" ", 1)[0].decode("ascii", "replace")
        if line + b"\n" != self._line(kind, self._counts.lines + 1).encode("ascii", "replace"):
            return None
        if kind not in TYPES:
            raise FormatError(
                f"{self.path} holds a record of type {kind!r:.40}, which this version does not know; use a version of "
                "latticework that does"
            )
        return kind

    def _line(self, kind: str, number: int) -> str:
        return f"{kind} {number} {zlib.crc32(f'{self.key_set.hex()} {kind} {number}'.encode()):08x}\n"


@dataclass
class _Appender:
    """Appends records to a ledger that is locked."""

    ledger: LedgerFile
    fd: int

    def __call__(self, kind: str, *, durable: bool) -> None:
        """Append a record; if it is to be durable, it is on the disk when this returns.

        raises  OSError if it cannot be written: what there is of it counts as unreadable
        """
        counts, ledger = self.ledger._counts, self.ledger
        if counts.is_torn:
            _write(self.fd, _TORN)
            ledger._read_bytes = os.fstat(self.fd).st_size
            counts.add(None)
        counts.is_torn = True  # until the line is written
        line = ledger._line(kind, counts.lines + 1).encode()
        _write(self.fd, line)
        counts.is_torn = False
        ledger._read_bytes += len(line)
        counts.add(kind)
        if durable:
            os.fsync(self.fd)


def _write(fd: int, data: bytes) -> None:
    """All of it, or OSError."""
    while data:
        data = data[os.write(fd, data) :]


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
