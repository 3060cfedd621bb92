"""Whole vectors of a layout as small pictures: one pixel a slot, coloured by the element it holds.

A picture is an indexed PNG of a few kilobytes inside the page. Slots run row by row; those that hold nothing are
transparent.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

from latticework.errors.escaping import html_text
from latticework.report.quantities import count
from latticework.values.packing.pack import IntArray, PackMap

COLOURS = 64
MAX_VECTORS = 4
MAX_PIXELS = 1 << 16  # of a picture; of longer vectors the first slots
# From a deep blue over green to a light yellow: lightness rises with the index, so order shows without hue too.
RAMP = ((68, 85, 140), (58, 118, 145), (62, 150, 138), (112, 178, 112), (176, 199, 92), (233, 214, 107))


def colour(position: float) -> str:
    """A colour of the ramp, for a position from 0 to 1."""
    return "#" + "".join(f"{channel:02x}" for channel in _channels(position))


def _channels(position: float) -> tuple[int, int, int]:
    place = min(max(position, 0.0), 1.0) * (len(RAMP) - 1)
    left = min(int(place), len(RAMP) - 2)
    red, green, blue = (round(a + (place - left) * (b - a)) for a, b in zip(RAMP[left], RAMP[left + 1], strict=True))
    return red, green, blue


def pictures(pack: PackMap) -> str:
    """HTML of the first vectors, and how many there are."""
    drawn = min(pack.count, MAX_VECTORS)
    shown = min(pack.slots, MAX_PIXELS)
    columns = 1 << (max(shown - 1, 0).bit_length() + 1) // 2
    rows = -(-shown // columns)
    held = np.full((drawn, rows * columns), -1, dtype=np.int64)
    for vector in range(drawn):
        held[vector, :shown] = pack.elements_at(vector * pack.slots + np.arange(shown))
    numbers = levels(held)
    found = []
    for vector in range(drawn):
        label = html_text(f"vector {vector} of layout {pack}" if pack.count > 1 else f"vector of layout {pack}")
        data = base64.b64encode(png(numbers[vector].reshape(rows, columns))).decode()
        found.append(
            f'<div class="vector" role="img" aria-label="{label}" title="{label}" '
            f'style="aspect-ratio:{columns}/{rows};background-image:url(data:image/png;base64,{data})"></div>'
        )
    size = f"{rows} rows of {columns}"
    said = f"{count(pack.slots)} slots" if pack.count == 1 else f"{count(pack.count)} vectors"
    if drawn < pack.count:
        said = f"first {drawn} of {said}"
    if shown < pack.slots:
        size = f"first {size}"
    classes = "vectors" if drawn == 1 else "vectors several"
    return f'<div class="{classes}">{"".join(found)}</div><p class="soft">{said}, {size}</p>'


def levels(held: IntArray) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Numbers of colours: 0 where there is no element, else from 1 for the first of these to COLOURS for the last."""
    first, last = int(np.min(held, where=held >= 0, initial=int(held.max()))), int(held.max())
    scaled = 1 + (held - first) * (COLOURS - 1) // max(last - first, 1)
    return np.where(held < 0, 0, scaled).astype(np.uint8)


def png(numbers: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    """A picture (rows, columns) of numbers of colours; 0 is transparent."""
    rows, columns = numbers.shape
    palette = bytes((0, 0, 0)) + b"".join(bytes(_channels(i / (COLOURS - 1))) for i in range(COLOURS))
    lines = np.concatenate([np.zeros((rows, 1), dtype=np.uint8), numbers], axis=1)  # no filter on any line
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"tRNS", b"\0"),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
