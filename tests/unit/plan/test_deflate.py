"""The streams that plan files hold: what was put in comes out of any library, in few bytes, and no more than a bound."""

import random
import zlib

import pytest

from latticework.errors import FormatError
from latticework.plan.files import deflate as streams
from latticework.plan.files.deflate import EXPANSION, FREE_BYTES, deflate, inflate

RNG = random.Random(1)
FIBONACCI = b"".join(bytes([k]) * n for k, n in enumerate([1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987,
                                                              1597, 2584, 4181, 6765]))  # fmt: skip
DATA = {
    "nothing": b"",
    "one byte": b"a",
    "two": b"ab",
    "one byte often": bytes(70_000),
    "noise": RNG.randbytes(40_000),
    "few letters": bytes(RNG.choices(range(3), k=50_000)),
    "all bytes": bytes(range(256)) * 3,
    "rows": b"".join(b"row %d of many, " % k for k in range(4000)),
    "matches that are far": (noise := RNG.randbytes(30_000)) + noise + bytes(40_000) + noise,
    "matches of every length": b"".join(RNG.randbytes(2) + noise[:k] for k in range(3, 300)),
    "codes that would be too long": bytes(RNG.sample(list(FIBONACCI), len(FIBONACCI))),
}


@pytest.mark.parametrize("name", DATA)
def test_every_library_reads_what_is_written(name):
    data = DATA[name]
    stream = deflate(data)
    assert inflate(stream, name) == data == zlib.decompress(stream, wbits=-15) and stream == deflate(data)
    library = zlib.compressobj(9, wbits=-15)
    assert len(stream) < 1.12 * len(library.compress(data) + library.flush()) + 200


def test_pieces_are_found_among_themselves(monkeypatch):
    monkeypatch.setattr(streams, "_PIECE", 1000)
    assert inflate(deflate(DATA["rows"]), "rows") == DATA["rows"]


def test_streams_of_far_more_than_they_are_long_are_neither_read_nor_written(monkeypatch):
    data = bytes(FREE_BYTES + 1)
    packer = zlib.compressobj(9, wbits=-15)
    bomb = packer.compress(data) + packer.flush()
    assert len(bomb) * EXPANSION < len(data)
    with pytest.raises(FormatError, match=f"plan: a deflate stream .* more than {FREE_BYTES} bytes"):
        inflate(bomb, "plan")
    monkeypatch.setattr(streams, "FREE_BYTES", 1000)
    stream = deflate(DATA["one byte often"])
    assert len(stream) > 70_000 and inflate(stream, "plan") == DATA["one byte often"]


def test_what_is_no_stream_is_refused():
    stream = deflate(DATA["rows"])
    for wrong in (b"", b"\xff" * 8, stream[:-1], stream[: len(stream) // 2], stream + b"\0"):
        with pytest.raises(FormatError, match="plan: .* the file was altered"):
            inflate(wrong, "plan")
