"""Options that keep a program from bootstrapping, and what would help."""

from __future__ import annotations

from latticework.compiler.options.compile_options import AUTO, NEVER, CompileOptions
from latticework.compiler.options.option_records import ParameterOptions
from latticework.errors import LevelError, UserError
from latticework.plan.parameters import BOOTSTRAP_SETS, bootstrapping_rings
from latticework.plan.parameters.bootstrap_planning import SECURITY_BITS


def obstacle(asked: ParameterOptions) -> str | None:
    """Say why nothing can be bootstrapped in the ring asked for, or in any, and what would help; None if it can."""
    rings, ring_degree = bootstrapping_rings(), asked.ring_degree
    if asked.security_bits > SECURITY_BITS:
        return f"bootstraps have {SECURITY_BITS}-bit security: to have them, use security_bits={SECURITY_BITS}"
    if ring_degree is None or ring_degree in rings:
        return None
    least = rings[0]
    sets = ", ".join(s.name for s in BOOTSTRAP_SETS.values() if 1 << s.log2_degree == least and not s.insecure)
    return f"ring_degree={ring_degree} is too small to bootstrap: the smallest that can is {least} ({sets})"


def with_remedy(error: UserError, options: CompileOptions, hindrance: str | None) -> UserError:
    """The error for a program that spends too many levels, with what there is to say of bootstraps.

    hindrance  why nothing can be bootstrapped, if so
    """
    if options.running.bootstrap == NEVER:
        hindrance = None if hindrance else f"bootstrap={AUTO!r} refreshes values on the way"
    kind = LevelError if isinstance(error, LevelError) else type(error)  # not the kinds that the compiler tells apart
    return kind(error.message if hindrance is None else f"{error.message}; {hindrance}", at=error.at)
