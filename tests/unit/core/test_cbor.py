"""Deterministic CBOR: the vectors of RFC 8949, one encoding per value, and nothing else accepted."""

import math
import random
import struct

import pytest

from latticework import _core
from latticework.errors import FormatError

# RFC 8949, appendix A, as far as the subset goes. Floats of the subset are always eight bytes long.
VECTORS = [
    (0, "00"),
    (1, "01"),
    (10, "0a"),
    (23, "17"),
    (24, "1818"),
    (25, "1819"),
    (100, "1864"),
    (1000, "1903e8"),
    (1000000, "1a000f4240"),
    (1000000000000, "1b000000e8d4a51000"),
    (18446744073709551615, "1bffffffffffffffff"),
    (-1, "20"),
    (-10, "29"),
    (-100, "3863"),
    (-1000, "3903e7"),
    (-(2**63), "3b7fffffffffffffff"),
    (1.1, "fb3ff199999999999a"),
    (-4.1, "fbc010666666666666"),
    (1.0e300, "fb7e37e43c8800759c"),
    (1.0, "fb3ff0000000000000"),
    (-0.0, "fb8000000000000000"),
    (math.inf, "fb7ff0000000000000"),
    (-math.inf, "fbfff0000000000000"),
    (False, "f4"),
    (True, "f5"),
    (None, "f6"),
    (b"", "40"),
    (b"\x01\x02\x03\x04", "4401020304"),
    ("", "60"),
    ("a", "6161"),
    ("IETF", "6449455446"),
    ('"\\', "62225c"),
    ("\u00fc", "62c3bc"),
    ("\u6c34", "63e6b0b4"),
    ("\U00010151", "64f0908591"),
    ([], "80"),
    ([1, 2, 3], "83010203"),
    ([1, [2, 3], [4, 5]], "8301820203820405"),
    (list(range(1, 26)), "98190102030405060708090a0b0c0d0e0f101112131415161718181819"),
    ({}, "a0"),
    ({"a": 1, "b": [2, 3]}, "a26161016162820203"),
    (["a", {"b": "c"}], "826161a161626163"),
    ({"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}, "a56161614161626142616361436164614461656145"),
]


@pytest.mark.parametrize("value, encoded", VECTORS, ids=[encoded[:24] for _, encoded in VECTORS])
def test_vectors_of_the_rfc(value, encoded):
    assert _core.cbor_encode(value).hex() == encoded
    decoded = _core.cbor_decode(bytes.fromhex(encoded))
    assert decoded == value
    assert type(decoded) is type(value)


def test_nan_has_one_encoding():
    negative_nan = struct.unpack(">d", bytes.fromhex("fff8000000000000"))[0]
    assert _core.cbor_encode(math.nan) == _core.cbor_encode(negative_nan) == bytes.fromhex("fb7ff8000000000000")
    assert math.isnan(_core.cbor_decode(bytes.fromhex("fb7ff8000000000000")))


def test_map_keys_are_ordered_as_encoded_whatever_the_order_given():
    keys = ["", "b", "aa", "\u00fc", "z" * 23, "a" * 24, "c" * 256]
    expected = sorted(keys, key=_core.cbor_encode)
    rng = random.Random(1)
    for _ in range(20):
        rng.shuffle(keys)
        encoded = _core.cbor_encode({key: len(key) for key in keys})
        assert list(_core.cbor_decode(encoded)) == expected
        assert encoded == _core.cbor_encode({key: len(key) for key in sorted(keys)})


def random_value(rng, depth):
    kinds = ["null", "bool", "int", "float", "bytes", "text"] + (["list", "dict"] if depth < 4 else [])
    match rng.choice(kinds):
        case "null":
            return None
        case "bool":
            return rng.random() < 0.5
        case "int":
            return rng.randrange(-(2**63), 2**64) >> rng.randrange(64)
        case "float":
            return rng.uniform(-1, 1) * 2.0 ** rng.randrange(-1000, 1000)
        case "bytes":
            return rng.randbytes(rng.randrange(40))
        case "text":
            return "".join(rng.choice("ab\u00fc\u6c34\U00010151") for _ in range(rng.randrange(40)))
        case "list":
            return [random_value(rng, depth + 1) for _ in range(rng.randrange(30))]
        case _:
            return {f"key{rng.randrange(1000)}": random_value(rng, depth + 1) for _ in range(rng.randrange(30))}


def test_decode_inverts_encode():
    rng = random.Random(2)
    for _ in range(300):
        value = random_value(rng, 0)
        assert _core.cbor_decode(_core.cbor_encode(value)) == value


def test_whatever_is_accepted_is_the_one_encoding_of_its_value():
    rng = random.Random(3)
    accepted = 0
    for _ in range(3000):
        mutated = bytearray(_core.cbor_encode(random_value(rng, 2))[:60] or b"\0")
        mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        try:
            value = _core.cbor_decode(mutated)
        except FormatError:
            continue
        accepted += 1
        assert _core.cbor_encode(value) == mutated
    assert accepted > 100


REFUSED = {
    "empty": "",
    "17 in two bytes": "1811",
    "24 in three bytes": "190018",
    "256 in five bytes": "1a00000100",
    "2^16 in nine bytes": "1b0000000000010000",
    "-1 in two bytes": "3800",
    "length in two bytes": "580101",
    "integer below -2^63": "3b8000000000000000",
    "integer without its bytes": "19ff",
    "float16": "f93c00",
    "float32": "fa47c35000",
    "another nan": "fb7ff8000000000001",
    "negative nan": "fbfff8000000000000",
    "undefined": "f7",
    "simple value": "f0",
    "simple value in two bytes": "f818",
    "reserved head": "1c",
    "indefinite array": "9fff",
    "indefinite map": "bfff",
    "indefinite text": "7f6161ff",
    "indefinite bytes": "5f4101ff",
    "break": "ff",
    "tag": "c11a514b67b0",
    "bignum": "c249010000000000000000",
    "trailing byte": "0000",
    "two values": "8001",
    "short bytes": "430102",
    "short text": "626a",
    "short array": "830102",
    "short map": "a26161",
    "map without value": "a16161",
    "integer key": "a10102",
    "bytes key": "a1416101",
    "repeated key": "a2616101616102",
    "keys out of order": "a2616201616101",
    "longer key first": "a262616101616202",
    "overlong utf-8": "62c080",
    "overlong utf-8 in three": "63e08080",
    "surrogate": "63eda080",
    "above U+10FFFF": "64f4908080",
    "cut utf-8": "61c3",
    "stray continuation": "6180",
    "bad continuation": "62c341",
}


@pytest.mark.parametrize("encoded", REFUSED.values(), ids=REFUSED.keys())
def test_everything_else_is_refused(encoded):
    with pytest.raises(FormatError, match=r"^cbor: byte \d+: "):
        _core.cbor_decode(bytes.fromhex(encoded))


def test_announced_lengths_beyond_the_input_are_found_before_any_work():
    for head in (0x5B, 0x7B, 0x9B, 0xBB):
        for length in (2**62, 2**64 - 1, 2**32, 100):
            shortest = struct.pack(">Q", length) if length >= 2**32 else None
            encoded = bytes([head]) + shortest if shortest else bytes([head - 3, length])
            with pytest.raises(FormatError, match=rf"{length} (bytes|items) are announced"):
                _core.cbor_decode(encoded + bytes(20))
    nested_false_counts = b"\x9a\x00\x01\x00\x00" * 31 + bytes(70_000)
    with pytest.raises(FormatError):
        _core.cbor_decode(nested_false_counts)


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_nesting_ends_at_32():
    assert _core.cbor_decode(_core.cbor_encode(nested(32))) == nested(32)
    with pytest.raises(ValueError, match="more than 32"):
        _core.cbor_encode(nested(33))
    with pytest.raises(FormatError, match="more than 32"):
        _core.cbor_decode(b"\x81" * 32 + b"\x80")
    with pytest.raises(FormatError, match="more than 32"):
        _core.cbor_decode(b"\x81" * 1_000_000)
    cyclic = []
    cyclic.append(cyclic)
    with pytest.raises(ValueError, match="more than 32"):
        _core.cbor_encode(cyclic)


def test_python_types_at_the_border():
    numpy = pytest.importorskip("numpy")
    assert _core.cbor_encode((1, 2)) == _core.cbor_encode([1, 2])
    assert _core.cbor_encode(bytearray(b"x")) == _core.cbor_encode(memoryview(b"x")) == _core.cbor_encode(b"x")
    assert _core.cbor_encode(numpy.int64(-5)) == _core.cbor_encode(-5)
    assert _core.cbor_encode(numpy.float64(0.5)) == _core.cbor_encode(0.5)
    for outside in (2**64, -(2**63) - 1, 10**100):
        with pytest.raises(ValueError, match="outside"):
            _core.cbor_encode(outside)
    with pytest.raises(TypeError, match="set"):
        _core.cbor_encode({1, 2})
    with pytest.raises(TypeError, match="keys"):
        _core.cbor_encode({1: 2})
    with pytest.raises(UnicodeEncodeError):
        _core.cbor_encode("\ud800")
