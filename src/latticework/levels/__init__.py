"""Scale and level management: from scheme-free vectors to ciphertexts with exact scales, by a plan made beforehand."""

from latticework.levels.bootstraps import ciphertexts, count_bootstraps
from latticework.levels.decide import decide_levels
from latticework.levels.decide_bfv import decide_levels_bfv
from latticework.levels.depth import program_depth
from latticework.levels.origins import keep_whole_origins
from latticework.levels.plan import LevelPlan
from latticework.levels.spending import LoopSpending, Spent, loop_spending, spending
from latticework.levels.write import write_levels

__all__ = [
    "LevelPlan",
    "LoopSpending",
    "Spent",
    "ciphertexts",
    "count_bootstraps",
    "decide_levels",
    "decide_levels_bfv",
    "keep_whole_origins",
    "loop_spending",
    "program_depth",
    "spending",
    "write_levels",
]
