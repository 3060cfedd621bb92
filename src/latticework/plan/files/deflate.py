"""Deflate (RFC 1951) of what plan files hold, and a bounded way back.

A library's compressor may write other bytes in another version; what plans are named by (`serialise.plan_id`) is hashes
of what is compressed.
"""

from __future__ import annotations

import zlib

from latticework.errors import FormatError

FREE_BYTES = 1 << 22  # that a stream may become, however short it is;  EXPANSION: times its own bytes, if that is more
EXPANSION = 16
_BARE = -15  # a stream without header or checksum, which the container has


def deflate(data: bytes) -> bytes:
    """The stream of some bytes, of which `inflate` makes them again; stored as they are, where it is far shorter."""
    packed = _write(data, 9)
    return packed if len(data) <= _most(packed) else _write(data, 0)


def inflate(data: bytes, name: str) -> bytes:
    """The bytes of a stream.

    raises  FormatError where it is none, or becomes far longer than it is
    """
    reader = zlib.decompressobj(wbits=_BARE)
    try:
        found = reader.decompress(data, _most(data))
    except zlib.error as error:
        raise FormatError(f"{name}: no deflate stream: {error}; the file was altered") from None
    if reader.unconsumed_tail or not reader.eof or reader.unused_data:
        raise FormatError(f"{name}: a deflate stream that does not end with its section, or is of more than "
                          f"{_most(data)} bytes; the file was altered")  # fmt: skip
    return found


def _write(data: bytes, level: int) -> bytes:
    writer = zlib.compressobj(level, wbits=_BARE)
    return writer.compress(data) + writer.flush()


def _most(data: bytes) -> int:
    return max(FREE_BYTES, EXPANSION * len(data))
