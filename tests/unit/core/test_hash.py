"""BLAKE3, ChaCha20 and the fast checksum against published vectors and plain Python."""

import random
import struct

import pytest

from latticework import _core

# From the test vectors published with BLAKE3: input byte i is i mod 251; (hash, keyed hash), first 32 bytes.
BLAKE3_KEY = b"whats the Elvish word for friend"
BLAKE3_VECTORS = {
    0: (
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26",
    ),
    1: (
        "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
        "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b",
    ),
    63: (
        "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b",
        "bb1eb5d4afa793c1ebdd9fb08def6c36d10096986ae0cfe148cd101170ce37ae",
    ),
    64: (
        "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98",
        "ba8ced36f327700d213f120b1a207a3b8c04330528586f414d09f2f7d9ccb7e6",
    ),
    65: (
        "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee",
        "c0a4edefa2d2accb9277c371ac12fcdbb52988a86edc54f0716e1591b4326e72",
    ),
    1023: (
        "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
        "c951ecdf03288d0fcc96ee3413563d8a6d3589547f2c2fb36d9786470f1b9d6e",
    ),
    1024: (
        "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
        "75c46f6f3d9eb4f55ecaaee480db732e6c2105546f1e675003687c31719c7ba4",
    ),
    1025: (
        "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
        "357dc55de0c7e382c900fd6e320acc04146be01db6a8ce7210b7189bd664ea69",
    ),
    2048: (
        "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
        "879cf1fa2ea0e79126cb1063617a05b6ad9d0b696d0d757cf053439f60a99dd1",
    ),
    3072: (
        "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2",
        "044a0e7b172a312dc02a4c9a818c036ffa2776368d7f528268d2e6b5df191770",
    ),
    31744: (
        "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47",
        "efa53b389ab67c593dba624d898d0f7353ab99e4ac9d42302ee64cbf9939a419",
    ),
    102400: (
        "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
        "1c35d1a5811083fd7119f5d5d1ba027b4d01c0c6c49fb6ff2cf75393ea5db4a7",
    ),
}

# RFC 8439, appendix A.1, vectors 1 to 4 (those with a zero nonce): key, block counter, keystream block.
CHACHA20_VECTORS = [
    (
        bytes(32),
        0,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        bytes(31) + b"\x01",
        1,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
        "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
]


def pattern(size):
    return bytes(i % 251 for i in range(size))


@pytest.mark.parametrize("size", BLAKE3_VECTORS)
def test_blake3_matches_the_published_vectors(size):
    plain, keyed = BLAKE3_VECTORS[size]
    assert _core.blake3(pattern(size)).hex() == plain
    assert _core.blake3_keyed(BLAKE3_KEY, pattern(size)).hex() == keyed


def test_blake3_matches_another_implementation_at_many_lengths():
    oracle = pytest.importorskip("blake3").blake3
    rng = random.Random(1)
    lengths = [*range(130), *(1024 * k + d for k in range(1, 18) for d in (-1, 0, 1)), 100_000, 300_001]
    for size in lengths:
        data = rng.randbytes(size)
        key = rng.randbytes(32)
        assert _core.blake3(data) == oracle(data).digest(), size
        assert _core.blake3_keyed(key, data) == oracle(data, key=key).digest(), size


@pytest.mark.parametrize("vectors", _core.vector_sets())
def test_vectors_and_parts_change_no_hash(vectors):
    """Whatever is hashed at a time: the vectors of every instruction set, subtrees of every size, and where one begins."""
    rng = random.Random(5)
    sizes = [*(1024 * k + d for k in range(1, 35) for d in (-1, 0, 1)), 65_536, 65_537, 150_000, 200_001]
    for size in [*sizes, *(rng.randrange(1, 150_000) for _ in range(10))]:
        data = rng.randbytes(size)
        cuts = sorted(rng.randrange(size + 1) for _ in range(rng.randrange(5)))
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
        expected = whole_hash(data)
        assert _core.blake3(data, vectors) == expected, size
        assert _core.blake3_of_parts(parts, vectors) == expected, (size, cuts)


def whole_hash(data):
    """The tree of BLAKE3 as it is specified, its compressions made one by one: parts that are never more than a chunk
    meet no vector. The published vectors are what holds them."""
    return _core.blake3_of_parts([data[i : i + 1000] for i in range(0, len(data), 1000)], "generic")


def test_vectors_that_a_machine_lacks_are_refused():
    assert _core.vector_sets()[0] == "generic"
    with pytest.raises(ValueError, match="no vectors 'none'"):
        _core.blake3(b"", "none")


def test_hashes_take_any_contiguous_bytes_and_refuse_short_keys():
    data = pattern(3000)
    assert _core.blake3(bytearray(data)) == _core.blake3(memoryview(data)) == _core.blake3(data)
    with pytest.raises(ValueError, match="expected 32 bytes, got 31"):
        _core.blake3_keyed(bytes(31), data)
    with pytest.raises(TypeError):
        _core.blake3("text")


@pytest.mark.parametrize("key, counter, block", CHACHA20_VECTORS)
def test_chacha20_matches_rfc_8439(key, counter, block):
    assert _core.chacha20_keystream(key, counter, 64).hex() == block


def chacha20_block(key, counter):
    """RFC 8439, section 2.3, with a zero nonce."""
    initial = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key), counter, 0, 0, 0]
    x = list(initial)

    def quarter_round(a, b, c, d):
        for target, source, mixed, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[target] = (x[target] + x[source]) & 0xFFFFFFFF
            word = x[mixed] ^ x[target]
            x[mixed] = (word << bits | word >> (32 - bits)) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter_round(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter_round(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(x, initial, strict=True)))


@pytest.mark.parametrize("vectors", _core.vector_sets())
def test_chacha20_streams_of_any_length_and_counter(vectors):
    rng = random.Random(2)
    for size in (0, 1, 63, 64, 65, 255, 256, 257, 1000, 1024, 1024 + 512 + 256 + 63, 3000):
        key, counter = rng.randbytes(32), rng.randrange(2**31)
        blocks = b"".join(chacha20_block(key, counter + i) for i in range(size // 64 + 1))
        assert _core.chacha20_keystream(key, counter, size, vectors) == blocks[:size]


def test_chacha20_never_repeats_a_block():
    last = 2**32 - 1
    assert _core.chacha20_keystream(bytes(32), last, 64) == chacha20_block(bytes(32), last)
    with pytest.raises(ValueError, match="end of the stream"):
        _core.chacha20_keystream(bytes(32), last, 65)


def fast_sum(data):
    """The definition in cpp/math/fast_sum.hpp."""

    def step(lane, word):
        product = (lane ^ word) * 0x9E3779B97F4A7C15 % 2**64
        return (product << 29 | product >> 35) % 2**64

    lanes = [1, 2, 3, 4]
    padded = data + bytes(-len(data) % 32)
    for i, (word,) in enumerate(struct.iter_unpack("<Q", padded)):
        lanes[i % 4] = step(lanes[i % 4], word)
    total = step(0, len(data))
    for lane in lanes:
        total = step(total, lane)
    return total


def test_fast_sum_matches_its_definition():
    rng = random.Random(3)
    for size in (0, 1, 7, 8, 31, 32, 33, 64, 100, 1000):
        data = rng.randbytes(size)
        assert _core.fast_sum(data) == fast_sum(data)


def test_fast_sum_sees_every_change_inside_one_word():
    rng = random.Random(4)
    data = rng.randbytes(200)
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        assert _core.fast_sum(changed) != _core.fast_sum(data), bit
    for word in range(0, len(data), 8):
        changed = data[:word] + rng.randbytes(8) + data[word + 8 :]
        assert _core.fast_sum(changed) != _core.fast_sum(data), word
