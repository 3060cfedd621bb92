"""Parameters: prime chains, security limits, automatic selection. Security decisions live only here and in the core."""

from latticework.params.chain import ModulusChain, Track, next_scale
from latticework.params.explicit import GroupBits, explicit_chain
from latticework.params.security import modulus_limit_bits, security_levels, sparse_modulus_limit_bits
from latticework.params.select import MAX_SLOTS, Need, build_chain, select_chain

__all__ = [
    "MAX_SLOTS",
    "GroupBits",
    "ModulusChain",
    "Need",
    "Track",
    "build_chain",
    "explicit_chain",
    "modulus_limit_bits",
    "next_scale",
    "security_levels",
    "select_chain",
    "sparse_modulus_limit_bits",
]
