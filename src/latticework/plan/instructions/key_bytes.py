"""The size of an evaluation key, from its level and the chain."""

from __future__ import annotations

from latticework.plan.instructions.value_shapes import key_digits, key_limbs, packed_row_bytes
from latticework.plan.parameters import ModulusChain
from latticework.values.packing.key_manifest import KeySpec

SEED_BYTES = 32


def stored_bytes(key: KeySpec, chain: ModulusChain) -> int:
    """Bytes of a key in a file: a seed and its `b` halves, bit-packed."""
    packed = sum(packed_row_bytes(chain, limb) for limb in key_limbs(chain, key))
    return SEED_BYTES + len(key_digits(chain, key)) * packed


def resident_bytes(key: KeySpec, chain: ModulusChain) -> int:
    """Bytes of a key in memory: both halves as 64-bit words."""
    return 2 * len(key_digits(chain, key)) * len(key_limbs(chain, key)) * chain.ring_degree * 8
