"""ChaCha20 (RFC 8439), one-block keyed BLAKE3, and the uniform expansion built of them, in plain Python."""

import struct

MASK = 2**32 - 1
DIAGONAL_STEPS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONAL_STEPS += ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def rotate_left(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (32 - bits))) & MASK


def chacha20_block(key: bytes, counter: int) -> bytes:
    start = [*struct.unpack("<4I", b"expand 32-byte k"), *struct.unpack("<8I", key), counter, 0, 0, 0]
    s = list(start)
    for _ in range(10):
        for a, b, c, d in DIAGONAL_STEPS:
            for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                s[x] = (s[x] + s[y]) & MASK
                s[z] = rotate_left(s[z] ^ s[x], turn)
    return struct.pack("<16I", *((x + y) & MASK for x, y in zip(s, start, strict=True)))


BLAKE3_IV = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
BLAKE3_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)


def blake3_keyed(key: bytes, message: bytes) -> bytes:
    """The keyed hash of at most 64 bytes: one compression."""
    chunk_start, chunk_end, root, keyed_hash = 1, 2, 8, 16
    assert len(message) <= 64
    block = list(struct.unpack("<16I", message.ljust(64, b"\0")))
    flags = chunk_start | chunk_end | root | keyed_hash
    s = [*struct.unpack("<8I", key), *BLAKE3_IV[:4], 0, 0, len(message), flags]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(DIAGONAL_STEPS):
            for m, turns in ((block[2 * i], (16, 20)), (block[2 * i + 1], (24, 25))):
                s[a] = (s[a] + s[b] + m) & MASK
                s[d] = rotate_left(s[d] ^ s[a], turns[0])
                s[c] = (s[c] + s[d]) & MASK
                s[b] = rotate_left(s[b] ^ s[c], turns[1])
        block = [block[i] for i in BLAKE3_ORDER]
    return struct.pack("<8I", *(s[i] ^ s[i + 8] for i in range(8)))


def uniform_row(
    seed: bytes, domain: int, object_number: int, digit: int, limb: int, prime: int, degree: int
) -> tuple[list[int], int]:
    """The residues of one limb, and the largest round that any of them needed."""

    def words(round_number: int) -> tuple[int, ...]:
        key = blake3_keyed(seed, struct.pack("<IQIII", domain, object_number, digit, limb, round_number))
        stream = b"".join(chacha20_block(key, i) for i in range(degree // 8))
        return struct.unpack(f"<{degree}Q", stream)

    limit = 2**64 // prime * prime
    residues, missing, round_number = [0] * degree, list(range(degree)), -1
    while missing:
        round_number += 1
        drawn = words(round_number)
        for i in missing:
            residues[i] = drawn[i] % prime
        missing = [i for i in missing if drawn[i] >= limit]
    return residues, round_number
