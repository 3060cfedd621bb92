"""A modulus chain as the core's parameters."""

from __future__ import annotations

from functools import lru_cache

from latticework.plan.parameters.modulus_chain import ModulusChain
from latticework.values.extension import _core


@lru_cache(maxsize=16)
def core_parameters(chain: ModulusChain, number: int = 0) -> _core.Parameters:
    """The core's object of the same parameters; its `fingerprint` names them in every file.

    number  of the plaintext modulus, where there are several: the fingerprint is that of the first, for keys and
            ciphertexts are the same for all
    """
    if number:
        return core_parameters(chain).with_plain_modulus(chain.plain_moduli[number])
    return _core.Parameters(
        ring_degree=chain.ring_degree,
        q=list(chain.primes),
        p=list(chain.special),
        digits=[list(d) for d in chain.digits],
        tracks=[{"groups": [list(g) for g in t.groups], "scales": list(t.scales)} for t in chain.tracks],
        security_bits=chain.security_bits,
        insecure=chain.insecure,
        plain_modulus=chain.plain_modulus,
        secret=chain.secret,
        secret_weight=chain.secret_weight,
        low_p=list(chain.low_special),
        gadgets=[
            {"limbs": g.limbs, "num_special": g.num_special, "digits": [list(d) for d in g.digits]}
            for g in chain.gadgets
        ],
    )


def fingerprint(chain: ModulusChain) -> bytes:
    """32 bytes that name the parameters."""
    return bytes(core_parameters(chain).fingerprint)
