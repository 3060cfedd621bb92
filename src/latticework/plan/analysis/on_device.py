"""Device memory that a server takes beyond what the same run takes on a host.

Numbers of `cpp/backend/gpu`: pieces of memory are of sizes that are an eighth of their power of two apart, what kernels
are given goes through blocks of each queue, and rotated copies of a linear transform are in scratch as far as they get
a quarter of a GPU's cache, or of 64 MiB (`gpu/batches.hpp`).
"""

from __future__ import annotations

from latticework.plan.instructions.register_kinds import CipherKind
from latticework.plan.instructions.value_shapes import (
    WORD_BYTES,
    chain_of,
    cipher_rows,
    key_digits,
    key_limbs,
    packed_row_bytes,
    row_bytes,
)
from latticework.plan.instructions.walk import Site
from latticework.plan.parameters import ModulusChain
from latticework.plan.schema.schema import Plan

BLOCKS, BLOCK_BYTES, RUN_BYTES = 16, 1 << 20, 1 << 24  # of a queue; of one; of rows of keys that are on their way
COPY_BYTES = 1 << 24  # of rotated copies at once, where one limb of all takes no more: on any GPU at most
CONVERSION_BYTES = 8 << 20  # for tables of base conversions


def in_pieces(num_bytes: int) -> int:
    """Return the bytes that `num_bytes` in several buffers take at most."""
    return num_bytes * 9 // 8


def of_pieces(num_bytes: int) -> int:
    """Return the bytes of buffers that take no more than `num_bytes`."""
    return num_bytes * 8 // 9


def queue_bytes(chain: ModulusChain) -> int:
    """Return the bytes on their way to the kernels of one run, or of one thread that reads keys."""
    return BLOCKS * max(BLOCK_BYTES, chain.ring_degree * WORD_BYTES)


def recorded_runs(plan: Plan, asked: int, most: int, left: int) -> tuple[int, int]:
    """Return how many runs go at the same time where each may be a recording, and the bytes that one may hold.

    A recording keeps its memory by size, which is more than the run needs at any moment, so that a run gets twice its
    part where two fit. Inputs and results of a run, and what is on its way, are not in its recording.

    asked  runs that have to fit;  most  that fit;  left  bytes for the values of all
    """
    code = plan.blocks[0].code
    registers = [*plan.blocks[0].arguments, *(operand.register for operand in code[-1].operands)]
    kinds = [plan.kind(register) for register in registers]
    rows = sum(cipher_rows(plan.chain, kind) * kind.count for kind in kinds if isinstance(kind, CipherKind))
    runs = max(asked, most // 2)
    return runs, max(0, left // runs - in_pieces(rows * row_bytes(plan.chain)) - queue_bytes(plan.chain))


def baby_rows(site: Site) -> int:
    """Rows of scratch for the rotated copies of a linear transform, which takes any number of keys."""
    if site.record.signature.operands != "*":
        return 0
    chain = chain_of(site.use)
    rows = 2 * len(site.record.keys(site.use))
    fitting = COPY_BYTES // max(1, rows * chain.ring_degree * WORD_BYTES)
    return rows * min(max(1, fitting), chain.num_primes)


def resident_key_bytes(plan: Plan, key_bytes: int) -> int:
    """Return the device bytes of all keys, which have `key_bytes`, and of the buffers that they come through."""
    chain = plan.chain
    stored = [
        len(key_digits(chain, key)) * sum(packed_row_bytes(chain, limb) for limb in key_limbs(chain, key))
        for key in plan.keys
    ]
    return in_pieces(key_bytes) + min(BLOCKS * RUN_BYTES, 2 * max(stored, default=0))
