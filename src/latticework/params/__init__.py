"""Parameters: prime chains, security limits, automatic selection. Security decisions live only here and in the core."""

from latticework.params.bootstrap import bootstrap_chain
from latticework.params.bootstrap_sets import BOOTSTRAP_SETS, BootstrapSet
from latticework.params.chain import BootstrapCircuit, ModulusChain, Track, next_scale
from latticework.params.explicit import GroupBits, explicit_chain
from latticework.params.security import modulus_limit_bits, security_levels, sparse_modulus_limit_bits
from latticework.params.select import MAX_SLOTS, Need, build_chain, select_chain

__all__ = [
    "BOOTSTRAP_SETS",
    "MAX_SLOTS",
    "BootstrapCircuit",
    "BootstrapSet",
    "GroupBits",
    "ModulusChain",
    "Need",
    "Track",
    "bootstrap_chain",
    "build_chain",
    "explicit_chain",
    "modulus_limit_bits",
    "next_scale",
    "security_levels",
    "select_chain",
    "sparse_modulus_limit_bits",
]
