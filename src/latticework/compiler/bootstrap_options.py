"""What users say of bootstraps: whether there may be any, and on which set."""

from __future__ import annotations

from typing import Any

from latticework.errors import LevelError, SecurityError, UserError
from latticework.params import BOOTSTRAP_SETS, BootstrapSet, bootstrap_chain, bootstrapping_rings
from latticework.params.bootstrap_planning import SECURITY_BITS
from latticework.words.figures import write_value

AUTO, NEVER = "auto", "never"


def check_bootstrap(bootstrap: Any, bootstrap_set: Any) -> None:
    """UserError where the two are not what they can be, or contradict each other."""
    if bootstrap not in (AUTO, NEVER):
        raise UserError(f"compile: bootstrap={write_value(bootstrap)}; give {AUTO!r} or {NEVER!r}")
    if bootstrap_set is None:
        return
    if bootstrap == NEVER:
        raise UserError(f"compile: bootstrap_set= is given, and bootstrap={NEVER!r}; leave one of them out")
    if not isinstance(bootstrap_set, str | BootstrapSet):
        raise UserError(
            f"compile: bootstrap_set={write_value(bootstrap_set)}; give the name of a set, such as 'A14', or an "
            "latticework.params.BootstrapSet"
        )
    if isinstance(bootstrap_set, str) and bootstrap_set not in BOOTSTRAP_SETS:
        raise UserError(f"compile: bootstrap_set={bootstrap_set!r}; there are {', '.join(BOOTSTRAP_SETS)}")


def chosen_set(
    bootstrap_set: BootstrapSet | str | None, ring_degree: int | None, security_bits: int, insecure: bool
) -> BootstrapSet | None:
    """The set that was asked for, if one was.

    raises  SecurityError for one that is not secure, unless `insecure`; UserError if it is of another ring
    """
    if bootstrap_set is None:
        return None
    chosen = BOOTSTRAP_SETS[bootstrap_set] if isinstance(bootstrap_set, str) else bootstrap_set
    chain = bootstrap_chain(chosen)
    named = f"bootstrap_set={chosen.name!r}"
    if chain.insecure and not insecure:
        raise SecurityError(
            f"compile: {named} is for tests: log2(QP) = {chain.log2_qp:.0f} at N=2^{chosen.log2_degree} is not secure. "
            "Give insecure=True with data that are not secret, or leave bootstrap_set out"
        )
    if not chain.insecure and security_bits > chain.security_bits:
        raise SecurityError(
            f"compile: {named} has {chain.security_bits}-bit security, not security_bits={security_bits}; for the "
            f"sparse secret of bootstraps no other limits are known: use security_bits={chain.security_bits}"
        )
    if ring_degree is not None and ring_degree != chain.ring_degree:
        raise UserError(
            f"compile: {named} has ring_degree={chain.ring_degree}, not ring_degree={ring_degree}; leave one of them "
            "out"
        )
    return chosen


def obstacle(ring_degree: int | None, security_bits: int) -> str | None:
    """Why nothing can be bootstrapped in a ring (any, if none is given), and what would help; None if it can."""
    rings = bootstrapping_rings()
    if security_bits > SECURITY_BITS:
        return f"bootstraps have {SECURITY_BITS}-bit security: to have them, use security_bits={SECURITY_BITS}"
    if ring_degree is None or ring_degree in rings:
        return None
    least = rings[0]
    sets = ", ".join(s.name for s in BOOTSTRAP_SETS.values() if 1 << s.log2_degree == least and not s.insecure)
    return f"ring_degree={ring_degree} is too small to bootstrap: the smallest that can is {least} ({sets})"


def with_remedy(error: UserError, bootstrap: str, ring_degree: int | None, security_bits: int) -> UserError:
    """The error for a program that spends too many levels, with what there is to say of bootstraps."""
    hindrance = obstacle(ring_degree, security_bits)
    if bootstrap == NEVER:
        hindrance = None if hindrance else f"bootstrap={AUTO!r} refreshes values on the way"
    kind = LevelError if isinstance(error, LevelError) else type(error)  # not the kinds that the compiler tells apart
    return kind(error.message if hindrance is None else f"{error.message}; {hindrance}", at=error.at)
