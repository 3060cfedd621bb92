"""Parameters: prime chains, security limits, automatic selection. Security decisions live only here and in the core."""

from latticework.plan.parameters.bootstrap_chain import bootstrap_chain
from latticework.plan.parameters.bootstrap_planning import (
    bootstrapping_rings,
    find_set,
    most_levels_left,
    plan_bootstrap_set,
)
from latticework.plan.parameters.bootstrap_sets import BOOTSTRAP_SETS, BootstrapSet
from latticework.plan.parameters.explicit import GroupBits, explicit_chain
from latticework.plan.parameters.modulus_chain import BootstrapCircuit, ModulusChain, Track, next_scale
from latticework.plan.parameters.security import modulus_limit_bits, security_levels, sparse_modulus_limit_bits
from latticework.plan.parameters.select import (
    MAX_RING_LOG2,
    MAX_SLOTS,
    Need,
    TooDeepError,
    build_chain,
    levels_held,
    ring_that_holds,
    select_chain,
)
from latticework.plan.parameters.stated_primes import PrimeRequest

__all__ = [
    "BOOTSTRAP_SETS",
    "MAX_RING_LOG2",
    "MAX_SLOTS",
    "BootstrapCircuit",
    "BootstrapSet",
    "GroupBits",
    "ModulusChain",
    "Need",
    "PrimeRequest",
    "TooDeepError",
    "Track",
    "bootstrap_chain",
    "bootstrapping_rings",
    "build_chain",
    "explicit_chain",
    "find_set",
    "levels_held",
    "modulus_limit_bits",
    "most_levels_left",
    "next_scale",
    "plan_bootstrap_set",
    "ring_that_holds",
    "security_levels",
    "select_chain",
    "sparse_modulus_limit_bits",
]
