"""How much memory a server has, and what for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes for keys, encoded constants and ciphertexts; Python, the plan and the weights come on top.

    held       got from the system and not given back
    live       of these, in use: keys, ciphertexts, encoded constants
    constants  encoded constants, which `memory=` bounds: whole ones, which are live, and rounded coefficients
    idle       held, not in use: whole pages that are kept for the next run
    fresh      got from the system in all; a run that adds nothing to it meets no page faults
    returned   given back to it in all
    """

    held: int
    live: int
    constants: int
    idle: int
    fresh: int
    returned: int
