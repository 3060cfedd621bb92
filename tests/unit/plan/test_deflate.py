"""The streams that plan files hold: what was put in comes out of any library, in few bytes, and no more than a bound."""

import random
import zlib

import pytest

from latticework.errors import FormatError
from latticework.plan.files import deflate as streams
from latticework.plan.files.deflate import EXPANSION, FREE_BYTES, deflate, inflate

RNG = random.Random(1)
DATA = {
    "nothing": b"",
    "one byte often": bytes(70_000),
    "noise": RNG.randbytes(40_000),
    "rows": b"".join(b"row %d of many, " % k for k in range(4000)),
}


@pytest.mark.parametrize("name", DATA)
def test_what_is_written_is_read(name):
    data = DATA[name]
    stream = deflate(data)
    assert inflate(stream, name) == data and stream == deflate(data)
    assert len(stream) < len(data) // 4 or name in ("nothing", "noise")


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
