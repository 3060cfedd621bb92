"""Scale and level management: from scheme-free vectors to ciphertexts with exact scales."""

from latticework.levels.depth import program_depth
from latticework.levels.manage import manage_levels
from latticework.levels.manage_bfv import manage_bfv
from latticework.levels.origins import keep_whole_origins
from latticework.levels.spending import LoopSpending, Spent, loop_spending, spending

__all__ = [
    "LoopSpending",
    "Spent",
    "keep_whole_origins",
    "loop_spending",
    "manage_bfv",
    "manage_levels",
    "program_depth",
    "spending",
]
