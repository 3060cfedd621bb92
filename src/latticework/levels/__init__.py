"""Scale and level management: from scheme-free vectors to ciphertexts with exact scales."""

from latticework.levels.depth import program_depth
from latticework.levels.manage import manage_levels

__all__ = ["manage_levels", "program_depth"]
