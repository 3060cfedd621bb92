"""Security limits, read from the one table of the core."""

from __future__ import annotations

from latticework.values.extension import _core


def modulus_limit_bits(ring_degree: int, security_bits: int) -> int | None:
    """Largest log2(QP) of a ternary-secret key at this ring degree, or None where the table has no entry.

    source  `cpp/rlwe/security.hpp` (2024 guidelines, ePrint 2024/463, the smaller of its published forms)
    """
    limit = _core.security_table().get(ring_degree, {}).get(security_bits)
    return None if limit is None else int(limit)


def sparse_modulus_limit_bits(ring_degree: int, security_bits: int) -> int | None:
    """Largest log2 of the modulus of a key under the sparse secret of bootstrapping, or None where none is allowed.

    source  `cpp/rlwe/security.hpp`
    """
    limit = _core.sparse_security_table().get(ring_degree, {}).get(security_bits)
    return None if limit is None else int(limit)


def sparse_limits(security_bits: int) -> dict[int, int]:
    """Largest log2(QP) of secrets of the weight that has a table, by ring degree."""
    limits = {n: sparse_modulus_limit_bits(n, security_bits) for n in _core.sparse_security_table()}
    return {n: bits for n, bits in limits.items() if bits is not None}


def security_levels() -> tuple[int, ...]:
    """The security levels, in bits, that the table knows."""
    return tuple(sorted({bits for limits in _core.security_table().values() for bits in limits}))
