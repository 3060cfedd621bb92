"""Deflate (RFC 1951): the same bytes of the same data with every build of every library, and a bounded way back.

What a library's compressor writes changes with its version, and plans have to be the same bytes everywhere; so the
stream is written here. Any library reads it.
Source: matches by ranks of substrings, doubled in length as for suffix arrays (Karp, Miller and Rosenberg, 1972).
"""

from __future__ import annotations

import heapq
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from latticework.errors import FormatError

Ints = npt.NDArray[np.int64]

FREE_BYTES = 1 << 22  # that a stream may become, however short it is;  EXPANSION: times its own bytes, if that is more
EXPANSION = 16
_WINDOW, _LEAST, _LONGEST = 1 << 15, 3, 258  # how far back a match may lie, and bytes of one
_PIECE = 1 << 20  # bytes among which matches are found, so that memory is bounded
_TOKENS = 1 << 14  # of a block
_DEEPEST = 15  # bits of a code
_END = 256  # symbol of a block's end
_LENGTH_BITS = np.array([0] * 8 + [k for k in range(1, 6) for _ in range(4)] + [0])
_LENGTHS = np.array([*(3 + np.cumsum([0, *(1 << _LENGTH_BITS[:27])])), 258])
_FAR_BITS = np.array([0, 0, *(k for k in range(14) for _ in range(2))])
_FAR = 1 + np.cumsum([0, *(1 << _FAR_BITS[:29])])
_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)


def deflate(data: bytes) -> bytes:
    """The stream of some bytes, of which `inflate` makes them again; stored as they are, where it is far shorter."""
    pieces = [_tokens(data[i : i + _PIECE]) for i in range(0, len(data), _PIECE)] or [_tokens(b"")]
    lengths, distances = (np.concatenate(column) for column in zip(*pieces, strict=True))
    blocks = [slice(start, start + _TOKENS) for start in range(0, len(lengths), _TOKENS)] or [slice(0)]
    bits = [_block(lengths[b], distances[b], is_last=b is blocks[-1]) for b in blocks]
    packed = np.packbits(np.concatenate(bits), bitorder="little").tobytes()
    return packed if len(data) <= _most(packed) else _write_stored(data)


def inflate(data: bytes, name: str) -> bytes:
    """The bytes of a stream.

    raises  FormatError where it is none, or becomes far longer than it is
    """
    reader = zlib.decompressobj(wbits=-15)
    try:
        found = reader.decompress(data, _most(data))
    except zlib.error as error:
        raise FormatError(f"{name}: no deflate stream: {error}; the file was altered") from None
    if reader.unconsumed_tail or not reader.eof or reader.unused_data:
        raise FormatError(f"{name}: a deflate stream that does not end with its section, or is of more than "
                          f"{_most(data)} bytes; the file was altered")  # fmt: skip
    return found


def _most(data: bytes) -> int:
    return max(FREE_BYTES, EXPANSION * len(data))


def _write_stored(data: bytes) -> bytes:
    parts = [data[i : i + 0xFFFF] for i in range(0, len(data), 0xFFFF)]
    sizes = [len(part).to_bytes(2, "little") + (0xFFFF - len(part)).to_bytes(2, "little") for part in parts]
    last = len(parts) - 1
    return b"".join(bytes([i == last]) + size + part for i, (size, part) in enumerate(zip(sizes, parts, strict=True)))


def _tokens(data: bytes) -> tuple[Ints, Ints]:
    """Lengths and distances of matches, and literals: their byte, and distance 0. A match waits for a longer one."""
    reach, back = (values.tolist() for values in _matches(np.frombuffer(data, dtype=np.uint8).astype(np.int64)))
    lengths, distances = [], []
    place = 0
    while place < len(data):
        length = reach[place]
        if length >= _LEAST and reach[place + 1] <= length:
            lengths.append(length)
            distances.append(back[place])
            place += length
        else:
            lengths.append(data[place])
            distances.append(0)
            place += 1
    return np.array(lengths, dtype=np.int64), np.array(distances, dtype=np.int64)


def _matches(data: Ints) -> tuple[Ints, Ints]:
    """Lengths of the longest matches found at every place (and 0 at the end), and how far back they lie."""
    size = len(data)
    reach, back = np.zeros(size + 1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    ranks, width = data, 1
    while width < _LONGEST and len(ranks):
        step = 2 if width == 2 else 1  # substrings of 1, 2, 3, 4, 7, 14, ... bytes: each from two of the one before
        step = min(width, 3 if width == 4 else step if width < 4 else width)
        ranks = np.unique(ranks[: max(len(ranks) - step, 0)] * (size + 256) + ranks[step:], return_inverse=True)[1]
        width += step
        if width < _LEAST:
            continue
        order = np.argsort(ranks, kind="stable")
        same = np.flatnonzero(ranks[order[1:]] == ranks[order[:-1]])
        here, before = order[same + 1], order[same]
        near = here - before <= _WINDOW
        if not near.any():
            break
        reach[here[near]], back[here[near]] = min(width, _LONGEST), (here - before)[near]
    longer = np.flatnonzero((reach >= _LEAST) & (reach < _LONGEST))
    while len(longer):
        longer = longer[longer + reach[longer] < size]
        ends = longer + reach[longer]
        longer = longer[data[ends] == data[ends - back[longer]]]
        reach[longer] += 1
        longer = longer[reach[longer] < _LONGEST]
    return reach, back


def _block(lengths: Ints, distances: Ints, *, is_last: bool) -> npt.NDArray[np.uint8]:
    """The bits of a block with codes of its own, the first bit first."""
    is_match = distances > 0
    kinds = np.where(is_match, np.searchsorted(_LENGTHS, lengths, side="right") - 1, 0)
    fars = np.where(is_match, np.searchsorted(_FAR, distances, side="right") - 1, 0)
    symbols = np.append(np.where(is_match, 257 + kinds, lengths), _END)
    literal_sizes, far_sizes = _sizes(np.bincount(symbols, minlength=257)), _sizes(np.bincount(fars[is_match]))
    literal_codes, far_codes = _codes(literal_sizes), _codes(far_sizes)
    fields = [
        (literal_codes[symbols], literal_sizes[symbols]),
        *(
            (np.append(np.where(is_match, value, 0), 0), np.append(np.where(is_match, bits, 0), 0))
            for value, bits in (
                (lengths - _LENGTHS[kinds], _LENGTH_BITS[kinds]),
                (far_codes[fars], far_sizes[fars]),
                (distances - _FAR[fars], _FAR_BITS[fars]),
            )
        ),
    ]
    value, size = np.zeros(len(symbols), dtype=np.int64), np.zeros(len(symbols), dtype=np.int64)
    for code, bits in fields:
        value |= code << size
        size += bits
    return np.concatenate([_head(literal_sizes, far_sizes, is_last), _bits(value, size)])


def _head(literal_sizes: Ints, far_sizes: Ints, is_last: bool) -> npt.NDArray[np.uint8]:
    """Bits that tell the sizes of a block's codes."""
    listed = np.concatenate([literal_sizes, far_sizes])
    sizes = _sizes(np.bincount(listed, minlength=19), 7)
    codes = _codes(sizes)
    ordered = sizes[list(_ORDER)]
    used = max(4, int(np.flatnonzero(ordered)[-1]) + 1)
    numbers = [int(is_last), 2, len(literal_sizes) - 257, len(far_sizes) - 1, used - 4, *ordered[:used]]
    widths = [1, 2, 5, 5, 4, *[3] * used]
    return np.concatenate([_bits(np.array(numbers), np.array(widths)), _bits(codes[listed], sizes[listed])])


def _bits(values: Ints, sizes: Ints) -> npt.NDArray[np.uint8]:
    """The bits of numbers one after the other, of each the lowest first."""
    which = np.repeat(np.arange(len(values)), sizes)
    inside = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ((values[which] >> inside) & 1).astype(np.uint8)


def _sizes(counts: Ints, deepest: int = _DEEPEST) -> Ints:
    """Bits of the code of each symbol (Huffman): 0 for those that do not occur; at least two symbols have one."""
    counts = np.append(counts, [0] * (2 - len(counts))) if len(counts) < 2 else counts.copy()
    for symbol in (0, 1):
        counts[symbol] = max(counts[symbol], int(np.count_nonzero(counts) < 2))
    while True:
        sizes = np.zeros(len(counts), dtype=np.int64)
        heap: list[tuple[int, int, list[Any]]] = [(int(counts[s]), int(s), [s]) for s in np.flatnonzero(counts)]
        heapq.heapify(heap)
        while len(heap) > 1:
            (few, _, some), (more, number, others) = heapq.heappop(heap), heapq.heappop(heap)
            sizes[some + others] += 1
            heapq.heappush(heap, (few + more, number + len(counts), some + others))
        if sizes.max() <= deepest:
            return sizes
        counts = np.where(counts > 0, (counts + 1) // 2, 0)  # nearer to each other, so that codes are


def _codes(sizes: Ints) -> Ints:
    """The code of each symbol, its bits in the order in which they are read: ascending by size, then by symbol."""
    codes = np.zeros(len(sizes), dtype=np.int64)
    code, before = 0, 0
    for symbol in np.lexsort((np.arange(len(sizes)), sizes)):
        size = int(sizes[symbol])
        if size:
            code <<= size - before
            codes[symbol] = int(f"{code:0{size}b}"[::-1], 2)
            code, before = code + 1, size
    return codes
