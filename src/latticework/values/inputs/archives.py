"""Archives that somebody else made: what they unpack to is known before any of it is unpacked."""

from __future__ import annotations

import io
import zlib
from copy import copy
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from latticework.errors import FormatError
from latticework.values.inputs.reading_budget import ReadingLimits, limit_remedy

MOST_ENTRIES = 50_000
_AT_ONCE = 1 << 20
_FAULTS = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError, OverflowError)


def check_archive(data: bytes | IO[bytes], name: str, limits: ReadingLimits, size: int) -> None:
    """FormatError for a zip archive that unpacks to more than is allowed, or to something else than it declares.

    data   the archive, or a file that it can be read from;  size  of it, in bytes
    Entries are stored or deflated. Each is unpacked once in pieces, of which none is kept: a directory may declare a
    few bytes where there are gigabytes, and what reads an entry as a whole would make all of them.
    """
    most = limits.memory_bytes + 2 * size
    try:
        with ZipFile(io.BytesIO(data) if isinstance(data, bytes) else data) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise FormatError(f"{name} has {len(entries)} entries; at most {MOST_ENTRIES} are read")
            total = sum(entry.file_size for entry in entries)
            if total > most:
                raise FormatError(f"{name} unpacks to {total} bytes, more than {most}: {limit_remedy('memory_bytes')}")
            if len({entry.filename for entry in entries}) < len(entries):
                raise FormatError(f"{name} has two entries of one name; it is damaged")
            for entry in entries:
                _check_entry(archive, entry, name)
    except FormatError:
        raise
    except BadZipFile as error:
        raise FormatError(f"{name} is no zip archive, or a damaged one: {error}") from None
    except _FAULTS as error:
        raise FormatError(f"{name} cannot be unpacked: {type(error).__name__}: {error}; it is damaged") from None


def _check_entry(archive: ZipFile, entry: ZipInfo, name: str) -> None:
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or entry.flag_bits & 1:
        raise FormatError(f"{name}: {entry.filename} is encrypted, or compressed by a method that is not read")
    declared, unpacked = entry.file_size, 0
    longer = copy(entry)
    longer.file_size = declared + 1  # else what is there beyond is not told
    with archive.open(longer) as file:
        while piece := file.read(_AT_ONCE):
            unpacked += len(piece)
            if unpacked > declared:
                break
    if unpacked != declared:
        raise FormatError(f"{name}: {entry.filename} does not unpack to the {declared} bytes declared; it is damaged")
