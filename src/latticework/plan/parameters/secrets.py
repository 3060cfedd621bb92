"""The distributions of secret keys: which there are, and how large a modulus each secures."""

from __future__ import annotations

from math import log2
from typing import Any

from latticework.errors import RangeError, SecurityError
from latticework.plan.parameters.modulus_chain import GAUSSIAN, TERNARY, ModulusChain
from latticework.plan.parameters.security import sparse_modulus_limit_bits
from latticework.values.extension import _core


def check_secret(secret: Any, weight: Any, ring_degree: int) -> tuple[str, int]:
    """A distribution and weight as a chain has them; RangeError for what there is not."""
    if not isinstance(secret, str) or secret not in (TERNARY, GAUSSIAN):
        raise RangeError(
            f'Parameters: secret={secret!r:.60}; choose "ternary" (uniform, or with secret_weight=h of that weight) '
            'or "gaussian" (distributed as errors are)'
        )
    if weight is None:
        return secret, 0
    if type(weight) is not int or not 1 <= weight <= ring_degree or secret != TERNARY:
        raise RangeError(
            f"Parameters: secret_weight={weight!r:.60} with secret={secret!r}; give a whole number from 1 to N = "
            f"{ring_degree}, of ternary secrets"
        )
    return secret, weight


def sparse_key_bits(chain: ModulusChain) -> float:
    """log2 of the modulus of the key to the sparse secret: q0 and the first special prime."""
    return log2(chain.primes[0]) + log2(chain.encryption_divisor)


def secret_limit_bits(chain: ModulusChain) -> int | None:
    """Largest log2(QP) for the secret keys of a chain, or None where no table with a source has them.

    source  `cpp/rlwe/security.hpp`
    """
    limit = _core.max_log2_modulus_of(chain.secret, chain.secret_weight, chain.ring_degree, chain.security_bits)
    return None if limit is None else int(limit)


def is_secure(chain: ModulusChain) -> bool:
    """Whether the tables allow the modulus of a chain, and that of a bootstrap's key to the sparse secret."""
    limit = secret_limit_bits(chain)
    if limit is None or chain.most_log2_qp > limit:
        return False
    sparse = sparse_modulus_limit_bits(chain.ring_degree, chain.security_bits)
    return chain.bootstrap is None or (sparse is not None and sparse_key_bits(chain) <= sparse)


def check_security(chain: ModulusChain) -> None:
    """SecurityError for a chain that is not secure, and not marked as that: nobody but a forger makes one."""
    if chain.insecure or is_secure(chain):
        return
    raise SecurityError(
        f"parameters of log2(QP) = {chain.most_log2_qp:.1f} at N={chain.ring_degree} have less than "
        f"{chain.security_bits} bits of security (at most {secret_limit_bits(chain) or 0} bits are secure), but are "
        "not marked INSECURE: they were altered; get them anew from whoever made them"
    )


def secret_text(chain: ModulusChain) -> str:
    """The distribution in words; nothing for uniform ternary secrets."""
    if chain.secret_weight:
        return f"ternary secrets of weight {chain.secret_weight}"
    return "" if chain.secret == TERNARY else f"{chain.secret} secrets"
